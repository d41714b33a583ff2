package hbm

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/run/record"
	"zbench/internal/native"
)

// A planted clock of 1.2 GHz is the row's, 2.1 GHz without; the host's memory has none.
func TestClockBesideStreams(t *testing.T) {
	s, _ := StreamByName("copy")
	for fault, want := range map[string]float64{"": 2.1e9, "fault clock 0 1.2e9 0\n": 1.2e9} {
		d, err := Open(Config{Native: native.Choice{
			Backend: "loopback", Machine: []byte("zbench-machine 1\nclock virtual\nranks 1\ngpus_per_process 1\nhbm_bytes 1073741824\nhbm_rate 4e12\ngpu simulated MI300X\n" + fault),
		}, Seed: 7})
		require.NoError(t, err)
		require.NoError(t, d.Allocate(1<<20))
		d.batch = 1e-5
		k := measured(t, d, NewCase("loopback", s, types[0], record.Preset, 1<<20, false), 6)
		hz, _ := k.Timing.Clock()
		require.InEpsilon(t, want, hz, 1e-3)
		require.Len(t, k.Timing.Conditions, 2, "of both passes")
		require.InEpsilon(t, 2.1e9, d.Devices()[0].Clock, 1e-9)
		require.NoError(t, d.Close())
	}
	d := open(t, 1<<20)
	d.cfg.Sense = func(pci string) record.Conditions {
		return map[string]record.Conditions{"0000:c5:00.0": {Power: 745, PowerLimit: 750, Temperature: 95}}[pci]
	}
	k := measured(t, d, NewCase("loopback", s, types[0], record.Preset, 1<<20, false), 6)
	require.Empty(t, k.Timing.Conditions)
	d.units[0].info.PCI = "0000:c5:00.0"
	k = measured(t, d, NewCase("loopback", s, types[0], record.Preset, 1<<20, false), 6)
	require.Equal(t, record.Conditions{Power: 745, PowerLimit: 750, Temperature: 95}, k.Timing.Most())
	require.Equal(t, "745 W, 95 °C", k.Timing.ConditionsText())
}
