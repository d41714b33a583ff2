package record

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/stat"
	"zbench/bench/run/spec"
)

// aKernel is a planned row of a norm.
func aKernel(of, role string, device int, moved int64) Kernel {
	return Kernel{
		Case: Case{Key: KernelKey(of, device), Status: Interrupted, Reason: "not run", Verified: Verified{State: NotVerified}, Warnings: []Warning{}}, Device: device, Kernel: "rmsnorm", Dtype: "bfloat16", Role: role, Shape: Shape{Rows: 4, Cols: 64}, Moved: moved,
		Counting: "all", WorkingSet: moved,
	}
}

// kernelPart is a pass of a row whose launches take about so many seconds.
func kernelPart(key string, pass int, seconds float64) Part {
	p := Part{Key: key, Pass: pass, Status: OK, Kernel: &KernelSamples{Launches: 4 - pass, Stop: stat.StopPrecision}}
	for i := range 20 {
		p.Kernel.Seconds = append(p.Kernel.Seconds, seconds*(1+float64(i*7%20)/4000))
	}
	if pass == 0 {
		p.Verified = &Verified{State: VerifiedOK, Wrong: new(int64), Elements: 256, ULP: new(0.5)}
	}
	return p
}

// timedKernel is a row with both passes.
func timedKernel(of, role string, device int, moved int64, seconds float64) Kernel {
	k := aKernel(of, role, device, moved)
	return AssembleKernel(k, []Part{kernelPart(k.Key, 0, seconds), kernelPart(k.Key, 1, seconds)}, new(8e12))
}

// plannedKernels is a record whose rows have not been run.
func plannedKernels(rows ...Kernel) Record {
	return Record{
		Schema: Schema, Run: strings.Repeat("5a", 16), Tool: Tool{"zbench", "1"}, Created: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Source: Source{Kind: Measured, Backend: "rocm", Clock: "monotonic", Vendor: "librocblas.so"},
		World:  World{Devices: []Device{{Index: 1, Name: "MI300X", Kind: GPU, Units: 304, Bytes: 1 << 37, Cache: 1 << 28, PeakBandwidth: new(5.3e12), PeakSource: "s, 2023"}}},
		Spec: &spec.Spec{Schema: spec.Schema, Benchmark: spec.HBM, Backend: "rocm", Seed: 7, Faults: []string{"store 0 1"}, Kernels: &spec.Kernels{
			Only:   []string{"k"},
			Device: 1, AllGPUs: true, Precision: 0.01, MaxTime: 1, Peak: 1e12, Size: 4096, Sweep: true, Tune: true,
			Streams: []string{"copy"}, Dtypes: []string{"float32"}, Data: "random", Rows: 3, Hidden: []int{64}, Preset: "zaya1", Shapes: []string{"3x4"}, Coefficients: "you", Reduce: 9,
		}},
		Results: []Result{}, Kernels: rows, Warnings: []Warning{},
	}
}

// kernels is a record of kernels in which every field has a value.
func kernels() *Record {
	k := aKernel("k", Sequence, 1, 8192)
	k.Library, k.Shape = "librocblas.so", Shape{Name: "q", Array: 4096, Rows: 2, Cols: 3, Batch: 8, Measured: 4}
	k.Config = LaunchConfig{Block: 256, Loads: 4, NonTemporal: true, Grid: "exact", Blocks: 7, CPUs: 2}
	k.CacheResident, k.Effective, k.Executed = true, 1e9, 2e9
	k.Warnings = []Warning{{Code: "a", Message: "b", Hint: "c"}}
	parts := []Part{kernelPart(k.Key, 0, 1e-3), kernelPart(k.Key, 1, 1e-3)}
	parts[0].Kernel.Launch = new(1e-6)
	for _, i := range []int{0, 1} {
		parts[i].Kernel.Seconds = append(parts[i].Kernel.Seconds, make([]float64, 40)...)
		for j := 20; j < 60; j++ {
			parts[i].Kernel.Seconds[j] = 1e-3 * (1 + float64(j*11%40)/8000)
		}
	}
	k = AssembleKernel(k, parts, new(5.3e12))
	k.Status, k.Reason = WrongData, "1 of 1024"
	k.Verified = Verified{
		State: VerifiedWrong, Wrong: new(int64(1)), Launches: 1, Reason: "r", Elements: 1024, First: &WrongElement{5, "1", "2"}, ULP: new(3.0),
		Checks: []Check{{Shape: "2x3", What: "update", Found: Deviation{0.04, 0.1}, Bar: Deviation{0.03, 0.02}, Pattern: PatternTiles, Note: "step 1"}},
	}
	m := &k.Metrics
	m.ToUnfused, m.OfCopy, m.ToFull, m.ToVendor = new(2.5), new(0.9), new(1.5), new(1.1)
	rec := plannedKernels(k, aKernel("planned", Preset, 1, 64), timedKernel("fine", Preset, 1, 64, 1e-3))
	rec.SequenceSeconds = new(2e-3)
	return &rec
}

