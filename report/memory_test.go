package report

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clipperhouse/displaywidth"
	"github.com/stretchr/testify/require"

	"zbench/bench/results"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
	"zbench/bench/show/document"
	"zbench/bench/show/table"
	"zbench/test/golden"
	"zbench/test/recordtest"
)

// memoryOf is a record of one GPU with invented times.
func memoryOf(command string, results ...record.Kernel) *record.Record {
	peak := 5.3e12
	rec := &record.Record{
		Schema: record.Schema, Tool: record.Tool{Name: "zbench", Version: "1.0.0"},
		Created: time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC), Source: record.Source{Kind: record.Measured, Backend: "rocm", Clock: "monotonic"},
		World:   record.World{Devices: []record.Device{{Name: "AMD Instinct MI300X", Kind: record.GPU, Units: 304, Bytes: 192 << 30, Cache: 256 << 20, PeakBandwidth: &peak, PeakSource: "data sheet, 2023"}}},
		Spec:    &spec.Spec{Benchmark: command, Seed: 1, Kernels: &spec.Kernels{Data: "random", Precision: 0.01, MaxTime: 1}},
		Kernels: results,
	}
	for i := range rec.Kernels {
		if k := &rec.Kernels[i]; k.Metrics.Rate != nil {
			k.Metrics.OfPeak = new(*k.Metrics.Rate / peak)
		}
	}
	return rec
}

func timedResult(kernel, dtype, role string, moved int64, seconds float64, salt int) record.Kernel {
	s := recordtest.Sample(seconds, salt)
	rate := func(seconds *float64) *float64 {
		if seconds == nil {
			return nil
		}
		return new(float64(moved) / *seconds)
	}
	return record.Kernel{
		Case: record.Case{Key: role + "/" + kernel + "/" + dtype + "@0", Status: record.OK, Verified: record.Verified{State: record.VerifiedOK, Wrong: new(int64), Elements: 1 << 20}}, Kernel: kernel, Dtype: dtype, Role: role, Moved: moved, Counting: "STREAM", WorkingSet: moved, Timing: &record.KernelTiming{Launches: 4, Seconds: s, Stop: "precision"},
		Metrics: record.Metrics{Rate: rate(&s.Median), Lo: rate(s.Hi), Hi: rate(s.Lo), Fastest: rate(&s.Min), P95: rate(s.P95)},
	}
}

// streamsAndSweep has every stream in two configurations, and levels of cache.
func streamsAndSweep() *record.Record {
	var list []record.Kernel
	for i, kernel := range []string{"read", "write", "copy", "scale", "add", "triad", "dot"} {
		for k, role := range []string{record.Reference, record.Preset} {
			r := timedResult(kernel, "float64", role, 2<<30, float64(2<<30)/(3.9e12+1e11*float64(i%3+k)), i)
			r.Shape.Array, r.Config = 1<<30, record.LaunchConfig{Block: 256, Loads: 4, NonTemporal: k == 1, Grid: "exact", Blocks: 4096}
			list = append(list, r)
		}
	}
	for _, kernel := range []string{"read", "copy"} {
		for size := int64(256 << 10); size <= 1<<30; size *= 2 {
			rate := 14e12
			if size > 4<<20 {
				rate = 10e12
			}
			if size > 256<<20 {
				rate = 4.1e12
			}
			r := timedResult(kernel, "float32", record.SizeSweep, 2*size, float64(2*size)/rate, int(size>>18))
			r.Shape.Array, r.CacheResident = size, size < 1<<30
			list = append(list, r)
		}
	}
	return memoryOf("hbm", list...)
}

