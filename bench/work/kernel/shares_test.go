package kernel

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/run/record"
)

// What units do at a clock follows from the peak's operations a clock, a power of two, whatever clock
// the peak was published for: 2,048 of MI300X's at 2.1 GHz, 4,096 of H100's at 1.83 of 1.98 GHz.
func TestSharesOfThePeak(t *testing.T) {
	for name, x := range map[string]struct {
		device record.Device
		says   string
	}{
		"AMD Instinct MI300X":   {record.Device{Units: 304, Clock: 2.1e9}, ", 45.9 % of the published 1307 TFLOP/s (80.3 % of what its units do at 1.20 GHz)"},
		"NVIDIA H100 80GB HBM3": {record.Device{Units: 132, Clock: 1.98e9}, ", 60.6 % of the published 989 TFLOP/s (92.5 % of what its units do at 1.20 GHz)"},
	} {
		d := x.device
		d.Name, d.Kind = name, record.GPU
		rec := &record.Record{World: record.World{Devices: []record.Device{d}}}
		k := &record.Kernel{Dtype: "bfloat16", Metrics: record.Metrics{Executed: new(6e14)}, Timing: &record.KernelTiming{Conditions: []record.Conditions{{Clock: 1.2e9}}}}
		require.Contains(t, Shares(rec, k), x.says, name)
		rec.World.Devices[0].Kind = record.OnLoopback
		require.Empty(t, Shares(rec, k))
	}
}
