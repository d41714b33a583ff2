package recommend

import (
	"fmt"
	"math"

	"zbench/bench/base/unit"
)

// Kinds of Hole.
const (
	// TimeFalls means that a larger message takes less time.
	TimeFalls = "time_falls"
	// BusBWDrops means that the bus bandwidth is lower than at a smaller size.
	BusBWDrops = "busbw_drops"
)

// Hole is a range of sizes that the library handles worse than its neighbours, for example where it switches
// algorithms.
type Hole struct {
	// Kind is how the hole shows in the curve.
	Kind string `json:"kind"`
	// FromBytes is the first swept size in the hole, in bytes.
	FromBytes int64 `json:"from_bytes"`
	// ToBytes is the last swept size in the hole, in bytes.
	ToBytes int64 `json:"to_bytes"`
	// Loss is the worst loss in the hole as a ratio: the time that could be saved, or the bus bandwidth that
	// is missing.
	Loss float64 `json:"loss"`
}

// Limits above which a loss counts as a hole.
const (
	// minDrop is the least loss of bus bandwidth against the running maximum. minSaving is the least loss of
	// time against a larger message. Repeated measurements differ by 1–5 %, which is less than both.
	minDrop   = 0.15
	minSaving = 0.05
	// minHoleBytes is the least size in a hole. No trainer's bucket is smaller, and below this size the
	// times are almost flat, so noise would look like holes.
	minHoleBytes = 64 * float64(unit.KiB)
)

// holesOf returns the holes of a curve, by kind, then by size. Sizes ascend.
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

// stretches joins neighbouring sizes whose loss exceeds the limit.
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
