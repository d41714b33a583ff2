package recommend

import (
	"fmt"
	"math"

	"zbench/bench/base/unit"
)

// Kinds of Hole.
const (
	// TimeFalls: a larger message takes less time.
	TimeFalls = "time_falls"
	// BusBWDrops: the bus bandwidth lies below what a smaller message reached.
	BusBWDrops = "busbw_drops"
)

// Hole is a stretch of sizes that the library handles worse than its
// neighbours, as at the switch between two of its algorithms.
type Hole struct {
	// Kind is how it shows.
	Kind string `json:"kind"`
	// FromBytes is the first swept size in the hole, in bytes.
	FromBytes int64 `json:"from_bytes"`
	// ToBytes is the last swept size in the hole, in bytes.
	ToBytes int64 `json:"to_bytes"`
	// Loss is the worst of it as a ratio: the time that could be saved, or the
	// bus bandwidth that is missing.
	Loss float64 `json:"loss"`
}

// Bounds of a hole.
const (
	// minDrop is the loss of bus bandwidth against the running maximum, and
	// minSaving that of time against a larger message, that make a hole. Both
	// lie above the 1–5 % by which repeated measurements differ.
	minDrop   = 0.15
	minSaving = 0.05
	// minHoleBytes: no trainer's bucket is smaller, and below it the measured
	// times are all but flat, so that noise would look like holes.
	minHoleBytes = 64 * float64(unit.KiB)
)

// holesOf finds both kinds of holes of a curve that is ascending in size, and returns them by kind, then by size.
func holesOf(curve []sample) []Hole {
	drop, saving := make([]float64, len(curve)), make([]float64, len(curve))
	best := 0.0
	for i, x := range curve {
		best = max(best, x.b)
		drop[i] = 1 - x.b/best
	}
	least := math.Inf(1)
	for i := len(curve) - 1; i >= 0; i-- {
		least = min(least, curve[i].t)
		saving[i] = 1 - least/curve[i].t
	}
	return append(stretches(TimeFalls, curve, saving, minSaving), stretches(BusBWDrops, curve, drop, minDrop)...)
}

// stretches joins neighbouring sizes whose loss exceeds the bound.
func stretches(kind string, curve []sample, loss []float64, bound float64) []Hole {
	found := []Hole{}
	open := false
	for i, x := range curve {
		if loss[i] <= bound || x.s < minHoleBytes {
			open = false
			continue
		}
		if !open {
			found = append(found, Hole{Kind: kind, FromBytes: int64(x.s)})
			open = true
		}
		h := &found[len(found)-1]
		h.ToBytes, h.Loss = int64(x.s), max(h.Loss, loss[i])
	}
	return found
}

func (h Hole) String() string {
	sizes := unit.Bytes(h.FromBytes)
	if h.ToBytes != h.FromBytes {
		sizes += " to " + unit.Bytes(h.ToBytes)
	}
	if h.Kind == TimeFalls {
		return fmt.Sprintf("at %s a larger message takes up to %.0f %% less time", sizes, 100*h.Loss)
	}
	return fmt.Sprintf("at %s the bus bandwidth is up to %.0f %% below that of a smaller message", sizes, 100*h.Loss)
}
