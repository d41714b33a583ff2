package compare

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/stat"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
)

// memory is a run of hbm whose copy takes so many times as long.
func memory(run int, kind string, times float64) Run {
	rec := &record.Record{
		Schema: record.Schema, Source: record.Source{Kind: record.Measured}, World: record.World{Devices: []record.Device{{Name: "AMD Instinct MI300X", Kind: kind}}},
		Spec: &spec.Spec{Benchmark: spec.HBM, Kernels: &spec.Kernels{Size: 1 << 30}},
	}
	for i, name := range []string{"read", "write", "copy", "triad", "dot"} {
		seconds := 1e-3 * float64(i+1) * (1 + 0.002*float64((run*7+i*3)%5-2))
		if name == "copy" {
			seconds *= times
		}
		rec.Kernels = append(rec.Kernels, record.Kernel{
			Case: record.Case{Key: name + "@0", Status: record.OK}, Kernel: name, Dtype: "float64", Role: record.Preset, Moved: 2 << 30, Shape: record.Shape{Array: 1 << 30},
			Timing: &record.KernelTiming{Seconds: stat.Summarize([]float64{seconds})},
		})
	}
	return Run{fmt.Sprint("run ", run), rec}
}

// Records of kernels are compared as those of collectives are; a host's memory is not
// compared with a GPU's.
func TestKernels(t *testing.T) {
	side := func(from int, kind string, times float64) (out []Run) {
		for i := range 4 {
			out = append(out, memory(from+i, kind, times))
		}
		return out
	}
	d := compared(t, side(0, record.GPU, 1), side(6, record.GPU, 1.1))
	require.Equal(t, Counts{Slower: 1, Same: 4}, d.Counts)
	require.Equal(t, spec.HBM, d.Benchmark)
	c := d.Cases[2]
	require.Equal(t, "copy float64 preset 1 GiB", c.Group)
	require.Equal(t, "kernel", c.Timing)
	require.InEpsilon(t, 1.1, *c.Base.Rate / *c.New.Rate, 0.01)
	_, err := Compare(side(0, record.GPU, 1), side(6, record.HostMemory, 1), Defaults())
	require.ErrorContains(t, err, "differ in what was measured")
}