// fusedNorms has two shapes, fused, kernel by kernel and copied.
func fusedNorms() *record.Record {
	var list []record.Kernel
	for i, hidden := range []int64{4096, 16384} {
		moved := 4 * 32768 * hidden * 2
		for role, seconds := range map[string]float64{record.Fused: 1, record.Unfused: 2.4, record.Copy: 0.95} {
			r := timedResult("rmsnorm", "bfloat16", role, moved, seconds*float64(moved)/4e12, i)
			r.Shape.Rows, r.Shape.Cols, r.Counting = 32768, hidden, role+" bytes"
			ulp := 0.5
			if role != record.Copy {
				r.Verified.ULP = &ulp
			}
			list = append(list, r)
		}
	}
	order := map[string]int{record.Fused: 0, record.Unfused: 1, record.Copy: 2}
	sorted := make([]record.Kernel, len(list))
	for i, r := range list {
		sorted[i/3*3+order[r.Role]] = r
	}
	for i := 0; i < len(sorted); i += 3 {
		fused, unfused, copied := &sorted[i], sorted[i+1], sorted[i+2]
		fused.Metrics.ToUnfused = new(unfused.Timing.Seconds.Median / fused.Timing.Seconds.Median)
		fused.Metrics.OfCopy = new(*fused.Metrics.Rate / *copied.Metrics.Rate)
	}
	return memoryOf("rmsnorm", sorted...)
}

func memoryTable(t *testing.T, rec *record.Record) string {
	t.Helper()
	return onTerminal(t, results.MemoryResults(rec))
}

func memoryPage(t *testing.T, rec *record.Record) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, WriteHTML(&b, results.Kernels(rec, "zbench "+rec.Benchmark())))
	if dir := os.Getenv("ZBENCH_PAGES"); dir != "" { // for the eye, and for a browser
		timed := slices.ContainsFunc(rec.Kernels, func(k record.Kernel) bool { return k.Timing != nil })
		name := fmt.Sprintf("%s-timed-%t.html", rec.Benchmark(), timed)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), b.Bytes(), 0o600))
	}
	return b.String()
}

func TestMemoryGoldens(t *testing.T) {
	golden.Equal(t, "norms.txt", memoryTable(t, fusedNorms()))
	var b bytes.Buffer
	require.NoError(t, table.Markdown(&b, results.MemoryResults(fusedNorms())))
	golden.Equal(t, "norms.md", b.String())
}

// A terminal's table keeps to 100 columns; with --verbose it has them all.
func TestMemoryTablesOnATerminal(t *testing.T) {
	for _, rec := range []*record.Record{fusedNorms(), streamsAndSweep()} {
		text := func(verbose bool) string {
			var b bytes.Buffer
			f, _ := FormatOf("table")
			require.NoError(t, f.Write(&b, results.Kernels(rec, ""), Screen{Width: 100, Verbose: verbose}))
			return b.String()
		}
		for line := range strings.Lines(text(false)) {
			require.LessOrEqual(t, displaywidth.String(strings.TrimSpace(line)), 100, line)
		}
		require.NotContains(t, text(false), "[95 %]")
		require.Contains(t, text(true), "[95 %]")
	}
}

// Ratios stand with the numerics beside each speed; where nothing was timed
// there are none, and the page says so.
func TestNormPage(t *testing.T) {
	page := memoryPage(t, fusedNorms())
	require.Contains(t, page, "2.40 ×, 95 % of copy, ok, 0.5 ulp")
	require.Contains(t, page, "bf16 32768 × 4096")
	require.NotContains(t, page, "BabelStream(HIP)", "what others published is of streams")
	rec := fusedNorms()
	rec.World.Devices[0].Kind = record.Checked
	for i := range rec.Kernels {
		r := &rec.Kernels[i]
		r.Timing, r.Metrics = nil, record.Metrics{}
	}
	checked := memoryPage(t, rec)
	require.Contains(t, checked, "NOT TIMED")
	require.NotContains(t, checked, "h-ratios")
	require.NotContains(t, checked, "h-bars")
	require.NotContains(t, checked, "GB/s of the median")
}

