package main

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/exit"
	"zbench/test/longtest"
)

// noPage is a disk that is full when the page is to be written.
type noPage struct{ osFS }

func (d noPage) WriteFile(name string, data []byte) error {
	if filepath.Base(name) == "report.html" {
		return errors.New("no space left on device")
	}
	return d.osFS.WriteFile(name, data)
}

// A disk that is full when all is measured loses nothing: what to do next is said,
// and works.
func TestDiskFullWhenThePageIsDrawn(t *testing.T) {
	longtest.OneGoroutine(t)
	for _, args := range [][]string{
		{"hbm", "--backend", "loopback", "--size", "64K", "--kernels", "copy", "--max-time", "0.01"},
		{"kernels", "rmsnorm", "--backend", "loopback", "--rows", "2", "--hidden", "64"},
		{"kernels", "muon", "--backend", "loopback", "--shape", "20x30"},
		{"collectives", "all_reduce", "-e", "1K"},
	} {
		dir := filepath.Join(t.TempDir(), "out")
		code, stderr := zbench(t, noPage{}, append(args, "--out", dir)...)
		require.Equal(t, exit.Run, code, args)
		require.Contains(t, stderr, filepath.Join(dir, "report.html")+": no space left on device")
		require.Contains(t, stderr, "→ free disk space, then render what is saved: `zbench report "+dir)
		code, stderr = zbench(t, osFS{}, "report", dir)
		require.Zero(t, code, stderr)
		require.FileExists(t, filepath.Join(dir, "report.html"))
	}
}
