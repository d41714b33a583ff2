package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/exit"
	"zbench/bench/base/stat"
	"zbench/bench/engine"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
	"zbench/test/longtest"
)

// measuredRows writes the record of a child of hbm: three rows, or those that it was asked
// for; triad takes 5 % more with a fault.
func measuredRows(t *testing.T, c Command) {
	t.Helper()
	text, err := os.ReadFile(c.Argv[3])
	require.NoError(t, err)
	want, err := spec.Read(text)
	require.NoError(t, err)
	want.Kernels.Size = 1 << 20 // as the devices decide
	rec := &record.Record{
		Schema: record.Schema, Simulated: true, Source: record.Source{Kind: record.Simulated}, Spec: want,
		World: record.World{World: spec.World{Nodes: 1, GPUsPerNode: 1, GPUsPerProcess: 1}, Ranks: 1, Devices: []record.Device{{Name: "GPU", Kind: record.OnLoopback}}},
	}
	for i, name := range []string{"copy", "triad", "dot"} {
		key := "preset/" + name + "/float32/1048576@0"
		if only := want.Kernels.Only; len(only) > 0 && !slices.Contains(only, key) {
			continue
		}
		seconds := 1e-3 * float64(i+1) * (1 + 1e-5*float64(want.Seed))
		if name == "triad" && slices.Contains(c.Argv, "--fault") {
			seconds *= 1.05
		}
		rec.Kernels = append(rec.Kernels, record.Kernel{
			Case: record.Case{Key: key, Status: record.OK}, Kernel: name, Dtype: "float32", Role: record.Preset, Moved: 2 << 20,
			Timing: &record.KernelTiming{Launches: 1, Seconds: stat.Summarize([]float64{seconds, seconds})},
		})
	}
	dir := c.Argv[slices.Index(c.Argv, "--out")+1]
	require.NoError(t, os.MkdirAll(dir, 0o700))
	var b bytes.Buffer
	require.NoError(t, rec.WriteJSON(&b))
	require.NoError(t, os.WriteFile(filepath.Join(dir, engine.ResultsFile), b.Bytes(), 0o600))
}

// Builds are searched for kernels, too: a child finds out the rows, later ones measure those
// that are undecided, and the request has what the devices decided.
func TestBisectOfKernels(t *testing.T) {
	longtest.OneGoroutine(t)
	dir, n := filepath.Join(t.TempDir(), "out"), 0
	start := func(c Command, _ int) Child {
		n++
		if strings.Contains(c.Argv[slices.Index(c.Argv, "--out")+1], "001-broken") {
			return inProcess{code: exit.Unavailable, how: "exit status 5"}
		}
		if slices.Contains(c.Argv, "--peak") {
			return inProcess{code: exit.Unavailable}
		}
		measuredRows(t, c)
		return inProcess{how: "exit status 0"}
	}
	const slow = "--fault store"
	s, stdout, stderr, commands := bisectState(t, start, "hbm", "--backend", "loopback", "--dtype", "float32", "--out", dir, "--fail-on", "slower",
		"--variant", "broken=NO=1", "--variant", "a=", "--variant", "b=X=1 "+slow, "--variant", "c="+slow)
	code := Main(context.Background(), s)
	require.Equal(t, exit.Regression, code, stderr)
	require.Contains(t, unfolded(stdout.String()), "SIMULATED: FIRST SLOW VARIANT: b. It is slower than a in 1 of 3 cases.")
	require.Contains(t, unfolded(stdout.String()), "triad float32 preset, 2 MiB: +5.0 %")
	require.Equal(t, []string{"zbench", "hbm", "--spec"}, (*commands)[0].Argv[:3])
	var header struct {
		Spec   spec.Spec
		Scouts []float64
		Cases  []struct{ Key string }
	}
	first, _, _ := strings.Cut(readBytes(t, dir, bisectJournalFile), "\n")
	require.NoError(t, json.Unmarshal([]byte(first), &header))
	require.Len(t, header.Cases, 3)
	require.Len(t, header.Scouts, 2, "the first variant does not work")
	require.Equal(t, int64(1<<20), header.Spec.Kernels.Size)
	asked, err := spec.Read([]byte(readBytes(t, dir, "child.json")))
	require.NoError(t, err)
	require.Equal(t, []string{"preset/triad/float32/1048576@0"}, asked.Kernels.Only)

	// What was measured stands; nothing is measured again.
	before := n
	s, stdout, _, _ = bisectState(t, start, "--resume", dir, "--format", "csv")
	require.Equal(t, exit.OK, Main(context.Background(), s))
	require.Equal(t, before, n)
	require.Contains(t, stdout.String(), "slower,b,")

	for flags, says := range map[string]string{
		"hbm --tune --variant a= --variant b=":        "bisect has no --tune",
		"hbm --variant a= --variant b=--kernels=copy": "--kernels is for all variants",
		"hbm --variant a=":                            "at least two variants",
		"muon --variant a= --variant b=":              "give either --preset or --shape",
	} {
		s, _, stderr, _ := bisectState(t, start, strings.Split(flags, " ")...)
		require.Equal(t, exit.Usage, Main(context.Background(), s), flags)
		require.Contains(t, stderr.String(), says, flags)
	}
}

// A request may name the rows that are measured.
func TestOnlySomeRows(t *testing.T) {
	longtest.OneGoroutine(t)
	dir := t.TempDir()
	code, _, stderr := printed(t, "hbm", "--backend", "loopback", "--size", "64K", "--max-time", "0.005", "--kernels", "copy,triad", "--dtype", "float32", "-q", "--out", dir+"/all")
	require.Zero(t, code, stderr)
	var rec record.Record
	require.NoError(t, json.Unmarshal([]byte(readBytes(t, dir, "all", engine.ResultsFile)), &rec))
	require.Len(t, rec.Kernels, 4)
	for key, want := range map[string]int{rec.Kernels[2].Key: exit.OK, "preset/nothing@0": exit.Usage} {
		rec.Spec.Kernels.Only = []string{key}
		text, err := json.Marshal(rec.Spec)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(dir+"/spec.json", text, 0o600))
		code, _, stderr := printed(t, "hbm", "--spec", dir+"/spec.json", "-q", "--out", dir+"/some")
		require.Equal(t, want, code, stderr)
		if want == exit.OK {
			var some record.Record
			require.NoError(t, json.Unmarshal([]byte(readBytes(t, dir, "some", engine.ResultsFile)), &some))
			require.Len(t, some.Kernels, 1)
			require.Equal(t, key, some.Kernels[0].Key)
			require.NoError(t, os.RemoveAll(dir+"/some"))
		} else {
			require.NoDirExists(t, dir+"/some")
			require.Contains(t, stderr, "none of the rows")
		}
	}
}
