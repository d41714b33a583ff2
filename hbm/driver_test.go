package hbm

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/memory"
	"zbench/bench/record"
	"zbench/bench/stat"
	"zbench/internal/native"
)

// testHost is what the tests run on, whatever runs them.
var testHost = HostFacts{Name: "test", CPUs: 2, Memory: 4 << 30}

func open(t testing.TB, array int64, faults ...string) *Driver {
	t.Helper()
	d, err := Open(Config{
		Native: native.Options{Backend: "loopback", Machine: HostMachine(true, faults, testHost), Getenv: func(string) string { return "" }},
		Host:   true, HostFacts: testHost, Seed: 7,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	require.NoError(t, d.Allocate(array))
	return d
}

// Every stream, both types, ordinary and non-temporal, sizes that no tile
// divides: measured on the host's clock and right to the last element.
func TestStreamsOnTheHost(t *testing.T) {
	d := open(t, 1<<20)
	for _, s := range streams {
		for _, ty := range types {
			for _, nt := range []bool{false, true} {
				for _, array := range []int64{8, 504, 520, 32776, 1 << 20} {
					c := Case{Stream: s, Type: ty, Config: memory.Config{NonTemporal: nt}, Role: memory.Preset, Array: array}
					r, err := d.Measure(c, stat.Fixed(6))
					require.NoError(t, err)
					require.Equal(t, record.OK, r[0].Status, "%s %s", c.Key(), r[0].Reason)
					require.Equal(t, array/ty.Bytes, r[0].Verified.Elements)
					require.Positive(t, *r[0].Rate)
				}
			}
		}
	}
}
