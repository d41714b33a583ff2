package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"path"
	"time"

	"zbench/bench/base/folder"
	"zbench/internal/native"
	"zbench/internal/preflight"
)

// State is everything that zbench uses of the machine. Only os.go fills it from the real machine,
// so that every command can be tested without it.
type State struct {
	// Args are the command-line arguments without the program's name.
	Args []string
	// Executable is the path of this program's file, for the command lines of other processes.
	Executable string
	// Getenv looks up an environment variable, empty if unset; Environ lists all as NAME=value.
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
	// Random returns unpredictable random bytes.
	Random io.Reader
	// Secret returns a secret of this user on this host, the same for all their processes; nil if
	// there is none.
	Secret func() ([]byte, error)
	// PID is the number of this process.
	PID int
	// Host reads the CPUs and the memory; other facts of the machine are in FS, under /proc and
	// /sys.
	Host func() native.HostInfo
	// Space returns the size and the free space of a folder's file system. Interfaces lists the
	// network interfaces. Towards returns this host's address on the route to host:port. Each may
	// be nil if it is not available.
	Space      func(folder string) (preflight.Space, error)
	Interfaces func() ([]preflight.Interface, error)
	Towards    func(address string) (netip.Addr, error)
	// Resolve returns the addresses of a host; nil if names cannot be resolved.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	// Taken reports whether a program listens at a port of this host's loopback interface; nil
	// skips the check.
	Taken func(port int) bool
	// Dial opens a connection to a service of this host; nil if there are none.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// KernelLog returns the kernel's buffer of messages; nil if it cannot be read.
	KernelLog func() (string, error)
	// RemoveLeft removes a file at which processes met, unless a process has it open, and reports
	// whether it did. Nil removes nothing.
	RemoveLeft func(file string) bool
	// Light reduces the resources of a simulation's process: there may be a thousand of them on the
	// host. The returned function is called once the process has started. Nil does nothing.
	Light func() (settle func())
}

// FS is the part of the file system that zbench uses. Names are the operating
// system's paths.
type FS interface {
	folder.FS
	// Open is for files of which only the head is read: a checkpoint has gigabytes.
	Open(name string) (io.ReadCloser, error)
	// ReadLink returns the target of a link.
	ReadLink(name string) (string, error)
	// Access reports whether this process may read and write the file.
	Access(name string) error
	// Create writes a new file whole. The error is fs.ErrExist if there is one, also if another host
	// has just made it.
	Create(name string, data []byte) error
}

// host returns the parts of the machine that a folder needs. Notes are left out if quiet is set.
func (s State) host(quiet bool) folder.Host {
	return folder.Host{
		FS: s.FS, Now: s.Now, Random: s.Random, Owner: fmt.Sprintf("process %d on %s", s.PID, s.Hostname()),
		Note: func(format string, args ...any) { s.note(quiet, format, args...) },
	}
}

// Command is a process to start. It writes to Output, or to this process's standard output and
// error if Output is nil.
type Command struct {
	Argv, Environ []string
	Output        io.Writer
	// Says receives each line that the process writes to standard error, in addition to standard
	// error itself; nil discards them.
	Says func(line string)
	// Control connects the standard input of the process with Ask; otherwise the input is empty.
	Control bool
	// Input is the standard input without Control; nil is empty.
	Input io.Reader
	// Interrupts is the number of interrupts after which a launcher ends its processes on all
	// nodes: three for srun, one for mpirun. If the launcher is killed, its processes remain. 0
	// marks a process that is killed directly.
	Interrupts int
}

// Child is a started process.
type Child interface {
	// Ask writes a line to its standard input.
	Ask(line string)
	// Wait waits for its end and returns the exit code, −1 after a signal, and how it ended.
	Wait() (code int, how string)
	// Interrupt sends one Ctrl-C.
	Interrupt()
	// Kill kills it and the processes that it has started.
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

// Lstat is required by fs.ReadLinkFS.
func (t treeFS) Lstat(name string) (fs.FileInfo, error) { return t.Stat(name) }

// openFile is a file open for reading.
type openFile struct {
	io.ReadCloser
	tree treeFS
	name string
}

func (f openFile) Stat() (fs.FileInfo, error) { return f.tree.Stat(f.name) }
