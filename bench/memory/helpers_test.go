package memory

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zbench/bench/record"
	"zbench/bench/stat"
)

// timed is a result whose launches take so many seconds.
func timed(key, role string, device int, moved int64, seconds float64) Result {
	r := Result{
		Key: key, Device: device, Kernel: "rmsnorm", Dtype: "bfloat16", Role: role, Rows: 4, Hidden: 64, Moved: moved, Counting: "all",
		WorkingSet: moved, Status: record.OK, Verified: Verified{State: record.VerifiedOK, Elements: 256, ULP: new(0.5)}, Warnings: []record.Warning{},
		Timing: &Timing{Launches: 3, Seconds: stat.Summarize([]float64{seconds, seconds, seconds, seconds, seconds, seconds, seconds, seconds}), Stop: "precision"},
	}
	r.SetRates(new(8e12))
	return r
}

// full is a record in which every field has a value.
func full() *Record {
	var times []float64
	for i := range 40 {
		times = append(times, 1e-3+1e-5*float64(i*7%40))
	}
	warning := record.Warning{Code: "a", Message: "b", Hint: "c"}
	r := Result{
		Key: "k", Device: 1, Kernel: "copy", Dtype: "float32", Role: Preset,
		Config: Config{Block: 256, Loads: 4, NonTemporal: true, Grid: "exact", Blocks: 7, CPUs: 2},
		Array:  4096, Rows: 2, Hidden: 3, Moved: 8192, Counting: "all", WorkingSet: 8192, CacheResident: true,
		Status: record.WrongData, Reason: "1 of 1024", Warnings: []record.Warning{warning},
		Verified: Verified{State: record.VerifiedWrong, Elements: 1024, Wrong: 1, First: &Wrong{5, "1", "2"}, ULP: new(3.0), Reason: "r"},
		Timing:   &Timing{Launches: 4, Seconds: stat.Summarize(times), Stop: "precision"},
	}
	r.SetRates(new(5.3e12))
	return &Record{
		Schema: Schema, Tool: record.Tool{Name: "zbench", Version: "1"}, Command: "hbm", Created: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Source:   record.Source{Kind: record.Measured, Backend: "rocm", Clock: "monotonic", Driver: "d", Libraries: []record.Library{{Name: "l", Version: "1", Path: "p"}}},
		Devices:  []Device{{Index: 1, Name: "MI300X", Kind: GPU, Units: 304, Memory: 1 << 37, Cache: 1 << 28, Peak: new(5.3e12), PeakSource: "s, 2023"}},
		Asked:    Asked{Sizes: []int64{4096}, Kernels: []string{"copy"}, Dtypes: []string{"float32"}, Data: "random", Precision: 0.01, MaxTime: 1, Seed: 7, Faults: []string{"store 0 1"}},
		Results:  []Result{r, {Key: "p", Device: 1, Kernel: "copy", Dtype: "float32", Role: Sweep, Status: record.Interrupted, Reason: "r", Verified: Verified{State: record.NotVerified}, Warnings: []record.Warning{}}},
		Warnings: []record.Warning{warning},
	}
}

func encoded(t testing.TB, rec *Record) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, Encode(&b, rec))
	return b.String()
}

// journal is the record as a run leaves it that was killed after the first
// results: the header with what is planned, then a line each.
func journal(t testing.TB, rec *Record, results ...Result) []byte {
	t.Helper()
	text, err := HeaderLine(rec)
	require.NoError(t, err)
	for i := range results {
		line, err := results[i].Line()
		require.NoError(t, err)
		text = append(text, line...)
	}
	return text
}
