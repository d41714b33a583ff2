package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"

	"zbench/bench/exit"
	"zbench/bench/folder"
	"zbench/bench/table"
	"zbench/internal/native"
)

// This file and os_secret.go alone touch the machine: everything else sees a State.

func main() { os.Exit(Main(context.Background(), osState())) }

func osState() State {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // as nohup has it
		signal.Notify(signals, syscall.SIGHUP)
	}
	// A pipe without a reader is the write's error, which says which stream it was.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	names := make(chan string, 2)
	go func() {
		for s := range signals {
			names <- s.String()
		}
	}()
	program, err := os.Executable()
	if err != nil {
		program = os.Args[0]
	}
	out := ownStdout()
	return State{
		Args: os.Args[1:], Executable: program, Getenv: os.Getenv, Environ: os.Environ, Random: rand.Reader, Secret: hostSecret, Stdin: os.Stdin,
		Stdout: stream(out), Stderr: stream(os.Stderr),
		Start:  func(c Command) (Child, error) { return startProcess(c, out, os.Stderr) },
		Become: func(file string, argv, environ []string) error { return become(out, file, argv, environ) },
		Now:    time.Now, Signals: names, Exit: os.Exit, FS: osFS{}, PID: os.Getpid(),
		Hostname: func() string {
			name, err := os.Hostname()
			if err != nil {
				return "unknown"
			}
			return name
		},
		Host: native.Host, Space: fileSpace, Interfaces: networkInterfaces, Towards: addressTowards, Resolve: resolve, Dial: (&net.Dialer{}).DialContext, Light: light, RemoveLeft: native.RemoveLeft,
	}
}

// lightGC is GOGC for a process that follows in a simulation. Its live heap is about 1 MB.
const lightGC = 40

// light lets Go's runtime take little in a process of a simulation whose Go code only reads
// orders and writes reports: one thread runs it at a time. With more, the runtime keeps one spinning
// and another that watches while C waits for other processes: half of the CPU time of a
// thousand processes on one host. What the environment asks for stays.
//
// Until the process has settled the heap has Go's usual limit, which it does not
// reach: early collections took a quarter of the CPU time from the start until then. The
// returned function then collects what only the start took, and keeps the heap small.
func light() (settle func()) {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(1)
	}
	table.Forget()
	return func() {
		if os.Getenv("GOGC") == "" {
			debug.SetGCPercent(lightGC)
		}
		debug.FreeOSMemory()
	}
}

// ownStdout keeps standard output for zbench's data. Libraries print there too,
// as librccl its version: from here on the number that they know stands for
// standard error. Before any library is opened.
func ownStdout() *os.File {
	kept, err := syscall.Dup(int(os.Stdout.Fd()))
	if err != nil {
		return os.Stdout // closed: there is nothing to keep
	}
	syscall.CloseOnExec(kept)
	if err := syscall.Dup3(int(os.Stderr.Fd()), int(os.Stdout.Fd()), 0); err != nil {
		_ = syscall.Close(kept)
		return os.Stdout
	}
	return os.NewFile(uintptr(kept), os.Stdout.Name())
}

func stream(f *os.File) Stream {
	fd := int(f.Fd()) //nolint:gosec // a file descriptor fits
	s := Stream{Writer: f, IsTTY: term.IsTerminal(fd)}
	if width, _, err := term.GetSize(fd); err == nil {
		s.Width = width
	}
	return s
}

type osFS struct{}

func (osFS) Open(name string) (io.ReadCloser, error)    { return os.Open(name) }
func (osFS) ReadFile(name string) ([]byte, error)       { return os.ReadFile(name) }
func (osFS) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(name) }
func (osFS) Stat(name string) (fs.FileInfo, error)      { return os.Stat(name) }
func (osFS) ReadLink(name string) (string, error)       { return os.Readlink(name) }
func (osFS) Access(name string) error                   { return syscall.Access(name, 6) }  // R_OK | W_OK
func (osFS) MkdirAll(name string) error                 { return os.MkdirAll(name, 0o777) } // less the umask
func (osFS) Remove(name string) error                   { return os.Remove(name) }

// temporary is what the names of unfinished files end in; they begin with a dot.
const temporary = ".tmp"

func (osFS) IsTemporary(name string) bool { return name[0] == '.' && filepath.Ext(name) == temporary }

