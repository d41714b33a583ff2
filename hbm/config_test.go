package hbm

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/run/record"
	"zbench/internal/native"
)

// The reference launches what BabelStream's model of the vendor does: HIP's blocks
// of 1,024 threads with an element each; CUDA's of 256 with four, a grid apart. The
// elements are 16 bytes.
func TestReferenceIsBabelStreams(t *testing.T) {
	triad, _ := StreamByName("triad")
	const n = int64(1 << 25)
	for _, want := range []struct {
		backend       string
		block, blocks uint32
		run           int64
	}{{"rocm", 1024, uint32(n / 2 / 1024), 1}, {"loopback", 1024, uint32(n / 2 / 1024), 1}, {"cuda", 256, uint32(n / 2 / 4 / 256), 1}} {
		c := NewCase(want.backend, triad, types[1], record.Reference, 8*n, false)
		l := launchOf(c.Config, c.Type, n, 304)
		require.Equal(t, want.block, l.Block[0], want.backend)
		require.Equal(t, want.blocks, l.Grid[0], want.backend)
		require.Equal(t, want.run, l.run, want.backend)
		require.Equal(t, n/2/int64(want.block), l.tiles)
		require.False(t, c.Config.NonTemporal)
	}
	ours := NewCase("cuda", triad, types[1], record.Preset, 8*n, false)
	require.Equal(t, presetConfig(), ours.Config)
}

// A strided grid reaches every tile, whatever is left over.
func TestStridedGridsReachAll(t *testing.T) {
	c := referenceConfig("cuda")
	for _, n := range []int64{1, 511, 512, 513, 4 * 512, 4*512 + 1, 9*512 + 7} {
		l := launchOf(c, types[1], n, 304)
		seen := make([]int, l.tiles)
		for block := range int64(l.Grid[0]) { // as walk.h goes
			for first := block * l.run; first < l.tiles; first += l.run * int64(l.Grid[0]) {
				for tile := first; tile < min(l.tiles, first+l.run); tile++ {
					seen[tile]++
				}
			}
		}
		for tile, times := range seen {
			require.Equal(t, 1, times, "tile %d of %d elements", tile, n)
		}
	}
	d, err := Open(Config{Native: native.Choice{Backend: "loopback", Machine: HostMachine(false, nil, testHost), Getenv: func(string) string { return "" }}, Seed: 7})
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	require.NoError(t, d.Allocate(1<<18))
	for _, s := range streams {
		k := measured(t, d, Case{Stream: s, Type: types[1], Config: c, Role: record.Reference, Array: 1<<18 - 40}, 6)
		require.Zero(t, *k.Verified.Wrong, s.Name)
		require.Positive(t, k.Verified.Elements)
	}
}

// Arrays follow from the last level of cache, whatever the device is called.
func TestDefaultSize(t *testing.T) {
	const off = 768 << 10
	for _, d := range []struct {
		kind        string
		cache, want int64
	}{
		{record.GPU, 256 << 20, 4<<30 + off},
		{record.GPU, 50 << 20, 1<<30 + off},
		{record.GPU, 0, 1<<30 + off},
		{record.HostMemory, 256 << 20, 1<<30 + off},
		{record.OnLoopback, 0, 64<<20 + off},
	} {
		require.Equal(t, d.want, defaultSize(record.Device{Kind: d.kind, Cache: d.cache}), "%v", d)
	}
}
