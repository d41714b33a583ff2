package native

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/test/mutate"
)

// files is a file system of a map; fail is what each call answers instead, foreign why the files are not the user's.
type files struct {
	data          map[string][]byte
	fail, foreign error
}

func (f *files) Mine(string) error { return f.foreign }

func (f *files) ReadFile(name string) ([]byte, error) {
	if data, ok := f.data[name]; ok || f.fail != nil {
		return data, f.fail
	}
	return nil, fs.ErrNotExist
}
func (f *files) MkdirAll(string) error { return f.fail }
func (f *files) WriteFile(name string, data []byte) error {
	f.data[name] = data
	return f.fail
}

const key = "5a1de0ff"

func TestKeepsCode(t *testing.T) {
	for _, code := range [][]byte{nil, []byte("\n\n\n\n\n"), []byte("\x7fELF\x00code\n")} {
		f := &files{data: map[string][]byte{}}
		c := NewCodeFolder(f, "dir")
		_, ok := c.Load(key)
		require.False(t, ok)
		c.Store(key, code)
		got, ok := NewCodeFolder(f, "dir").Load(key)
		require.True(t, ok)
		require.Equal(t, string(code), string(got))
		require.NoError(t, c.Err())
		require.Zero(t, c.Rebuilt, "an entry that is not there is not a damaged one")
	}
}

// Any change of an entry, cut, longer, one bit, or another's name, is noticed,
// and the next Store mends it.
func TestDamagedEntryIsNotTaken(t *testing.T) {
	code := []byte("some code of a kernel\nwith a line")
	whole := encodeCode(key, code)
	rng := rand.New(rand.NewPCG(1, 2))
	damaged := map[string][]byte{"empty": {}, "longer": append(append([]byte(nil), whole...), 'x'), "another's": encodeCode("5a1de0fe", code)}
	for i := range whole {
		damaged["cut"] = whole[:i]
		flipped := append([]byte(nil), whole...)
		flipped[i] ^= 1 << rng.IntN(8)
		damaged["flipped"] = flipped
		for name, data := range damaged {
			f := &files{data: map[string][]byte{"dir/" + key + ".code": data}}
			c := NewCodeFolder(f, "dir")
			_, ok := c.Load(key)
			require.False(t, ok, "%s at %d", name, i)
			require.Equal(t, 1, c.Rebuilt)
			c.Store(key, code)
			got, ok := c.Load(key)
			require.True(t, ok)
			require.Equal(t, code, got)
		}
	}
}

// A folder that cannot be used is told, once; nothing else fails.
func TestUnusableFolderIsReported(t *testing.T) {
	broken := errors.New("read-only file system")
	c := NewCodeFolder(&files{data: map[string][]byte{}, fail: broken}, "dir")
	_, ok := c.Load(key)
	require.False(t, ok)
	c.Store(key, nil)
	require.ErrorIs(t, c.Err(), broken)
	require.ErrorContains(t, c.Err(), "dir")
}

// Code that another user wrote, or may write, is compiled again, and that is said.
func TestForeignCodeIsNotTaken(t *testing.T) {
	f := &files{data: map[string][]byte{}, foreign: errors.New("dir can be written by others")}
	c := NewCodeFolder(f, "dir")
	c.Store(key, []byte("code"))
	_, ok := c.Load(key)
	require.False(t, ok)
	require.ErrorIs(t, c.Err(), f.foreign)
}

func TestChangedCode(t *testing.T) {
	mutate.Each(t, 1, 2000, []string{string(encodeCode(key, []byte("code"))), codeMagic + key + "\n"}, func(t *testing.T, text string) {
		if code, ok := decodeCode(key, []byte(text)); ok {
			require.Equal(t, []byte(text), encodeCode(key, code), "what is taken is what was kept")
		}
	})
}
