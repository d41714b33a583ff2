package main

import (
	"errors"
	"io"
	"io/fs"
	"time"

	"zbench/internal/native"
)

// State is everything of the machine that zbench touches. Only os.go fills it
// from the real one, so that every command can be tested without it.
type State struct {
	// Args are the command-line arguments without the program's name.
	Args []string
	// Getenv looks up an environment variable, empty when unset.
	Getenv         func(string) string
	Stdin          io.Reader
	Stdout, Stderr Stream
	Now            func() time.Time
	// Signals delivers the names of signals that ask zbench to stop.
	Signals <-chan string
	// Exit ends the process at once; the second signal uses it.
	Exit     func(code int)
	FS       FS
	Hostname func() string
	// Host asks for the CPUs and the memory; what else is known of the machine is
	// in FS, under /proc and /sys.
	Host func() native.HostInfo
}

// FS is the part of the file system that zbench uses. Names are the operating
// system's paths.
type FS interface {
	ReadFile(name string) ([]byte, error)
	// Open is for files of which only the head is read: a checkpoint has gigabytes.
	Open(name string) (io.ReadCloser, error)
	ReadDir(name string) ([]fs.DirEntry, error)
	Stat(name string) (fs.FileInfo, error)
	// Access tells whether this process may read and write the file.
	Access(name string) error
	MkdirAll(name string) error
	// WriteFile replaces the file whole: readers see the old or the new one.
	WriteFile(name string, data []byte) error
	// RemoveTemporary removes from a folder what WriteFile left there when the
	// process was killed in it.
	RemoveTemporary(dir string) error
	// Remove removes a file, or a folder that is empty.
	Remove(name string) error
	// Append opens a file to write behind what it holds. Writing fails with errGone
	// once the file has another name, or none.
	Append(name string) (AppendFile, error)
}

// errGone is a file that was taken away while it was written.
var errGone = errors.New("removed, renamed or replaced by another while zbench wrote it")

// AppendFile is a file that grows. What was written is on disk once Sync has
// returned without an error, and not before.
type AppendFile interface {
	io.WriteCloser
	Sync() error
}