// Bars against the peak and what others published, with its source; the levels
// of cache with the text that says which sizes are resident.
func TestStreamPage(t *testing.T) {
	page := memoryPage(t, streamsAndSweep())
	for _, want := range []string{"triad float64 reference", "Levels of cache", "BabelStream(HIP) on MI300X", "Azure AI benchmarking guide", "last level of cache is 256 MiB", "data sheet, 2023"} {
		require.Contains(t, page, want)
	}
	require.NotContains(t, page, "h-ratios")
}

// levels is the chart by size of a record.
func levels(rec *record.Record) document.Chart {
	return chartsOf(results.Kernels(rec, ""))[0]
}

// A size at which launches take half the time is neither drawn nor called a cache's.
func TestLaunchBoundSizesAreNoCache(t *testing.T) {
	rec := streamsAndSweep()
	points := func() int {
		n := 0
		for _, s := range levels(rec).Series {
			n += len(s.Points)
		}
		return n
	}
	all := points()
	require.NotContains(t, strings.Join(levels(rec).Notes, " "), "not shown")
	launch, few := 2e-6, 0
	for i := range rec.Kernels {
		if r := &rec.Kernels[i]; r.Role == record.SizeSweep {
			r.Timing.Launch = &launch
			if r.Timing.Seconds.Median < 4e-6 {
				few++
			}
		}
	}
	require.Positive(t, few)
	require.Equal(t, all-few, points())
	require.Contains(t, strings.Join(levels(rec).Notes, " "), fmt.Sprintf("%d points not shown: a launch alone takes half the time", few))
	table := memoryTable(t, rec)
	require.Equal(t, few, strings.Count(table, "launch-bound"))
	require.Contains(t, table, "cache-resident")
}

// Without a peak no line is drawn, and none is explained; one that was given is
// said to be known.
func TestPeakIsSaidWhereItIs(t *testing.T) {
	rec := streamsAndSweep()
	rec.World.Devices[0].Kind, rec.World.Devices[0].Name = record.HostMemory, "a CPU"
	for _, peak := range []*float64{nil, rec.World.Devices[0].PeakBandwidth} {
		rec.World.Devices[0].PeakBandwidth, rec.World.Devices[0].PeakSource = peak, "given with --peak"
		page, table := memoryPage(t, rec), memoryTable(t, rec)
		require.Equal(t, peak != nil, strings.Contains(page, "Lines across the bars: without a letter the peak"))
		require.Equal(t, peak == nil, strings.Contains(table, "its peak is not known"))
		require.Equal(t, peak != nil, strings.Contains(table, "(given with --peak)"))
		require.NotContains(t, page, "published peak")
	}
}

// Records at the edges: nothing, nothing finished, text that is markup, and
// wrong data, whose page says it first.
func TestMemoryEdges(t *testing.T) {
	empty := memoryOf("hbm")
	empty.World.Devices = nil
	require.Contains(t, memoryPage(t, empty), "Memory bandwidth")
	require.Contains(t, memoryTable(t, empty), "Memory bandwidth")

	wild := memoryOf("hbm", timedResult("copy", "float32", record.Preset, 1<<20, 1e-3, 1))
	wild.World.Devices[0].Name = "<script>alert(1)</script>|\n"
	wild.Kernels[0].Status, wild.Kernels[0].Reason = record.WrongData, "1 of 2 <b>elements</b>"
	wild.Kernels[0].Verified = record.Verified{State: record.VerifiedWrong, Elements: 2, Wrong: new(int64(1))}
	page := memoryPage(t, wild)
	require.NotContains(t, page, "<script>alert")
	require.NotContains(t, page, "<b>elements")
	require.Less(t, strings.Index(page, "WRONG DATA"), strings.Index(page, "<main "))
	require.Contains(t, memoryTable(t, wild), "WRONG: 1")

	cut := memoryOf("hbm", record.Kernel{Case: record.Case{Key: "k", Status: record.Interrupted, Reason: "the run ended before it", Verified: record.Verified{State: record.NotVerified}}, Kernel: "copy"})
	require.Contains(t, memoryPage(t, cut), "interrupted")
	require.NotContains(t, memoryPage(t, cut), "h-bars")
}
