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
	"net/netip"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"

	"zbench/bench/base/exit"
	"zbench/bench/base/folder"
	"zbench/bench/show/table"
	"zbench/internal/native"
	"zbench/internal/preflight"
)

// Only this file accesses the machine. All other code uses a State.

func main() { os.Exit(Main(context.Background(), osState())) }

func osState() State {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // nohup, for example, ignores this signal
		signal.Notify(signals, syscall.SIGHUP)
	}
	// With this handler, a write to a pipe without a reader returns an error, which names the
	// stream.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	names := make(chan string, 2)
	go func() {
		for s := range signals {
			names <- s.String()
		}
	}()
	out := ownStdout()
	return State{
		Args: os.Args[1:], Program: ownProgram(), Getenv: os.Getenv, Environ: os.Environ, Random: rand.Reader, Secret: hostSecret, Stdin: os.Stdin,
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
		Host: native.Host, Space: fileSpace, Interfaces: networkInterfaces, Towards: addressTowards, Resolve: resolve, Taken: portTaken, Dial: (&net.Dialer{}).DialContext, Light: light, RemoveLeft: native.RemoveLeft, KernelLog: kernelLog,
	}
}

// ownProgram returns the words that start this program again: its file, or the dynamic loader with its
// options and the file. Where the loader was started with the program as its argument, the kernel calls
// the loader the executable, and only the whole command line has the program.
func ownProgram() []string {
	program, err := os.Executable()
	if err != nil {
		program = os.Args[0]
	}
	text, _ := os.ReadFile("/proc/self/cmdline") // without it there is no loader to be seen
	words := strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
	if before := len(words) - len(os.Args); before > 0 {
		if full, err := filepath.Abs(words[before]); err == nil {
			words[before] = full
		}
		return append([]string{program}, words[1:before+1]...)
	}
	return []string{program}
}

// lightGC is the value of GOGC for a follower in a simulation, whose live heap is about 1 MB.
const lightGC = 40

// light reduces the cost of the Go runtime in a process of a simulation, whose Go code only reads
// orders and writes reports. Go code then runs on one thread at a time. With more threads, the
// runtime keeps one thread spinning, and another thread watches while C waits for other processes;
// with a thousand processes on a host, this took half of the CPU time. Settings in the environment
// take precedence.
//
// Until settle is called, the heap has Go's usual limit, which it does not reach: early collections
// took a quarter of the CPU time of the start. settle frees the memory of the start and then keeps
// the heap small.
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

