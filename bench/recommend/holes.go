package recommend

import (
	"fmt"
	"math"
	"strings"

	"zbench/bench/record"
	"zbench/bench/unit"
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

// Holes finds the holes of a curve that is ascending in size, in bytes and
// seconds.
func Holes(sizes []int64, seconds []float64) []Hole {
	curve := make([]kneeSample, len(sizes))
	for i, s := range sizes {
		curve[i] = kneeSample{s: float64(s), t: seconds[i], b: float64(s) / seconds[i]}
	}
	return holesOf(curve)
}

// holes finds both kinds and returns them by kind, then by size.
func holesOf(curve []kneeSample) []Hole {
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
func stretches(kind string, curve []kneeSample, loss []float64, bound float64) []Hole {
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

// warnings are the warnings about a curve that has points.
func (c *KneeCurve) warnings(curve []kneeSample) []record.Warning {
	var w []record.Warning
	if !c.Saturated {
		w = append(w, c.unsaturated(curve[len(curve)-1].s))
	}
	if len(c.Holes) > 0 {
		text := make([]string, len(c.Holes))
		for i, h := range c.Holes {
			text[i] = h.String()
		}
		w = append(w, record.Warning{
			Code: "hole", Message: c.label() + ": " + strings.Join(text, "; "),
			Hint: "keep buckets out of these sizes, or ask the library's tuner for another algorithm there",
		})
	}
	for _, p := range c.Points {
		if p.UpToBytes != nil {
			w = append(w, record.Warning{
				Code: "falls_behind_plateau",
				Message: fmt.Sprintf("%s: beyond %s the bus bandwidth falls below %.0f %% of the plateau at %s",
					c.label(), unit.Bytes(*p.UpToBytes), 100*p.Fraction, unit.Bytes(c.PlateauBytes)),
				Hint: "the sizes hold between the two only; repeat the sweep to see whether the plateau is an outlier",
			})
			break
		}
	}
	return append(w, c.knees()...)
}

// knees are the warnings about single points.
func (c *KneeCurve) knees() []record.Warning {
	var w []record.Warning
	for _, p := range c.Points {
		switch {
		case p.AtSmallestSize:
			w = append(w, record.Warning{
				Code: "knee_below_sweep",
				Message: fmt.Sprintf("%s: %s, the smallest size swept, already reaches %.0f %% of the plateau",
					c.label(), unit.Bytes(p.Bytes), 100*p.Fraction),
				Hint: "lower -b to see where the curve starts",
			})
		case p.FirstBytes < p.Bytes:
			w = append(w, record.Warning{
				Code: "crosses_again",
				Message: fmt.Sprintf("%s: %.0f %% of the plateau is first reached at %s, but lost again below %s",
					c.label(), 100*p.Fraction, unit.Bytes(p.FirstBytes), unit.Bytes(p.Bytes)),
				Hint: "the larger size is the safe one: real buckets overshoot the size that is asked for",
			})
		}
	}
	return w
}

// unsaturated is for curves of two decades, which have a last octave.
func (c *KneeCurve) unsaturated(largest float64) record.Warning {
	return record.Warning{
		Code: "not_saturated",
		Message: fmt.Sprintf("%s: the bus bandwidth still grows by %.0f %% over the last octave, so the plateau and every size read from it may be too small",
			c.label(), 100**c.LastOctaveGrowth),
		Hint: fmt.Sprintf("raise -e above %s, as far as memory allows", unit.Bytes(int64(largest))),
	}
}
