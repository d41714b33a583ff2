package hbm

import (
	"zbench/bench/hardware/backend"
	"zbench/bench/run/record"
	"zbench/internal/native"
)

// Grids of a stream's launch. Exact has one tile per block. Resident has as many blocks as the
// device holds at once, each with consecutive tiles. Strided has a quarter of the tiles; a
// block's tiles lie one grid apart.
const (
	Exact    = "exact"
	Resident = "resident"
	Strided  = "strided"
)

// stridedTiles is the number of tiles per block of a strided grid.
const stridedTiles = 4

// residentThreads is the number of threads that a compute unit holds at once: 2,048 on CDNA, and
// on NVIDIA's GPUs since Volta.
const residentThreads = 2048

// vector is the number of bytes that a thread loads at once.
const vector = 16

// referenceConfig returns the launch that BabelStream uses on the backend's vendor, for comparison
// with BabelStream's figures. BabelStream's threads load 8 bytes at once; these kernels' threads
// load 16.
func referenceConfig(of string) record.LaunchConfig {
	s := backend.Like(of).Stream
	c := record.LaunchConfig{Block: s.Block, Loads: 1, Grid: Exact}
	if s.Strided {
		c.Grid = Strided
	}
	return c
}

// presetConfig returns the configuration that a run without tuning uses.
func presetConfig() record.LaunchConfig {
	return record.LaunchConfig{Block: 256, Loads: 4, NonTemporal: true, Grid: Exact}
}

// TuneConfigs returns the configurations to try: 16 on a GPU. On the host only the kind of store
// differs.
func TuneConfigs(host bool) []record.LaunchConfig {
	if host {
		return []record.LaunchConfig{{}, {NonTemporal: true}}
	}
	var out []record.LaunchConfig
	for _, block := range []int{256, 1024} {
		for _, loads := range []int{2, 8} {
			for _, nt := range []bool{false, true} {
				for _, grid := range []string{Exact, Resident} {
					out = append(out, record.LaunchConfig{Block: block, Loads: loads, NonTemporal: nt, Grid: grid})
				}
			}
		}
	}
	return out
}

// streamLaunch is a stream's geometry. A tile is block × loads vectors; each block takes
// `run` consecutive tiles.
type streamLaunch struct {
	native.Launch
	tiles, run int64
}

// launchOf returns the geometry for n elements of t on a device with the given number of compute
// units.
func launchOf(c record.LaunchConfig, t Type, n int64, units int) streamLaunch {
	if c.Block == 0 { // the host has no blocks
		c.Block, c.Loads = native.KernelBlock, 1
	}
	tiles := n / (int64(c.Block*c.Loads) * vector / t.Bytes)
	blocks := max(1, tiles)
	switch c.Grid {
	case Resident:
		blocks = min(blocks, int64(max(1, units*residentThreads/c.Block)))
	case Strided:
		blocks = (blocks + stridedTiles - 1) / stridedTiles
	}
	blocks = min(blocks, mostBlocks)
	run := max(1, (tiles+blocks-1)/blocks)
	if c.Grid == Strided {
		run = 1
	}
	return streamLaunch{
		native.Launch{Grid: [3]uint32{uint32(blocks), 1, 1}, Block: [3]uint32{uint32(c.Block), 1, 1}}, //nolint:gosec // at most mostBlocks
		tiles, run,
	}
}