func kernelJournal(t testing.TB, rec Record, parts ...Part) []byte {
	return journalOf(t, Header{Schema: JournalSchema, Record: rec}, parts...)
}

func TestKernelsReadBack(t *testing.T) {
	rec, err := Decode(strings.NewReader(encoded(t, kernels())))
	require.NoError(t, err)
	require.Equal(t, kernels(), rec)
}

// Both passes are in a row's figures, the least of their launches, and a drift shows.
func TestKernelOfTwoPasses(t *testing.T) {
	k := aKernel("k", Preset, 0, 1<<20)
	first, second := kernelPart(k.Key, 0, 1e-3), kernelPart(k.Key, 1, 1e-3)
	got := AssembleKernel(k, []Part{first, second}, new(1e9))
	require.Equal(t, OK, got.Status)
	require.Equal(t, 40, got.Timing.Seconds.N)
	require.NotNil(t, got.Timing.Seconds.Lo)
	require.NotNil(t, got.Timing.Seconds.NEff)
	require.Equal(t, 3, got.Timing.Launches)
	require.Equal(t, stat.StopPrecision, got.Timing.Stop)
	require.InEpsilon(t, float64(1<<20)/got.Timing.Seconds.Median, *got.Metrics.Rate, 1e-12)
	require.InEpsilon(t, *got.Metrics.Rate/1e9, *got.Metrics.OfPeak, 1e-12)
	require.Nil(t, got.Metrics.Effective, "no operations are counted")
	require.Empty(t, got.Warnings)

	got = AssembleKernel(k, []Part{first, kernelPart(k.Key, 1, 1.1e-3)}, nil)
	require.Nil(t, got.Metrics.OfPeak)
	require.Equal(t, "drift", got.Warnings[0].Code)

	got = AssembleKernel(k, []Part{first}, nil)
	require.Equal(t, Interrupted, got.Status)
	require.Equal(t, "stopped after 1 of 2 passes", got.Reason)
	require.Equal(t, 20, got.Timing.Seconds.N)
	got.cutShort([]Part{first}, "b@0")
	require.Equal(t, OK, got.Status)
	require.Equal(t, OnePass, got.Warnings[0].Code)
	k.cutShort(nil, "b@0")
	require.Equal(t, Skipped, k.Status)
	k.Status, k.Reason = Interrupted, ""

	checked := AssembleKernel(k, []Part{{Key: k.Key, Status: OK, Verified: first.Verified}}, nil)
	require.Equal(t, OK, checked.Status, "its kernel is emulated")
	require.Nil(t, checked.Timing)
}

