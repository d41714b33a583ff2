package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/exit"
	"zbench/bench/engine"
	"zbench/bench/run/record"
	"zbench/test/longtest"
)

// onHost runs a command on a planted host, on a terminal of that width (0 for a
// pipe), and returns what it printed and its folder.
func onHost(t *testing.T, h host, width, code int, line string) (stdout, stderr, folder string) {
	t.Helper()
	args := strings.Fields(line)
	folder = filepath.Join(t.TempDir(), "out")
	switch args[0] {
	case "hbm", "gemm", "kernels", "collectives", "rails", "screen", "soak", "suite", "watch":
		args = append(args, "--out", folder)
	}
	s, _ := testState(t, args...)
	s = h.plant(s)
	s.Getenv = func(name string) string {
		return map[string]string{"SOURCE_DATE_EPOCH": "1795219200", "COLUMNS": "60"}[name]
	}
	var out, talk bytes.Buffer
	s.Stdout = Stream{Writer: &out, IsTTY: width > 0, Width: width}
	s.Stderr = Stream{Writer: &talk, IsTTY: width > 0, Width: width}
	s.Start = func(c Command) (Child, error) { return inThisProcess(s, c), nil }
	require.Equal(t, code, Main(context.Background(), s), "%s: %s", line, talk.String())
	return out.String(), talk.String(), folder
}

// inThisProcess runs a command that zbench would start as a process.
func inThisProcess(s State, c Command) Child {
	in, _ := io.Pipe() // nothing is written
	s.Args, s.Stdin, s.Stdout, s.Stderr = c.Argv[1:], in, Stream{Writer: c.Output}, Stream{Writer: c.Output}
	s.Getenv = func(name string) string { return lastOf(c.Environ, name) }
	code := make(chan int, 1)
	go func() { code <- Main(context.Background(), s) }()
	return waited{code}
}

// waited is a child whose end is waited for.
type waited struct{ code chan int }

func (waited) Interrupt()            {}
func (waited) Ask(string)            {}
func (waited) Kill()                 {}
func (c waited) Wait() (int, string) { return <-c.code, "its end" }

// What people read about a run names the machine it ran on, whatever that machine
// is called, however many cores and however large a cache it has, and says the
// rest in the same words. A phrase is looked for in the text unfolded: where a
// line ends depends on the machine.
func TestLongHostsAreDescribed(t *testing.T) {
	longtest.OnlyOrDetected(t)
	besideScripts(t)
	rows := []struct {
		line string
		code int
		says []string
	}{
		{"hbm --backend loopback --size 64K --max-time 0.005 --kernels copy --dtype float32 --peak 100", exit.OK, []string{
			"HOST MEMORY, not a GPU's: @CPUS of @NAME", "; its peak is 100 GB/s (given with --peak).", "host memory, float32", "copy 64 KiB reference",
		}},
		{"hbm --backend loopback --size 64K --max-time 0.005 --kernels dot --dtype float32 --tune --format markdown", exit.OK, []string{
			"HOST MEMORY, not a GPU's: @CPUS of @NAME", "; its peak is not known.",
		}},
		{"hbm --backend loopback --size 64T", exit.Usage, []string{"three arrays need", "choose a smaller --size"}},
		{"kernels rmsnorm --backend loopback --rows 2 --hidden 64", exit.OK, []string{"results checked, not timed"}},
		{"kernels muon --backend loopback --shape 20x30", exit.OK, []string{"emulated, no rates"}},
		{"doctor --backend loopback", exit.OK, []string{"doctor on @HOST", "OK: loopback can run here", "Planted Linux 1, Linux 6.1.0-planted", "locked memory unlimited", "/dev/shm 16 GiB"}},
	}
	for _, h := range hosts {
		t.Run(h.name, func(t *testing.T) {
			name := h.cpu
			if name == "" {
				name = "this host"
			}
			cpus := fmt.Sprintf("%d CPUs", h.cores)
			if h.cores == 1 {
				cpus = "1 CPU"
			}
			fill := strings.NewReplacer("@NAME", name, "@CPUS", cpus, "@HOST", h.name)
			for _, row := range rows {
				if strings.Contains(row.line, "--tune") && h.name != "many-cores" {
					continue // seconds each, and the same lines
				}
				for _, width := range []int{0, 60} {
					out, talk, folder := onHost(t, h, width, row.code, row.line)
					for _, phrase := range row.says {
						require.Contains(t, unfolded(out+talk), fill.Replace(phrase), row.line)
					}
					if row.code == exit.OK && !strings.HasPrefix(row.line, "doctor") {
						ranOn(t, h, folder)
					}
				}
			}
		})
	}
}

// ranOn checks what run.json says of the machine.
func ranOn(t *testing.T, h host, folder string) {
	t.Helper()
	var got record.Run
	require.NoError(t, json.Unmarshal([]byte(readBytes(t, folder, "run.json")), &got))
	require.Equal(t, h.name, got.Host)
	require.Equal(t, h.cores, got.CPUs)
}

// A simulated sweep, its advice and its page depend on the fabric alone: they are
// the same on every machine.
func TestLongHostsSimulateTheSame(t *testing.T) {
	longtest.Only(t)
	t.Setenv(wantsPictures, "1")
	const line = "collectives all_reduce --nodes 2 -b 64K -e 4M -f 8 --place out -q"
	want, _, first := onHost(t, hosts[0], 0, exit.OK, line)
	for _, h := range hosts[1:] {
		got, _, folder := onHost(t, h, 0, exit.OK, line)
		require.Equal(t, strings.ReplaceAll(want, first, "out"), strings.ReplaceAll(got, folder, "out"), h.name)
		for _, file := range []string{"results.json", "results.csv", "report.html", "knees.json", engine.JournalFile, "busbw.svg", "busbw.png"} {
			require.Equal(t, readBytes(t, first, file), readBytes(t, folder, file), "%s: %s", h.name, file)
		}
		ranOn(t, h, folder)
	}
}
