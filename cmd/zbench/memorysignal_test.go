package main

import (
	"bytes"
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/exit"
	"zbench/bench/run/record"
)

// interrupting is a terminal that sends a signal when the third case begins.
type interrupting struct {
	bytes.Buffer
	signals chan<- string
}

func (w *interrupting) Write(p []byte) (int, error) {
	if strings.Contains(string(p), "[first pass 3/") {
		w.signals <- "interrupt"
	}
	return w.Buffer.Write(p)
}

// A signal ends hbm and the norms; what was finished is saved with its page, the
// rest says interrupted, the journal alone says the same, and the exit code is
// 130. Without a signal the same run ends with 0.
func TestSignalSavesMemory(t *testing.T) {
	for _, args := range [][]string{
		{"hbm", "--backend", "loopback", "--size", "64K", "--dtype", "float32", "--kernels", "read,copy,dot", "--max-time", "0.01"},
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
				var rec *record.Record
				if file == "results.json" {
					rec, err = record.Decode(bytes.NewReader(text))
				} else {
					j, failed := record.ReadJournal(text)
					require.NoError(t, failed)
					rec = j.Record()
				}
				require.NoError(t, err)
				count, measured := map[record.Status]int{}, 0
				for _, r := range rec.Kernels {
					count[r.Status]++
					if r.Timing != nil || r.Status == record.OK {
						measured++
					}
				}
				require.GreaterOrEqual(t, measured, 2, file)
				require.Equal(t, stops, count[record.Interrupted] > 0, "%s: %v", file, count)
			}
			page, err := s.FS.ReadFile(filepath.Join(dir, "report.html"))
			require.NoError(t, err)
			require.Equal(t, stops, strings.Contains(string(page), "interrupted"))
			if !stops {
				continue
			}
			// and it continues: what was measured stays, what was not is measured
			begun, err := s.FS.ReadFile(filepath.Join(dir, "journal.jsonl"))
			require.NoError(t, err)
			again, stdout := testState(t, append(slices.Clip(args), "--resume", dir)...)
			require.Equal(t, exit.OK, Main(context.Background(), again), stdout)
			whole, err := s.FS.ReadFile(filepath.Join(dir, "journal.jsonl"))
			require.NoError(t, err)
			require.True(t, bytes.HasPrefix(whole, begun))
			j, err := record.ReadJournal(whole)
			require.NoError(t, err)
			require.Zero(t, j.Left())
		}
	}
}