// A ratio is of the same device, kernel, type and shape, in times for the work kernel
// by kernel and in rates for the copy; without a time there is none.
func TestKernelRatios(t *testing.T) {
	other := timedKernel("o", Unfused, 1, 1<<20, 9e-3)
	shape := timedKernel("s", Copy, 0, 1<<20, 9e-3)
	shape.Shape.Cols = 128
	product := func(role string, seconds float64) Kernel {
		k := timedKernel(role, role, 0, 1<<20, seconds)
		k.Kernel = "X·Xᵀ"
		return k
	}
	rec := &Record{Kernels: []Kernel{
		other, shape,
		timedKernel("f", Fused, 0, 1<<20, 2e-3), timedKernel("u", Unfused, 0, 1<<21, 5e-3), timedKernel("c", Copy, 0, 1<<19, 0.8e-3),
		timedKernel("g", Fused, 1, 1<<20, 3e-3), aKernel("n", Fused, 2, 1<<20),
		product(Own, 1e-3), product(Full, 2e-3), product(Vendor, 1.5e-3), product(Sequence, 3e-3),
	}}
	rec.conclude()
	f, g, n := rec.Kernels[2].Metrics, rec.Kernels[5].Metrics, rec.Kernels[6].Metrics
	require.InDelta(t, 2.5, *f.ToUnfused, 1e-12)
	require.InDelta(t, (1<<20/2e-3)/(1<<19/0.8e-3), *f.OfCopy, 1e-12)
	require.InDelta(t, 3, *g.ToUnfused, 1e-12)
	require.Nil(t, g.OfCopy)
	require.Equal(t, Metrics{}, n)
	require.Nil(t, rec.Kernels[3].Metrics.ToUnfused)
	require.InDelta(t, 2, *rec.Kernels[7].Metrics.ToFull, 1e-12)
	require.InDelta(t, 1.5, *rec.Kernels[7].Metrics.ToVendor, 1e-12)
	require.InDelta(t, 0.75, *rec.Kernels[8].Metrics.ToVendor, 1e-12)
	require.Nil(t, rec.Kernels[8].Metrics.ToFull)
	require.InDelta(t, 0.5, *rec.Kernels[10].Metrics.ToVendor, 1e-12)
	rec.Kernels[9].Status, rec.Kernels[10].Metrics = WrongData, Metrics{}
	rec.conclude()
	require.Nil(t, rec.Kernels[10].Metrics.ToVendor, "what is wrong is no measure")
}

// The seconds of all sequences count whole batches, and are there when all are timed.
func TestSequenceSeconds(t *testing.T) {
	a, b := timedKernel("a", Sequence, 0, 1, 1e-3), timedKernel("b", Sequence, 0, 1, 2e-3)
	a.Shape = Shape{Batch: 40, Measured: 10}
	rec := &Record{Kernels: []Kernel{a, b}}
	rec.conclude()
	require.InEpsilon(t, 4*a.Timing.Seconds.Median+b.Timing.Seconds.Median, *rec.SequenceSeconds, 1e-12)
	rec.Kernels = append(rec.Kernels, aKernel("c", Sequence, 0, 1))
	rec.conclude()
	require.Nil(t, rec.SequenceSeconds)
}

// A journal alone is a record: what had ended is there, what had not is interrupted, a
// line that was cut off counts for nothing, and what the run would have found at its
// end is found.
func TestKernelJournalAlone(t *testing.T) {
	var rows []Kernel
	var done []Part
	for device := range 4 {
		seconds := 1e-3
		if device == 2 {
			seconds = 1.1e-3
		}
		a := aKernel("a", Fused, device, 1<<20)
		rows = append(rows, a, aKernel("b", Fused, device, 1<<20))
		done = append(done, kernelPart(a.Key, 0, seconds), kernelPart(a.Key, 1, seconds))
	}
	text := kernelJournal(t, plannedKernels(rows...), done...)
	best := aKernel("best", Best, 0, 1<<20)
	more, err := AddedRound{Reason: Tuned, Kernels: []Kernel{best}}.Line(kernels().Run)
	require.NoError(t, err)
	line, err := kernelPart(best.Key, 0, 1).Line(kernels().Run)
	require.NoError(t, err)
	text = append(append(append(text, more...), line...), line[:len(line)-1]...)
	j, err := ReadJournal(text)
	require.NoError(t, err)
	require.Equal(t, 5, j.Left())
	rec := j.Record()
	require.Len(t, rec.Kernels, 9)
	for i, k := range rec.Kernels[:8] {
		want := []Status{OK, Interrupted}[i%2]
		require.Equal(t, want, k.Status, k.Key)
	}
	require.Equal(t, best.Key, rec.Kernels[8].Key)
	require.Len(t, rec.Warnings, 2)
	require.Contains(t, rec.Warnings[0].Message, "GPU 2 gives")
	require.Contains(t, rec.Warnings[0].Message, "in a, ")
	require.Equal(t, "truncated", rec.Warnings[1].Code)

	again, err := Decode(strings.NewReader(encoded(t, rec)))
	require.NoError(t, err)
	require.Equal(t, rec, again)
	var csv bytes.Buffer
	require.NoError(t, writeCSV(&csv, rec))
	require.Equal(t, 10, strings.Count(csv.String(), "\n"))
	require.Contains(t, csv.String(), ",a@2,")
}

