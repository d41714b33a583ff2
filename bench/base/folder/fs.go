package folder

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"zbench/bench/base/exit"
)

// FS is the part of the file system that a folder needs. Names are the operating
// system's paths.
type FS interface {
	ReadFile(name string) ([]byte, error)
	ReadDir(name string) ([]fs.DirEntry, error)
	Stat(name string) (fs.FileInfo, error)
	// Mine returns an error if another user owns the file or folder, or may write it: its code must
	// not be run.
	Mine(name string) error
	MkdirAll(name string) error
	// WriteFile replaces the file atomically: readers see the old or the new content.
	WriteFile(name string, data []byte) error
	// IsTemporary reports whether a name belongs to an unfinished file of WriteFile.
	IsTemporary(name string) bool
	// RemoveTemporary removes a folder's unfinished files of WriteFile, which a killed process
	// leaves.
	RemoveTemporary(dir string) error
	// Remove removes a file or an empty folder.
	Remove(name string) error
	// Append opens a file to append to it. Writing fails with ErrGone once the file is
	// renamed or removed.
	Append(name string) (AppendFile, error)
	// Lock takes an advisory lock: it creates the file with the owner's text and holds it until
	// unlock, which removes it. If another process holds the lock, the error is a LockedError.
	// stale is the text of an owner that ended without unlocking, empty if there was none.
	Lock(name, owner string) (unlock func() error, stale string, err error)
	// Held is a LockedError if another process holds the lock; it leaves the lock as it is.
	Held(name string) error
}

// ErrGone means that a file was removed, renamed or replaced while it was written.
var ErrGone = errors.New("removed, renamed or replaced while zbench wrote to it")

// AppendFile is a file that grows. Its content is on disk once Sync has returned
// without an error.
type AppendFile interface {
	io.WriteCloser
	Sync() error
}

// LockedError is a lock that another process holds.
type LockedError struct {
	// Owner is the text that the other process left in the file.
	Owner string
}

func (e *LockedError) Error() string { return fmt.Sprintf("in use by %s", e.Owner) }

// Unreadable returns the error of an existing file that cannot be read. It says so if the path is a
// folder.
func Unreadable(files FS, path string, err error, hint string) error {
	if info, failed := files.Stat(path); failed == nil && info.IsDir() {
		return exit.With(exit.Run, fmt.Errorf("%s is a folder; a file is expected", path), "move it away, or "+hint)
	}
	return exit.With(exit.Run, fmt.Errorf("%s cannot be read: %w", path, err), hint)
}
