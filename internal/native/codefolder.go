package native

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
)

// CodeFiles has the functions of the file system that a CodeFolder uses. WriteFile replaces a whole
// file, so that readers see either the old or the new content.
type CodeFiles interface {
	ReadFile(name string) ([]byte, error)
	// Mine returns an error if another user owns the file or folder, or may write to it.
	Mine(name string) error
	MkdirAll(name string) error
	WriteFile(name string, data []byte) error
}

// codeMagic begins every entry. It changes with the format.
const codeMagic = "zbench code 1\n"

// CodeFolder keeps compiled kernels in a folder between runs. It implements CodeCache. An entry is
// one file that is named by its key and contains the key and a checksum of the code. If an entry is
// damaged, truncated or misnamed, it is ignored and the kernel is compiled again. Files appear
// whole, so processes may share a folder. Goroutines must not share a CodeFolder.
type CodeFolder struct {
	fs  CodeFiles
	dir string
	// Hits counts the entries that were used; Rebuilt counts invalid entries.
	Hits, Rebuilt int
	err           error
}

// NewCodeFolder returns the cache in a folder. The folder is made with the first entry.
func NewCodeFolder(files CodeFiles, dir string) *CodeFolder { return &CodeFolder{fs: files, dir: dir} }

// Err returns the first error of reading or writing an entry. The kernels are available anyway,
// because they were compiled.
func (c *CodeFolder) Err() error { return c.err }

func (c *CodeFolder) file(key string) string { return filepath.Join(c.dir, key+".code") }

// Load returns the code that is kept under a key; false if there is no valid entry.
func (c *CodeFolder) Load(key string) ([]byte, bool) {
	data, err := c.fs.ReadFile(c.file(key))
	if err == nil {
		err = cmp.Or(c.fs.Mine(c.dir), c.fs.Mine(c.file(key)))
	}
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			c.note(err)
		}
		return nil, false
	}
	code, ok := decodeCode(key, data)
	if !ok {
		c.Rebuilt++
		return nil, false
	}
	c.Hits++
	return code, true
}

// Store keeps code under a key. Err reports an error.
func (c *CodeFolder) Store(key string, code []byte) {
	if err := c.fs.MkdirAll(c.dir); err != nil {
		c.note(err)
		return
	}
	if err := c.fs.WriteFile(c.file(key), encodeCode(key, code)); err != nil {
		c.note(err)
	}
}

func (c *CodeFolder) note(err error) {
	if c.err == nil {
		c.err = fmt.Errorf("the cache of compiled kernels %s: %w", c.dir, err)
	}
}

// head returns the beginning of an entry: the format, the key, and the checksum and the length of
// the code.
func head(key string, code []byte) []byte {
	return fmt.Appendf(nil, "%s%s\n%x\n%d\n", codeMagic, key, sha256.Sum256(code), len(code))
}

func encodeCode(key string, code []byte) []byte { return append(head(key, code), code...) }

// decodeCode returns the code of an entry; false if the data differ in any byte from the form
// that encodeCode writes.
func decodeCode(key string, data []byte) ([]byte, bool) {
	rest := data
	for range 4 {
		_, after, found := bytes.Cut(rest, []byte("\n"))
		if !found {
			return nil, false
		}
		rest = after
	}
	return rest, bytes.Equal(data[:len(data)-len(rest)], head(key, rest))
}