// ownStdout reserves standard output for zbench's data. Libraries print there, too; librccl, for
// example, prints its version. From here on, their output goes to standard error. Call it before
// any library is opened.
func ownStdout() *os.File {
	kept, err := syscall.Dup(int(os.Stdout.Fd()))
	if err != nil {
		return os.Stdout // standard output is closed, so there is nothing to reserve
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
func (osFS) MkdirAll(name string) error                 { return os.MkdirAll(name, 0o777) } // minus the umask
func (osFS) Remove(name string) error                   { return os.Remove(name) }

// temporary is the extension of unfinished files. Their names begin with a dot.
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

// WriteFile writes a temporary file in the same folder, makes it durable, and renames it to its
// final name.
func (osFS) WriteFile(name string, data []byte) error {
	if info, err := os.Lstat(name); err == nil && info.IsDir() {
		// The error of the rename would say "file exists" and name the temporary file.
		return exit.With(exit.Run, fmt.Errorf("%s is a folder; zbench would write a file there", name), "move it away, or choose another folder")
	}
	return writeWhole(name, data, os.Rename)
}

// Create creates a file with its whole content and links it to its name. Of several processes only
// one succeeds, even over NFS.
func (osFS) Create(name string, data []byte) error { return writeWhole(name, data, os.Link) }

// writeWhole writes a temporary file in the same folder, makes it durable, and gives it the name.
func writeWhole(name string, data []byte, place func(from, to string) error) error {
	f, err := createTemporary(name)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // fails after the rename, when the name is gone
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = cmp.Or(err, f.Close()); err != nil {
		return err
	}
	return place(f.Name(), name)
}

// kernelLog returns the kernel's log without removing lines from it (syslog(2), actions 10 and 3).
func kernelLog() (string, error) {
	const size, readAll = 10, 3
	n, err := syscall.Klogctl(size, nil)
	if err != nil {
		return "", err
	}
	text := make([]byte, n)
	n, err = syscall.Klogctl(readAll, text)
	return string(text[:max(n, 0)]), err
}

// createTemporary creates a temporary file next to a file. The umask decides its permissions;
// os.CreateTemp would make it private to its owner.
func createTemporary(name string) (*os.File, error) {
	for n := 0; ; n++ {
		beside := filepath.Join(filepath.Dir(name), fmt.Sprintf(".%s.%d-%d%s", filepath.Base(name), os.Getpid(), n, temporary))
		f, err := os.OpenFile(beside, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
}

// Append opens the file. It also makes the file's name durable, because after a rename the name may
// not be on disk yet.
func (osFS) Append(name string) (folder.AppendFile, error) {
	f, err := openHere(name, os.O_APPEND|os.O_WRONLY)
	if err != nil {
		return nil, err
	}
	if dir, err := os.Open(filepath.Dir(name)); err == nil {
		_ = dir.Sync() // some file systems cannot do this, and keep names anyway
		_ = dir.Close()
	}
	return linkedFile{f, name}, nil
}

// linkedFile is a file that must keep its name. Data that are written after its removal would be
// lost.
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

// openHere opens a file in a folder that another user may have prepared. It accepts only a regular
// file that has no other name and belongs to this user or to the owner of the folder. It never
// follows a link, waits for a pipe, or writes to a device.
func openHere(name string, flags int) (*os.File, error) {
	f, err := os.OpenFile(name, flags|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o666)
	if errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENXIO) {
		return nil, fmt.Errorf("%s is a link, a pipe or a device, not a file of zbench's", name)
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		err = ours(name, info)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func ours(name string, info fs.FileInfo) error {
	st, known := info.Sys().(*syscall.Stat_t)
	if !info.Mode().IsRegular() || known && st.Nlink > 1 {
		return fmt.Errorf("%s is no file of zbench's alone: it is a pipe, a device, or has another name, too", name)
	}
	if dir, err := os.Stat(filepath.Dir(name)); err == nil && known && int(st.Uid) != os.Geteuid() {
		if of, _ := dir.Sys().(*syscall.Stat_t); of != nil && of.Uid != st.Uid {
			return fmt.Errorf("%s is of another user than its folder", name)
		}
	}
	return nil
}

// Mine returns an error if a file or folder belongs to a user other than this user and root, or if
// others may write it. A group with the number of the user counts as the user's own.
func (osFS) Mine(name string) error {
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	st, known := info.Sys().(*syscall.Stat_t)
	switch {
	case !known:
		return nil
	case st.Uid != 0 && int(st.Uid) != os.Geteuid():
		return fmt.Errorf("%s is another user's", name)
	case st.Mode&0o002 != 0, st.Mode&0o020 != 0 && st.Gid != st.Uid:
		return fmt.Errorf("%s can be written by others", name)
	}
	return nil
}

// Lock locks a file with flock. The kernel releases the lock when the process ends, so that a
// killed process does not keep it. If another process removes the file after it was opened and
// before it is locked, the lock is on a file without a name, and Lock tries again.
func (osFS) Lock(name, owner string) (unlock func() error, stale string, err error) {
	for {
		f, err := openHere(name, os.O_RDWR|os.O_CREATE)
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
	f, err := openHere(name, os.O_RDONLY)
	if err != nil {
		return nil //nolint:nilerr // a missing file is not locked; Lock reports a file that cannot be read
	}
	defer f.Close() //nolint:errcheck // the file was only read
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	if !errors.Is(err, syscall.EWOULDBLOCK) {
		return nil
	}
	owner, _ := io.ReadAll(io.LimitReader(f, maxOwner)) // on an error the owner is "another process"
	return &folder.LockedError{Owner: cmp.Or(strings.TrimSpace(string(owner)), "another process")}
}

var errReplaced = errors.New("replaced by another file")

// hold locks an open file and writes the owner into it. stale is the text of the previous owner. If
// there is one, that process was killed, because a process that ends by itself removes the file.
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

// unsupported returns true if a file system lacks flock. There the existence of the file is the
// lock.
func unsupported(err error) bool {
	return errors.Is(err, syscall.ENOSYS) || errors.Is(err, syscall.ENOLCK) || errors.Is(err, syscall.EOPNOTSUPP)
}

// maxOwner is longer than any owner's text.
const maxOwner = 4096

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// fileSpace returns how much space the file system of a folder has for a process without
// privileges.
func fileSpace(folder string) (preflight.Space, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(folder, &st); err != nil {
		return preflight.Space{}, err
	}
	block := st.Frsize
	if block == 0 {
		block = st.Bsize
	}
	return preflight.Space{Size: int64(st.Blocks) * block, Free: int64(st.Bavail) * block}, nil //nolint:gosec // sizes of file systems fit
}

// networkInterfaces returns the active network interfaces with their addresses, ordered by number.
func networkInterfaces() ([]preflight.Interface, error) {
	all, err := net.Interfaces()
	if err != nil {
		return nil, err
	}
	var out []preflight.Interface
	for _, i := range all {
		addrs, err := i.Addrs()
		if err != nil || i.Flags&net.FlagUp == 0 {
			continue // gone since then, or of no use
		}
		have := preflight.Interface{Name: i.Name}
		for _, a := range addrs {
			if prefix, err := netip.ParsePrefix(a.String()); err == nil {
				have.Addrs = append(have.Addrs, prefix.Addr().Unmap())
			}
		}
		out = append(out, have)
	}
	return out, nil
}

// resolve returns the addresses of a host name.
func resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}

// portTaken reports whether a port is in use, by trying to listen on it. Other errors are left to
// the leader, which gets them as well.
func portTaken(port int) bool {
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err == nil {
		_ = l.Close() // nothing has connected to it
	}
	return errors.Is(err, syscall.EADDRINUSE)
}

// addressTowards asks the kernel which local address has the route to an address. It connects a
// datagram socket and closes it, so that nothing is sent.
func addressTowards(address string) (netip.Addr, error) {
	c, err := net.Dial("udp", address)
	if err != nil {
		return netip.Addr{}, err
	}
	defer c.Close() //nolint:errcheck // nothing was written
	local, err := netip.ParseAddrPort(c.LocalAddr().String())
	return local.Addr().Unmap(), err
}

// secretBytes is the length of a user's secret in bytes.
const secretBytes = 32

// hostSecret returns this user's secret on this host, and creates it if there is none. It is in a
// file in a folder that no other user can enter.
func hostSecret() ([]byte, error) {
	return secretIn(filepath.Join(os.TempDir(), ".zbench-"+strconv.Itoa(os.Geteuid())))
}

func secretIn(folder string) ([]byte, error) {
	if err := os.Mkdir(folder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	info, err := os.Lstat(folder) // a link could lead to the folder of another user
	if err != nil {
		return nil, err
	}
	if of, ok := info.Sys().(*syscall.Stat_t); !ok || !info.IsDir() || info.Mode().Perm() != 0o700 || int(of.Uid) != os.Geteuid() {
		return nil, fmt.Errorf("%s is not a folder of this user with mode 0700", folder)
	}
	name := filepath.Join(folder, "secret")
	secret, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		err = makeSecret(folder, name)
		if err == nil {
			secret, err = os.ReadFile(name)
		}
	}
	if err == nil && len(secret) != secretBytes {
		err = fmt.Errorf("%s has %d bytes instead of %d", name, len(secret), secretBytes)
	}
	return secret, err
}

// makeSecret writes a new secret under a temporary name and links it to its name. If several
// processes do this at once, the first link wins, and no process reads an unfinished secret.
func makeSecret(folder, name string) error {
	f, err := os.CreateTemp(folder, "new-")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	secret := make([]byte, secretBytes)
	_, _ = rand.Read(secret) // rand.Read cannot fail
	_, err = f.Write(secret)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err = os.Link(f.Name(), name); errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}
