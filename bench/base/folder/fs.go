package folder

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"zbench/bench/base/exit"
)

// FS is the part of the file system that a folder needs. File names are paths of the operating
// system.
type FS interface {
	ReadFile(name string) ([]byte, error)
	ReadDir(name string) ([]fs.DirEntry, error)
	Stat(name string) (fs.FileInfo, error)
	// Mine returns an error if another user owns the file or folder or may write it. Code from such
	// a file must not be run.
	Mine(name string) error
	MkdirAll(name string) error
	// WriteFile replaces the file atomically: readers see the old or the new content.
	WriteFile(name string, data []byte) error
	// IsTemporary reports whether a name belongs to an unfinished file of WriteFile.
	IsTemporary(name string) bool
	// RemoveTemporary removes the unfinished files of WriteFile from a folder. A killed process
	// leaves them.
	RemoveTemporary(dir string) error
	// Remove removes a file or an empty folder.
	Remove(name string) error
	// Append opens a file for appending. Writes fail with ErrGone once the file is renamed or
	// removed.
	Append(name string) (AppendFile, error)
	// Lock takes an advisory lock: it creates the file with the owner's text, and unlock removes
	// the file. If another process holds the lock, the error is a LockedError. stale is the text of
	// an owner that ended without unlocking, or empty.
	Lock(name, owner string) (unlock func() error, stale string, err error)
	// Held returns a LockedError if another process holds the lock. It does not take the lock.
	Held(name string) error
}

// ErrGone means that a file was removed, renamed or replaced while it was written.
var ErrGone = errors.New("removed, renamed or replaced while zbench wrote to it")

// AppendFile is a file that grows. Once Sync returns nil, the content is on disk.
type AppendFile interface {
	io.WriteCloser
	Sync() error
}

// LockedError is the error about a lock that another process holds.
type LockedError struct {
	// Owner is the text that the other process wrote into the lock file.
	Owner string
}

func (e *LockedError) Error() string { return fmt.Sprintf("in use by %s", e.Owner) }

// Unreadable returns the error about an existing file that cannot be read. If the path is a folder,
// the error says so.
func Unreadable(files FS, path string, err error, hint string) error {
	if info, failed := files.Stat(path); failed == nil && info.IsDir() {
		return exit.With(exit.Run, fmt.Errorf("%s is a folder; a file is expected", path), "move it away, or "+hint)
	}
	return exit.With(exit.Run, fmt.Errorf("%s cannot be read: %w", path, err), hint)
}
