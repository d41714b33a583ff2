package hbm

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"zbench/bench/base/option"
	"zbench/bench/base/spell"
	"zbench/bench/base/stat"
	units "zbench/bench/base/unit"
	"zbench/bench/engine"
	"zbench/bench/run/spec"
	"zbench/bench/work/kernel"
)

// Limits of a request. MinArray is the smallest array of a stream in bytes, one vector; MaxRows is
// the largest number of rows of a fused kernel's matrix.
const (
	MinArray = 16
	MaxRows  = 1 << 30
)

// DataKinds are the possible contents of the streams' arrays.
var DataKinds = []string{"random", "zeros"}

// ErrRequest is wrapped by the error for a request that exceeds the device's memory.
var ErrRequest = errors.New("too large for the device")

// streamFamily describes hbm in the table of families.
var streamFamily = kernel.Register(kernel.Family{
	Name: spec.HBM, MaxTime: "1",
	Short: "Memory bandwidth of a GPU; without one, of this host's memory",
	Long: `Measures ` + strings.Join(StreamNames(), ", ") + ` over arrays that no cache
holds, each in a fixed configuration that compares with BabelStream and in
zbench's own, checks every element on the device, and leaves one folder:
results.json, results.csv, report.html, journal.jsonl and run.json. Each case
has two passes, each written to disk at once: --resume DIR continues an
interrupted run.

Bandwidths count every array of a kernel once, as STREAM does. Without a GPU
the host's memory is measured, on all CPUs and the wall clock: a real figure,
labelled host memory.`,
	Example: `  zbench hbm
  zbench hbm --kernels copy,triad --dtype float64 --size 1G
  zbench hbm --sweep --tune --all-gpus`,
	Most:         []string{"kernels", "size", "dtype", "device", "all-gpus", "sweep", "tune", "out", "format"},
	MostSearched: []string{"resume", "kernels", "dtype", "device", "max-time", "out", "format"},
	Settings:     streamSettings, Check: checkStreams,
})

var streamSettings = []kernel.Setting{
	{
		Name: "size", Unit: "bytes", Meaning: "size of one array (default 4 times the last level of cache; on a GPU 16 times, at least 1 GiB)",
		Value: option.Of(func(k *spec.Kernels) *int64 { return &k.Size }, func(v string) (int64, error) {
			size, err := units.ParseBytes(v)
			if err == nil && size < MinArray {
				err = fmt.Errorf("--size is %s: an array has at least %d B", v, MinArray)
			}
			return size, err
		}, option.Decimal),
	},
	{Name: "sweep", Meaning: "also run every size from 256 KiB up: shows the levels of cache, and marks launch-bound sizes", Value: option.Switch(func(k *spec.Kernels) *bool { return &k.Sweep })},
	{Name: "tune", Meaning: "try up to 16 configurations of each kernel and measure the best", Value: option.Switch(func(k *spec.Kernels) *bool { return &k.Tune })},
	{
		Name: "kernels", Unit: "names", Meaning: "streams to run: " + strings.Join(StreamNames(), ", ") + " (default all)",
		Value: kernel.Names(func(k *spec.Kernels) *[]string { return &k.Streams }, func(name string) (string, error) {
			st, ok := StreamByName(name)
			if !ok {
				return "", &spell.Unknown{Kind: "kernel", Given: name, Valid: StreamNames()}
			}
			return st.Name, nil
		}),
	},
	dtypeSetting(TypeNames(), TypeNames(), TypeByName),
	{
		Name: "data", Unit: "name", Default: DataKinds[0], Meaning: "data in the arrays: " + strings.Join(DataKinds, ", ") + "; zeros let some GPUs clock higher",
		Value: option.Read(func(k *spec.Kernels) *string { return &k.Data }, func(v string) (string, error) {
			if !slices.Contains(DataKinds, v) {
				return "", &spell.Unknown{Kind: "--data", Given: v, Valid: DataKinds}
			}
			return v, nil
		}),
	},
}

func checkStreams(k *spec.Kernels) error {
	switch {
	case k.Data != "" && !slices.Contains(DataKinds, k.Data):
		return &spell.Unknown{Kind: "data", Given: k.Data, Valid: DataKinds}
	case k.Size != 0 && k.Size < MinArray:
		return fmt.Errorf("size is %d: an array has at least %d B", k.Size, MinArray)
	}
	if err := known(k.Dtypes, "dtype", TypeNames(), TypeByName); err != nil {
		return err
	}
	if len(k.Streams) == 0 {
		return nil // all kernels
	}
	return known(k.Streams, "stream", StreamNames(), StreamByName)
}

// known() replaces names by their standard spelling. It requires at least one name.
func known[T interface{ String() string }](names []string, kind string, valid []string, byName func(string) (T, bool)) error {
	if len(names) == 0 {
		return fmt.Errorf("%ss is empty: valid are %s", kind, strings.Join(valid, ", "))
	}
	for i, given := range names {
		own, ok := byName(given)
		if !ok {
			return &spell.Unknown{Kind: kind, Given: given, Valid: valid}
		}
		names[i] = own.String()
	}
	return nil
}

func (d *Driver) add(p *engine.Kernels, c kernelCase, rule stat.Rule) {
	p.Rows, p.Jobs = append(p.Rows, d.Planned(c)...), append(p.Jobs, d.Job(c, rule))
}