func (osFS) RemoveTemporary(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if (osFS{}).IsTemporary(e.Name()) {
			err = errors.Join(err, os.Remove(filepath.Join(dir, e.Name())))
		}
	}
	return err
}

// WriteFile writes beside the file, makes it durable, and renames it into place.
func (osFS) WriteFile(name string, data []byte) error {
	if info, err := os.Lstat(name); err == nil && info.IsDir() {
		// The rename would say "file exists" of a file with a name of our own.
		return exit.With(exit.Run, fmt.Errorf("%s is a folder; zbench would write a file there", name), "move it away, or choose another folder")
	}
	f, err := createTemporary(name)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // gone already after the rename
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}

// createTemporary makes a file beside the one of that name, readable as the umask
// has it. os.CreateTemp makes it for its owner alone.
func createTemporary(name string) (*os.File, error) {
	for n := 0; ; n++ {
		beside := filepath.Join(filepath.Dir(name), fmt.Sprintf(".%s.%d-%d%s", filepath.Base(name), os.Getpid(), n, temporary))
		f, err := os.OpenFile(beside, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
}

// Append opens the file, and makes its name durable: that of a file just renamed
// into place need not be yet.
func (osFS) Append(name string) (folder.AppendFile, error) {
	f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	if dir, err := os.Open(filepath.Dir(name)); err == nil {
		_ = dir.Sync() // some file systems cannot, and keep names anyway
		_ = dir.Close()
	}
	return linkedFile{f, name}, nil
}

// linkedFile is a file that must keep its name: data written to an unlinked file are lost.
type linkedFile struct {
	*os.File
	name string
}

func (g linkedFile) Write(p []byte) (int, error) {
	here, err := g.Stat()
	if err != nil {
		return 0, err
	}
	there, err := os.Stat(g.name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(here, there) {
		return 0, folder.ErrGone
	}
	if err != nil {
		return 0, err
	}
	return g.File.Write(p)
}

// Lock holds a file by flock, which ends with the process, so that the lock of a
// killed one is free. Another process may have removed the file between opening and
// locking it: then the lock is of a file without a name, and is taken again.
func (osFS) Lock(name, owner string) (unlock func() error, stale string, err error) {
	for {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o666)
		if err != nil {
			return nil, "", err
		}
		stale, err := hold(f, name, owner)
		if err == nil {
			return func() error {
				err := os.Remove(name)
				return errors.Join(ignoreMissing(err), f.Close())
			}, stale, nil
		}
		_ = f.Close()
		if !errors.Is(err, errReplaced) {
			return nil, "", err
		}
	}
}

func (osFS) Held(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return nil //nolint:nilerr // what is not there is not held; what cannot be read, Lock reports
	}
	defer f.Close() //nolint:errcheck // it was only read
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	if !errors.Is(err, syscall.EWOULDBLOCK) {
		return nil
	}
	owner, _ := io.ReadAll(io.LimitReader(f, maxOwner)) // without it the owner is another process
	return &folder.LockedError{Owner: cmp.Or(strings.TrimSpace(string(owner)), "another process")}
}

var errReplaced = errors.New("replaced by another file")

// hold takes the lock of an open file and writes its owner into it. The owner
// before, if any, has ended: a process that ends itself removes the file.
func hold(f *os.File, name, owner string) (stale string, err error) {
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	before, reading := io.ReadAll(io.LimitReader(f, maxOwner))
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return "", &folder.LockedError{Owner: cmp.Or(strings.TrimSpace(string(before)), "another process")}
	}
	if unsupported(err) && len(before) > 0 {
		return "", &folder.LockedError{Owner: strings.TrimSpace(string(before)) + " (if it has ended, remove " + name + ")"}
	}
	if err != nil && !unsupported(err) {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	if reading != nil {
		return "", reading
	}
	here, err := f.Stat()
	if err != nil {
		return "", err
	}
	if there, err := os.Stat(name); err != nil || !os.SameFile(here, there) {
		return "", errReplaced
	}
	if err := f.Truncate(0); err != nil {
		return "", err
	}
	_, err = f.WriteAt([]byte(owner+"\n"), 0)
	return strings.TrimSpace(string(before)), err
}

// unsupported reports a file system without flock: there the file's existence is the lock.
func unsupported(err error) bool {
	return errors.Is(err, syscall.ENOSYS) || errors.Is(err, syscall.ENOLCK) || errors.Is(err, syscall.EOPNOTSUPP)
}

// maxOwner is more than the name of any host.
const maxOwner = 4096

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
