package engine

import (
	"errors"
	"fmt"

	"zbench/bench/exit"
)

// lock prevents other processes from writing the folder until Close. A stale lock is
// replaced, with a note.
func (f *Folder) lock(h Host) error {
	unlock, stale, err := h.FS.Lock(f.File(LockFile), h.Owner)
	held := (*LockedError)(nil)
	switch {
	case errors.As(err, &held):
		return inUse(f.Path, err)
	case err != nil:
		return exit.With(exit.Run, fmt.Errorf("the folder %s cannot be locked: %w", f.Path, err), "choose another --out")
	}
	if stale != "" {
		h.note("%s: the run of %s ended without finishing; its stale lock is replaced.\n", f.Path, stale)
	}
	f.unlock = unlock
	return nil
}

// inUse is the error of a folder whose lock another process holds.
func inUse(path string, locked error) error {
	return exit.UsageError(fmt.Errorf("%s is %w", path, locked), "wait until that run ends, or choose another --out")
}

// Close lets other processes write the folder. It may be called more than once.
func (f *Folder) Close() error {
	if f == nil || f.unlock == nil {
		return nil
	}
	unlock := f.unlock
	f.unlock = nil
	return unlock()
}