func TestDecodeRefusesKernels(t *testing.T) {
	good := encoded(t, kernels())
	for name, one := range map[string][3]string{
		"negative size":  {`"array": 4096`, `"array": -1`, "kernels[0] (k@1): a negative size"},
		"no matrix":      {`"rows": 2`, `"rows": 0`, "invalid batch of matrices: 4 of 8, 0 x 3"},
		"no status":      {`"status": "wrong_data"`, `"status": ""`, `status ""`},
		"no times":       {`"seconds": {`, `"seconds": null, "x": {`, "a timing without times"},
		"no timing":      {`"timing": {`, `"timing": null, "x": {`, "metrics without a timing"},
		"a rate of 0":    {`"rate": `, `"rate": 0, "x": `, "rate of 0"},
		"negative ratio": {`"times_vendor": 1.1`, `"times_vendor": -1`, "times_vendor of -1"},
		"takes no time":  {`"median": `, `"median": -`, "invalid summary of times"},
		"no launches":    {`"launches": 3`, `"launches": 0`, "batches of 0 launches"},
		"asked for none": {`"kernels": {`, `"other": {`, "without a spec of kernels"},
		"a simulation":   {`"kind": "measured"`, `"kind": "emulated"`, `"simulated" is false`},
	} {
		bad := strings.Replace(good, one[0], one[1], 1)
		require.NotEqual(t, good, bad, name)
		_, err := Decode(strings.NewReader(bad))
		require.ErrorContains(t, err, one[2], name)
	}
}

// What no run of kernels leaves is refused, and the line named.
func TestKernelPartsAreChecked(t *testing.T) {
	row := aKernel("a", Fused, 0, 1<<20)
	rec := plannedKernels(row)
	for want, change := range map[string]func(*Part){
		"samples of collectives":   func(p *Part) { p.Burst = &BurstSamples{} },
		"samples: false":           func(p *Part) { p.Kernel = nil },
		"without times":            func(p *Part) { p.Kernel.Seconds = nil },
		"batches of 0":             func(p *Part) { p.Kernel.Launches = 0 },
		"sample 0 is -1 s":         func(p *Part) { p.Kernel.Seconds[0] = -1 },
		"a launch of -1 s":         func(p *Part) { p.Kernel.Launch = new(-1.0) },
		"but no element is wrong":  func(p *Part) { p.Status, p.Reason = WrongData, "r" },
		"the case \"b@0\" is not":  func(p *Part) { p.Key = "b@0" },
		"pass 1 instead of pass 0": func(p *Part) { p.Pass = 1 },
	} {
		p := kernelPart(row.Key, 0, 1e-3)
		change(&p)
		_, err := ReadJournal(kernelJournal(t, rec, p))
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "line 2")
	}
	emulated := rec
	emulated.World.Devices = []Device{{Kind: Checked}}
	emulated.Source.Kind, emulated.Simulated = Emulated, true
	_, err := ReadJournal(kernelJournal(t, emulated, kernelPart(row.Key, 0, 1e-3)))
	require.ErrorContains(t, err, "samples: true, but kernels that are only checked: true")
	checked := kernelPart(row.Key, 0, 1e-3)
	checked.Kernel = nil
	j, err := ReadJournal(kernelJournal(t, emulated, checked))
	require.NoError(t, err)
	require.Zero(t, j.Left())

	had := rec
	had.Kernels = []Kernel{timedKernel("a", Fused, 0, 1, 1)}
	_, err = ReadJournal(kernelJournal(t, had))
	require.ErrorContains(t, err, "already has a result")
	had.Kernels = []Kernel{row, row}
	_, err = ReadJournal(kernelJournal(t, had))
	require.ErrorContains(t, err, "is planned twice")
}

// Every bit of a journal of kernels that is turned is noticed: the line is named, or
// the last one counts as truncated, which a warning says.
func TestEveryBitOfAKernelJournal(t *testing.T) {
	rec := plannedKernels(aKernel("a", Fused, 0, 1<<20))
	good := kernelJournal(t, rec, kernelPart("a@0", 0, 1e-3))
	for bit := range 8 * len(good) {
		bad := bytes.Clone(good)
		bad[bit/8] ^= 1 << (bit % 8)
		got, err := ReadJournal(bad)
		if err != nil {
			continue
		}
		require.Equal(t, len(good)-1, bit/8, "a bit of %q", bad[max(0, bit/8-20):bit/8+1])
		require.Positive(t, got.Truncated)
		require.Empty(t, got.Parts)
	}
}
