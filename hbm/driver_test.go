package hbm

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/stat"
	"zbench/bench/run/plan"
	"zbench/bench/run/record"
	"zbench/internal/native"
)

// testHost is what the tests run on, whatever runs them.
var testHost = HostFacts{Name: "test", CPUs: 2, Memory: 4 << 30}

func open(t testing.TB, array int64, faults ...string) *Driver {
	t.Helper()
	d, err := Open(Config{
		Native: native.Choice{Backend: "loopback", Machine: HostMachine(true, faults, testHost), Getenv: func(string) string { return "" }},
		Host:   true, HostFacts: testHost, Seed: 7,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	require.NoError(t, d.Allocate(array))
	return d
}

// measured is the first device's row of a case after its passes, with so many samples.
func measured(t testing.TB, d *Driver, c kernelCase, samples int) record.Kernel {
	t.Helper()
	job, taken := d.Job(c, stat.Fixed(samples)), plan.NewTaken(nil)
	require.NoError(t, taken.Run(context.Background(), []plan.Job{job}, nil, func(int) {}))
	row := d.Planned(c)[0]
	require.Equal(t, row.Key, job.Keys[0])
	for _, p := range taken.Parts[row.Key] {
		require.NotEqual(t, record.Failed, p.Status, "%s: %s", row.Key, p.Reason)
	}
	return record.AssembleKernel(row, taken.Parts[row.Key], nil)
}

// Every stream, both types, ordinary and non-temporal, sizes that no tile
// divides: measured on the host's clock and right to the last element.
func TestStreamsOnTheHost(t *testing.T) {
	d := open(t, 1<<20)
	d.batch = 1e-5 // how long it is measured does not matter here
	for _, s := range streams {
		for _, ty := range types {
			for _, nt := range []bool{false, true} {
				for _, array := range []int64{8, 504, 520, 32776, 1 << 20} {
					c := Case{Stream: s, Type: ty, Config: record.LaunchConfig{NonTemporal: nt}, Role: record.Preset, Array: array}
					k := measured(t, d, c, 6)
					require.Equal(t, record.OK, k.Status, "%s %s", c.Key(), k.Reason)
					require.Equal(t, array/ty.Bytes, k.Verified.Elements)
					require.Positive(t, *k.Metrics.Rate)
					require.Equal(t, 6, k.Timing.Seconds.N)
					require.NotNil(t, k.Timing.Seconds.NEff)
				}
			}
		}
	}
}
