package hbm

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/run/record"
	"zbench/internal/native"
)

// On a clock on which a launch takes as long whatever it moves, all sizes of a
// sweep are of launches, and say so; no other role asks.
func TestSweepKnowsItsLaunches(t *testing.T) {
	d, err := Open(Config{Native: native.Choice{Backend: "loopback", Machine: HostMachine(false, nil, testHost), Getenv: func(string) string { return "" }}, Seed: 7})
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	require.NoError(t, d.Allocate(1<<20))
	read, _ := StreamByName("read")
	for _, size := range []int64{1 << 14, 1 << 20} {
		k := measured(t, d, NewCase("loopback", read, types[0], record.SizeSweep, size, false), 6)
		require.NotNil(t, k.Timing.Launch)
		require.InEpsilon(t, *k.Timing.Launch, k.Timing.Seconds.Median, 0.05)
		require.True(t, k.LaunchBound())
		require.Zero(t, *k.Verified.Wrong)
	}
	require.Len(t, d.launches, 1)
	k := measured(t, d, NewCase("loopback", read, types[0], record.Preset, 1<<20, false), 6)
	require.Nil(t, k.Timing.Launch)
	require.False(t, k.LaunchBound())
}

// A launch is measured on the host's clock, too, and what takes longer than two is bound by
// something else. How long the host takes is its own affair: the times here are given.
func TestLargeArraysAreNotLaunchBound(t *testing.T) {
	d := open(t, 1<<20)
	triad, _ := StreamByName("triad")
	k := measured(t, d, NewCase("loopback", triad, types[1], record.SizeSweep, 1<<20, false), 6)
	require.Positive(t, *k.Timing.Launch)
	k.Timing.Seconds.Median = 2.01 * *k.Timing.Launch
	require.False(t, k.LaunchBound())
	k.Timing.Seconds.Median = 1.99 * *k.Timing.Launch
	require.True(t, k.LaunchBound())
}
