package main

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/exit"
	"zbench/bench/memory"
	"zbench/bench/record"
)

// interrupting is a terminal that sends a signal when the third case begins.
type interrupting struct {
	bytes.Buffer
	signals chan<- string
}

func (w *interrupting) Write(p []byte) (int, error) {
	if strings.Contains(string(p), "\033[K3  ") {
		w.signals <- "interrupt"
	}
	return w.Buffer.Write(p)
}

// A signal ends hbm and the norms; what was finished is saved with its page, the
// rest says interrupted, the journal alone says the same, and the exit code is
// 130. Without a signal the same run ends with 0.
func TestSignalSavesMemory(t *testing.T) {
	for _, args := range [][]string{
		{"hbm", "--backend", "loopback", "--size", "64K", "--dtype", "float32", "--max-time", "0.02"},
		{"kernels", "layernorm", "--backend", "loopback", "--rows", "20", "--hidden", "64,65,66,67"},
	} {
		for _, stops := range []bool{true, false} {
			dir := filepath.Join(t.TempDir(), "out")
			s, _ := testState(t, append(args, "--out", dir)...)
			signals := make(chan string, 2)
			stderr := &interrupting{signals: signals}
			if stops {
				s.Signals = signals
			} else {
				stderr.signals = make(chan string, 2)
			}
			s.Stderr = Stream{Writer: stderr, IsTTY: true, Width: 80}
			want := map[bool]int{true: exit.Interrupted, false: exit.OK}[stops]
			require.Equal(t, want, Main(context.Background(), s), stderr.String())
			for _, file := range []string{"results.json", "journal.jsonl"} {
				text, err := s.FS.ReadFile(filepath.Join(dir, file))
				require.NoError(t, err)
				rec, err := memory.Decode(text)
				require.NoError(t, err)
				count := map[record.Status]int{}
				for _, r := range rec.Results {
					count[r.Status]++
				}
				require.GreaterOrEqual(t, count[record.OK], 2, file)
				require.Equal(t, stops, count[record.Interrupted] > 0, "%s: %v", file, count)
			}
			page, err := s.FS.ReadFile(filepath.Join(dir, "report.html"))
			require.NoError(t, err)
			require.Equal(t, stops, strings.Contains(string(page), "interrupted"))
		}
	}
}
