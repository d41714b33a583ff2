package recommend

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"zbench/bench/collective"
	"zbench/bench/record"
	"zbench/bench/stat"
)

// sample is the curve at one size: s bytes, b bytes per second of bus
// bandwidth, t the time in any unit (only its ratios count).
type kneeSample struct{ s, b, t float64 }

// curve describes the group and reads its points.
func (g kneeGroup) curve() (KneeCurve, []record.Warning) {
	k := g.key
	c := KneeCurve{
		Collective: k.collective, Dtype: k.dtype, Op: k.op, Ranks: k.ranks, Nodes: k.nodes,
		GPUsPerProcess: k.local, Groups: k.groups, Stride: k.stride, InPlace: k.inPlace, Setup: k.setup, Points: []KneePoint{}, Holes: []Hole{},
	}
	var warnings []record.Warning
	used, lost := g.usable(&c)
	if lost > 0 {
		warnings = append(warnings, record.Warning{
			Code:    "results_left_out",
			Message: fmt.Sprintf("%s: %d results failed, were interrupted or had wrong data and are left out", c.label(), lost),
			Hint:    "each result has its reason; repeat the sweep before you use a size near them",
		})
	}
	curve := merge(used)
	c.Sizes = len(curve)
	if c.Reason == "" {
		c.Reason = kneeRefusal(k.ranks, curve)
	}
	if len(curve) == 0 {
		return c, warnings
	}
	peak := plateauOf(curve)
	c.PlateauBusBW, c.PlateauBytes = curve[peak].b, int64(curve[peak].s)
	c.LastOctaveGrowth = lastOctave(curve)
	c.Saturated = c.LastOctaveGrowth != nil && *c.LastOctaveGrowth <= MaxOctaveGrowth
	c.Holes = holesOf(curve)
	if c.Reason != "" {
		return c, warnings
	}
	for _, f := range fractions {
		c.Points = append(c.Points, c.point(curve, peak, f))
	}
	return c, append(warnings, c.warnings(curve)...)
}

// usable returns the results a curve can be drawn through and the number of
// those that went wrong, and fills what c says about the group as a whole.
func (g kneeGroup) usable(c *KneeCurve) (used []record.Result, lost int) {
	for _, r := range g.results {
		switch r.Status {
		case record.OK:
		case record.Skipped:
			c.NotOK++
			continue
		default:
			c.NotOK++
			lost++
			continue
		}
		if r.BusBW == nil || *r.BusBW <= 0 || math.IsInf(*r.BusBW, 0) || math.IsNaN(*r.BusBW) || r.Bytes <= 0 {
			continue
		}
		if c.Timing != "" && r.Headline != c.Timing {
			c.Reason = "two kinds of timing are mixed in one curve, which cannot be compared: give one record for each"
		}
		c.Timing = max(c.Timing, r.Headline) // max, so that the order of results does not show
		c.Extrapolated = c.Extrapolated || r.Extrapolated
		used = append(used, r)
	}
	return used, lost
}

// merge sorts by size. Results of the same size, as from repeated logs, become
// one sample by their median.
func merge(results []record.Result) []kneeSample {
	bySize := map[int64][]float64{}
	for i := range results {
		bySize[results[i].Bytes] = append(bySize[results[i].Bytes], *results[i].BusBW)
	}
	curve := make([]kneeSample, 0, len(bySize))
	for size, b := range bySize {
		s, m := float64(size), stat.Quantile(b, 0.5)
		curve = append(curve, kneeSample{s: s, b: m, t: s / m})
	}
	slices.SortFunc(curve, func(x, y kneeSample) int { return cmp.Compare(x.s, y.s) })
	return curve
}

// refusal says why no point is read from the curve, or nothing.
func kneeRefusal(ranks int, curve []kneeSample) string {
	if ranks == 1 {
		return "no communication: one rank has nothing to exchange"
	}
	if len(curve) == 0 {
		return "no result ended ok with a bus bandwidth"
	}
	decades := math.Log10(curve[len(curve)-1].s / curve[0].s)
	if len(curve) >= kneeMinSizes && decades >= kneeMinDecades {
		return ""
	}
	return fmt.Sprintf("too few sizes: %d over %.1f decades, and a knee takes %d over %g (sweep wider, for example -b 1K -e 8G -f 2)",
		len(curve), decades, kneeMinSizes, kneeMinDecades)
}

