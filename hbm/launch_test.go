package hbm

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/memory"
	"zbench/bench/stat"
	"zbench/internal/native"
)

// On a clock on which a launch takes as long whatever it moves, all sizes of a
// sweep are of launches, and say so; no other role asks.
func TestSweepKnowsItsLaunches(t *testing.T) {
	d, err := Open(Config{Native: native.Options{Backend: "loopback", Machine: HostMachine(false, nil, testHost), Getenv: func(string) string { return "" }}, Seed: 7})
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	require.NoError(t, d.Allocate(1<<20))
	read, _ := StreamByName("read")
	for _, size := range []int64{1 << 14, 1 << 20} {
		r, err := d.Measure(NewCase("loopback", read, types[0], memory.Sweep, size, false), stat.Fixed(6))
		require.NoError(t, err)
		require.NotNil(t, r[0].Timing.Launch)
		require.InEpsilon(t, *r[0].Timing.Launch, r[0].Timing.Seconds.Median, 0.05)
		require.True(t, r[0].LaunchBound())
		require.Zero(t, r[0].Verified.Wrong)
	}
	require.Len(t, d.launches, 1)
	r, err := d.Measure(NewCase("loopback", read, types[0], memory.Preset, 1<<20, false), stat.Fixed(6))
	require.NoError(t, err)
	require.Nil(t, r[0].Timing.Launch)
	require.False(t, r[0].LaunchBound())
}

// On the host's clock a large array takes longer than a launch.
func TestLargeArraysAreNotLaunchBound(t *testing.T) {
	d := open(t, 64<<20)
	triad, _ := StreamByName("triad")
	r, err := d.Measure(NewCase("loopback", triad, types[1], memory.Sweep, 64<<20, false), stat.Fixed(6))
	require.NoError(t, err)
	require.Positive(t, *r[0].Timing.Launch)
	require.False(t, r[0].LaunchBound(), "%v of %v", *r[0].Timing.Launch, r[0].Timing.Seconds.Median)
}
