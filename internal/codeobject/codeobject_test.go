package codeobject

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/test/nvinfo"
)

// The files in testdata were made by the real compilers, of one source: kernels
// first and second, and a function that is no kernel.
func TestRead(t *testing.T) {
	files, err := filepath.Glob("testdata/*rtc*")
	require.NoError(t, err)
	require.Len(t, files, 3)
	for _, file := range files {
		object, err := Read(read(t, file))
		require.NoError(t, err, file)
		require.Equal(t, strings.TrimPrefix(filepath.Ext(file), "."), object.Target, file)
		require.Equal(t, []string{"first", "second"}, object.Kernels, file)
		if object.Target != "sm_90" {
			continue
		}
		uses := nvinfo.Read(t, read(t, file))
		for _, kernel := range object.Kernels {
			require.Positive(t, uses[kernel].Registers, kernel)
			require.Zero(t, uses[kernel].Frame, kernel)
		}
	}
}

// bundle wraps code as clang does, behind an empty entry for the host.
func bundle(code []byte) []byte {
	out := []byte(bundleMagic)
	number := func(n int) { out = binary.LittleEndian.AppendUint64(out, uint64(n)) } //nolint:gosec // small
	entries := []struct {
		target string
		size   int
	}{{"host-x86_64-unknown-linux--", 0}, {"hipv4-amdgcn-amd-amdhsa--gfx942", len(code)}}
	number(len(entries))
	for _, e := range entries {
		number(4096)
		number(e.size)
		number(len(e.target))
		out = append(out, e.target...)
	}
	return append(append(out, make([]byte, 4096-len(out))...), code...)
}

func TestReadBundle(t *testing.T) {
	code := read(t, "testdata/hiprtc-6.4.gfx942")
	object, err := Read(bundle(code))
	require.NoError(t, err)
	require.Equal(t, Object{Target: "gfx942", Kernels: []string{"first", "second"}}, object)
	for _, end := range []int{30, 40, 60, 120, 5000} {
		_, err := Read(bundle(code)[:end])
		require.Error(t, err, "%d bytes", end)
	}
}

func TestReadErrors(t *testing.T) {
	for what, code := range map[string][]byte{
		"nothing": nil, "text": []byte(strings.Repeat("no code object ", 10)),
		"half": read(t, "testdata/nvrtc-11.8.sm_90")[:80],
	} {
		_, err := Read(code)
		require.ErrorContains(t, err, "code object", what)
	}
	program, err := os.Executable()
	require.NoError(t, err)
	_, err = Read(read(t, program))
	require.ErrorContains(t, err, "is no GPU")
}

func read(t testing.TB, file string) []byte {
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	return data
}
