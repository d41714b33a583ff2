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

	"zbench/bench/folder"
	"zbench/internal/native"
	"zbench/internal/preflight"
)

// State is everything of the machine that zbench touches. Only os.go fills it
// from the real one, so that every command can be tested without it.
type State struct {
	// Args are the command-line arguments without the program's name.
	Args []string
	// Executable is this program's file, for the command lines of other processes.
	Executable string
	// Getenv looks up an environment variable, empty when unset; Environ lists all as
	// NAME=value.
	Getenv         func(string) string
	Environ        func() []string
	Stdin          io.Reader
	Stdout, Stderr Stream
	Now            func() time.Time
	// Signals delivers the names of signals that ask zbench to stop.
	Signals <-chan string
	// Exit ends the process at once; the second signal uses it.
	Exit func(code int)
	// Start starts another process.
	Start func(Command) (Child, error)
	// Become replaces this process by a program; it returns only an error.
	Become   func(file string, argv, environ []string) error
	FS       FS
	Hostname func() string
	// Random gives unpredictable random bytes.
	Random io.Reader
	// Secret is this user's on this host, the same for all their processes; nil where there is none.
	Secret func() ([]byte, error)
	// PID is this process's number.
	PID int
	// Host asks for the CPUs and the memory; what else is known of the machine is
	// in FS, under /proc and /sys.
	Host func() native.HostInfo
	// Space tells the size and the free space of a folder's file system, Interfaces lists
	// the network interfaces, Towards is this host's address on the way to host:port. Nil
	// functions cannot be asked.
	Space      func(folder string) (preflight.Space, error)
	Interfaces func() ([]preflight.Interface, error)
	Towards    func(address string) (netip.Addr, error)
	// Resolve are the addresses of a host; nil where names cannot be asked for.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	// Taken reports whether a program listens at a port that this host's loopback interface has; nil looks at none.
	Taken func(port int) bool
	// Dial opens a connection to a service of this host; nil where there are none.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// RemoveLeft removes a file where processes met and that none has open, and tells
	// whether it did. Nil removes none.
	RemoveLeft func(file string) bool
	// Light lets a process of a simulation take little: there may be a thousand like it on
	// the host. The function that it returns is called once the process has started. Nil
	// does nothing.
	Light func() (settle func())
}

// FS is the part of the file system that zbench uses. Names are the operating
// system's paths.
type FS interface {
	folder.FS
	// Open is for files of which only the head is read: a checkpoint has gigabytes.
	Open(name string) (io.ReadCloser, error)
	// ReadLink is where a link leads to.
	ReadLink(name string) (string, error)
	// Access reports whether this process may read and write the file.
	Access(name string) error
}

// host is what a folder needs of the machine. Notes are left out when quiet.
func (s State) host(quiet bool) folder.Host {
	return folder.Host{
		FS: s.FS, Now: s.Now, Random: s.Random, Owner: fmt.Sprintf("process %d on %s", s.PID, s.Hostname()),
		Note: func(format string, args ...any) { s.note(quiet, format, args...) },
	}
}

// Command is a process to start. It writes to Output, or to this process's standard output
// and error if that is nil.
type Command struct {
	Argv, Environ []string
	Output        io.Writer
	// Says receives each line that it writes to standard error, beside standard error
	// itself; nil discards them.
	Says func(line string)
	// Control connects its standard input with Ask; without it, it is empty.
	Control bool
	// Interrupts is after how many of them a launcher ends its processes, on all nodes: three
	// for srun, one for mpirun. If it is killed itself, they stay. 0 is a process that is killed.
	Interrupts int
}

// Child is a process that was started.
type Child interface {
	// Ask writes a line to its standard input.
	Ask(line string)
	// Wait waits for its end: the exit code, -1 after a signal, and how it ended.
	Wait() (code int, how string)
	// Interrupt is Ctrl-C, once.
	Interrupt()
	// Kill ends it and those that it started.
	Kill()
}

// treeFS is a folder of the State's file system. It opens files, so that no more is read of
// one than is wanted.
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

// Lstat is there because fs.ReadLinkFS has it.
func (t treeFS) Lstat(name string) (fs.FileInfo, error) { return t.Stat(name) }

// openFile is a file that is read.
type openFile struct {
	io.ReadCloser
	tree treeFS
	name string
}

func (f openFile) Stat() (fs.FileInfo, error) { return f.tree.Stat(f.name) }
