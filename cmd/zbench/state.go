package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"path"
	"path/filepath"
	"strings"
	"time"

	"zbench/bench/base/folder"
	"zbench/internal/native"
	"zbench/internal/preflight"
)

// State is everything that zbench uses of the machine. Only os.go fills it from a real machine, so
// that every command can be tested without one.
type State struct {
	// Args are the command-line arguments without the program's name.
	Args []string
	// Program has the words that start this program again.
	Program []string
	// Getenv returns an environment variable, or empty text if it is not set. Environ lists all
	// variables as NAME=value.
	Getenv         func(string) string
	Environ        func() []string
	Stdin          io.Reader
	Stdout, Stderr Stream
	Now            func() time.Time
	// Signals delivers the names of signals that ask zbench to stop.
	Signals <-chan string
	// Exit ends the process at once; it is called at the second signal.
	Exit func(code int)
	// Start starts another process.
	Start func(Command) (Child, error)
	// Become replaces this process by another program; it returns only if that fails.
	Become   func(file string, argv, environ []string) error
	FS       FS
	Hostname func() string
	// Random returns unpredictable bytes.
	Random io.Reader
	// Secret returns a secret that all processes of this user on this host share; nil if there is
	// none.
	Secret func() ([]byte, error)
	// PID is the process number of this process.
	PID int
	// Host returns the CPUs and the memory. Other facts of the machine are in FS, under /proc and
	// /sys.
	Host func() native.HostInfo
	// Space returns the size and the free space of a folder's file system. Interfaces lists the
	// network interfaces. Towards returns the address that this host uses on the route to
	// host:port. Each is nil if it is not available.
	Space      func(folder string) (preflight.Space, error)
	Interfaces func() ([]preflight.Interface, error)
	Towards    func(address string) (netip.Addr, error)
	// Resolve returns the addresses of a host; nil if names cannot be resolved.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	// Taken reports whether a program listens at a port of this host's loopback interface; nil
	// means that ports are not checked.
	Taken func(port int) bool
	// Dial opens a connection to a service of this host; nil if there are none.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// KernelLog returns the messages in the kernel's buffer; nil if it cannot be read.
	KernelLog func() (string, error)
	// RemoveLeft removes a shared file, unless a process has it open, and reports whether it
	// removed the file; nil removes nothing.
	RemoveLeft func(file string) bool
	// Light reduces the resources of a process in a simulation, because a host may run a thousand
	// such processes. settle must be called once the process has started. nil does nothing.
	Light func() (settle func())
}

// FS is the part of the file system that zbench uses. File names are paths of the operating system.
type FS interface {
	folder.FS
	// Open is for files of which only the beginning is read. A checkpoint, for example, has
	// gigabytes.
	Open(name string) (io.ReadCloser, error)
	// ReadLink returns the target of a link.
	ReadLink(name string) (string, error)
	// Access reports whether this process may read and write the file.
	Access(name string) error
	// Create creates a file with its whole content. If the file exists, the error is fs.ErrExist,
	// even if another host has just created it.
	Create(name string, data []byte) error
}

// host returns what a folder needs of the machine. If quiet is true, notes are dropped.
func (s State) host(quiet bool) folder.Host {
	return folder.Host{
		FS: s.FS, Now: s.Now, Random: s.Random, Owner: fmt.Sprintf("process %d on %s", s.PID, s.Hostname()),
		Note: func(format string, args ...any) { s.note(quiet, format, args...) },
	}
}

// Command is a process to start. It writes to Output, or to the standard output and error of this
// process if Output is nil.
type Command struct {
	Argv, Environ []string
	Output        io.Writer
	// Says gets each line that the process writes to standard error. The line is also written to
	// standard error as usual. Says may be nil.
	Says func(line string)
	// Control lets Ask write to the standard input of the process. Otherwise the standard input is
	// Input.
	Control bool
	// Input is the standard input without Control; nil means empty.
	Input io.Reader
	// Interrupts is the number of interrupts after which a launcher ends its processes on all
	// nodes: three for srun, one for mpirun. If the launcher is killed instead, its processes
	// remain. 0 means that the process is killed without interrupts.
	Interrupts int
}

// Child is a process that was started.
type Child interface {
	// Ask writes a line to the standard input of the process.
	Ask(line string)
	// Wait waits for the end of the process. It returns the exit code, −1 after a signal, and how
	// the process ended.
	Wait() (code int, how string)
	// Interrupt sends one interrupt, as Ctrl-C does.
	Interrupt()
	// Kill kills the process and all processes that it has started.
	Kill()
}

// treeFS is a folder of the State's file system. It opens files instead of reading them whole, so
// that only the needed part is read.
type treeFS struct {
	FS
	root string
}

func (t treeFS) name(name string) string { return path.Join(t.root, name) }

func (t treeFS) ReadDir(name string) ([]fs.DirEntry, error) { return t.FS.ReadDir(t.name(name)) }
func (t treeFS) ReadFile(name string) ([]byte, error)       { return t.FS.ReadFile(t.name(name)) }
func (t treeFS) Stat(name string) (fs.FileInfo, error)      { return t.FS.Stat(t.name(name)) }
func (t treeFS) ReadLink(name string) (string, error)       { return t.FS.ReadLink(t.name(name)) }

func (t treeFS) Open(name string) (fs.File, error) {
	f, err := t.FS.Open(t.name(name))
	if err != nil {
		return nil, err
	}
	return openFile{f, t, name}, nil
}

// Lstat makes treeFS an fs.ReadLinkFS.
func (t treeFS) Lstat(name string) (fs.FileInfo, error) { return t.Stat(name) }

// openFile is a file open for reading.
type openFile struct {
	io.ReadCloser
	tree treeFS
	name string
}

func (f openFile) Stat() (fs.FileInfo, error) { return f.tree.Stat(f.name) }

// lookPath finds a program as a shell does: by path, or by name in PATH.
func lookPath(s State, name string) (string, error) {
	if strings.Contains(name, "/") {
		return name, runnable(s, name)
	}
	for _, dir := range filepath.SplitList(s.Getenv("PATH")) {
		if file := filepath.Join(cmp.Or(dir, "."), name); runnable(s, file) == nil {
			return file, nil
		}
	}
	return "", fmt.Errorf("%s is not in PATH", name)
}

// runnable returns an error if a file is not an executable program.
func runnable(s State, file string) error {
	info, err := s.FS.Stat(file)
	switch {
	case err != nil:
		return err
	case info.IsDir() || info.Mode()&0o111 == 0:
		return fmt.Errorf("%s is not a program that may be run", file)
	}
	return nil
}
