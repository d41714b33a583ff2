package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"zbench/bench/answers/judge"
	"zbench/bench/base/exit"
	"zbench/bench/engine"
	"zbench/bench/hardware/collective"
	"zbench/bench/run/record"
	"zbench/test/longtest"
	"zbench/test/recordtest"
)

// plantedRun writes a measured run on Pollara NICs with these variables, and returns its file.
func plantedRun(t *testing.T, name string, vars map[string]string) string {
	t.Helper()
	rec := recordtest.Sweep(20)
	rec.Simulated, rec.Fabric, rec.World.NICs = false, nil, []record.NICKind{{Driver: "ionic", Model: "Pollara"}}
	rec.Source = record.Source{Kind: record.Measured, Backend: "rocm", Clock: "monotonic", Libraries: []record.Library{{Name: "librccl.so.1", Version: "2.30.4"}}, Environment: vars}
	for i, r := range rec.Results {
		c, err := collective.ByName(r.Collective)
		require.NoError(t, err)
		rec.Results[i] = recordtest.OneCase(c, r.BytesRequested, r.Ranks, 4, 360e9-1e8*float64(len(name)), i) // each run has times of its own
	}
	judge.Store(rec)
	file := filepath.Join(t.TempDir(), name+".json")
	f, err := os.Create(file)
	require.NoError(t, err)
	require.NoError(t, rec.WriteJSON(f))
	require.NoError(t, f.Close())
	return file
}

// compare and recommend refuse runs with and without the GDR flush and name the variable; --across lets them, and says so.
func TestErasAreNotMixed(t *testing.T) {
	longtest.OneGoroutine(t)
	off, on, again := plantedRun(t, "off", nil), plantedRun(t, "flushed", map[string]string{"NCCL_GDR_FLUSH_DISABLE": "0"}), plantedRun(t, "default", map[string]string{"NCCL_GDR_FLUSH_DISABLE": "1"})
	const differ = "differ in the GDR flush (NCCL_GDR_FLUSH_DISABLE): off, on"

	code, _, stderr := printed(t, "compare", off, on)
	require.Equal(t, exit.Usage, code, stderr)
	require.Contains(t, stderr, differ+"; they are not compared")
	require.Contains(t, stderr, "--across")
	code, stdout, _ := printed(t, "compare", off, on, "--across", "--format", "markdown")
	require.Equal(t, exit.OK, code)
	require.Contains(t, words(stdout), "ACROSS "+off+" and "+on+" "+differ)
	code, stdout, _ = printed(t, "compare", off, again, "--format", "markdown")
	require.Equal(t, exit.OK, code)
	require.NotContains(t, stdout, "ACROSS")

	flags := []string{"--framework", "megatron", "--preset", "llama3-8b", "--step-ms", "900"}
	code, _, stderr = printed(t, append([]string{"recommend", off, on}, flags...)...)
	require.Equal(t, exit.Usage, code)
	require.Contains(t, stderr, differ+"; they are not mixed")
	code, _, stderr = printed(t, append([]string{"recommend", off, on, "--across"}, flags...)...)
	require.NotEqual(t, exit.Usage, code)
	require.Contains(t, stderr, "ACROSS: "+off+" and "+on+" "+differ)
	_, _, stderr = printed(t, append([]string{"recommend", off, again}, flags...)...)
	require.NotContains(t, stderr, differ)
}

// The terminal and the page of such a run warn, with what to do.
func TestLongCorruptionIsShown(t *testing.T) {
	longtest.Only(t)
	off, on := plantedRun(t, "off", nil), plantedRun(t, "flushed", map[string]string{"NCCL_GDR_FLUSH_DISABLE": "0"})
	const warning, next = "Pollara NICs, and RCCL 2.30.4 runs without the GDR flush", "Export NCCL_GDR_FLUSH_DISABLE=0 and RCCL_GDR_FLUSH_GPU_MEM_NO_RELAXED_ORDERING=0"
	for file, warned := range map[string]bool{off: true, on: false} {
		drawn := filepath.Join(t.TempDir(), "drawn")
		_, text, _ := printed(t, "report", file, "--out", drawn)
		_, markdown, _ := printed(t, "report", file, "--format", "markdown")
		page := tags.ReplaceAllString(string(readBytes(t, filepath.Join(drawn, "report.html"))), "")
		for form, shown := range map[string]string{"terminal": text, "Markdown": markdown, "page": page} {
			require.Equal(t, warned, strings.Contains(words(shown), warning), form)
			require.Equal(t, warned, strings.Contains(words(shown), next), form)
		}
	}
}

// A record has the NICs of its nodes, each kind once; that of a simulation has none, whatever its host has.
func TestRecordHasTheNICs(t *testing.T) {
	s, _ := testState(t)
	tree := s.FS.(hostFS).tree
	for _, nic := range []string{"ionic_0", "ionic_1"} {
		tree["sys/class/infiniband/"+nic+"/ports/1/state"] = &fstest.MapFile{Data: []byte("4: ACTIVE\n")}
		tree["sys/class/infiniband/"+nic+"/device/uevent"] = &fstest.MapFile{Data: []byte("DRIVER=ionic\n")}
	}
	kinds := []record.NICKind{{Driver: "ionic"}}
	require.Equal(t, kinds, nicsOf(s, false))
	require.Empty(t, nicsOf(s, true))
	other := engine.Hello{FirstRank: 1, Ranks: 1, Host: "b", Facts: engine.Facts{NICs: []record.NICKind{{Driver: "bnxt_en"}, {Driver: "ionic"}}}}
	facts, err := engine.Together([]engine.Hello{{Ranks: 1, Host: "a", Facts: engine.Facts{NICs: kinds}}, other}, 2, 1)
	require.NoError(t, err)
	require.Equal(t, []record.NICKind{{Driver: "ionic"}, {Driver: "bnxt_en"}}, facts.NICs)
}
