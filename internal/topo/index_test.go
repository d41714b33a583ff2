package topo

import (
	"io/fs"
	"path"
	"testing/fstest"
)

// indexed is a MapFS whose folders are listed once: fstest's own looks at every file for
// each folder, and a node has thousands.
type indexed struct {
	fstest.MapFS
	folders map[string][]fs.DirEntry
}

func index(m fstest.MapFS) indexed {
	x := indexed{m, map[string][]fs.DirEntry{".": nil}}
	met := map[string]bool{}
	for name := range m {
		for ; name != "." && !met[name]; name = path.Dir(name) {
			met[name] = true
			folder := path.Dir(name)
			x.folders[folder] = append(x.folders[folder], entryName(path.Base(name)))
		}
	}
	return x
}

func (x indexed) ReadDir(name string) ([]fs.DirEntry, error) {
	if all, ok := x.folders[path.Clean(name)]; ok {
		return all, nil
	}
	return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrNotExist}
}

func (x indexed) Stat(name string) (fs.FileInfo, error) {
	if _, folder := x.folders[path.Clean(name)]; folder {
		return nil, nil //nolint:nilnil // only whether it is there is asked for
	}
	if _, ok := x.MapFS[path.Clean(name)]; !ok {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
	}
	return x.MapFS.Stat(name)
}

func (x indexed) Open(name string) (fs.File, error) {
	if _, ok := x.MapFS[path.Clean(name)]; !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return x.MapFS.Open(name)
}

// entryName is an entry of which only the name is asked for.
type entryName string

func (e entryName) Name() string             { return string(e) }
func (entryName) IsDir() bool                { return false }
func (entryName) Type() fs.FileMode          { return 0 }
func (entryName) Info() (fs.FileInfo, error) { return nil, fs.ErrInvalid }