// plateau is the index of the largest bus bandwidth, the first of equals.
func plateauOf(curve []kneeSample) int {
	best := 0
	for i := range curve {
		if curve[i].b > curve[best].b {
			best = i
		}
	}
	return best
}

// lastOctave is the growth of the bus bandwidth from half the largest size to
// the largest, as a ratio less one; nil where the curve is shorter than that.
func lastOctave(curve []kneeSample) *float64 {
	last := curve[len(curve)-1]
	half := last.s / 2
	for i := len(curve) - 1; i > 0; i-- {
		if curve[i-1].s <= half {
			g := last.b/busBWAt(curve[i-1], curve[i], half) - 1
			return &g
		}
	}
	return nil
}

// at interpolates the bus bandwidth at s bytes. With T = T₀·(S/S₀)^p the bus
// bandwidth k·S/T is a power law too, of exponent 1 − p.
func busBWAt(x, y kneeSample, s float64) float64 {
	return x.b * math.Pow(s/x.s, slope(x, y))
}

// slope is the exponent of the bus bandwidth between two samples.
func slope(x, y kneeSample) float64 { return math.Log(y.b/x.b) / math.Log(y.s/x.s) }

// crossing solves for the size between x and y at which the bus bandwidth is b.
// The bounds keep the rounding of the logarithms from leaving a swept size.
func crossing(x, y kneeSample, b float64) float64 {
	s := x.s * math.Exp(math.Log(b/x.b)/slope(x, y))
	return min(max(s, x.s), y.s)
}

// point reads the sizes around the plateau that reach the fraction f of it.
func (c *KneeCurve) point(curve []kneeSample, peak int, f float64) KneePoint {
	target := f * curve[peak].b
	p := KneePoint{Fraction: f, BusBW: target}
	first := slices.IndexFunc(curve, func(x kneeSample) bool { return x.b >= target })
	from, last := peak, peak
	for from > 0 && curve[from-1].b >= target {
		from--
	}
	for last < len(curve)-1 && curve[last+1].b >= target {
		last++
	}
	p.Bytes, p.FirstBytes = rise(curve, from, target), rise(curve, first, target)
	if from == 0 {
		p.AtSmallestSize, p.BusBW = true, curve[0].b
	}
	if last < len(curve)-1 {
		upTo := int64(crossing(curve[last], curve[last+1], target))
		p.UpToBytes = &upTo
	}
	if d, err := collective.DtypeByName(c.Dtype); err == nil {
		p.Elements = p.Bytes / int64(d.Size)
	}
	if c.Ranks > 0 {
		p.PerRankBytes = p.Bytes / int64(c.Ranks)
	}
	return p
}

// rise is the size at which the curve comes up to the target on its way to
// sample i, rounded up to a whole byte.
func rise(curve []kneeSample, i int, target float64) int64 {
	if i == 0 {
		return int64(curve[0].s)
	}
	return int64(math.Ceil(crossing(curve[i-1], curve[i], target)))
}

// label names the curve in a message.
// world says how many ranks the curve is of, and how many such groups ran at once.
func (c *KneeCurve) world() string {
	switch {
	case c.Stride > 0:
		return fmt.Sprintf("%d groups of %d ranks, %d apart", c.Groups, c.Ranks, c.Stride)
	case c.Groups > 1:
		return fmt.Sprintf("%d groups of %d ranks", c.Groups, c.Ranks)
	}
	return fmt.Sprintf("%d ranks", c.Ranks)
}

func (c *KneeCurve) label() string {
	op := c.Op
	if op != "" {
		op = " " + op
	}
	label := fmt.Sprintf("%s %s%s, %s, %s", c.Collective, c.Dtype, op, c.world(), buffers(c.InPlace))
	if c.Setup != "" {
		label += ", " + c.Setup
	}
	return label
}
