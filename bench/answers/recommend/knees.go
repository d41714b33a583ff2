// Knees are the message sizes from which a collective reaches a share of its plateau. Knees need only a
// record. A bucket size also needs the model and its backward time, so an answer lists the missing inputs
// (Needs).

package recommend

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"zbench/bench/base/jsonfile"
	"zbench/bench/base/slice"
	"zbench/bench/base/stat"
	"zbench/bench/base/unit"
	"zbench/bench/hardware/collective"
	"zbench/bench/job/trainer"
	"zbench/bench/run/record"
)

// KneesSchema names the version of knees.json.
const KneesSchema = "zbench.knees/1"

// maxOctaveGrowth is the growth of the bandwidth over the last octave up to which a curve counts as
// saturated.
const maxOctaveGrowth = 0.05

// fractions are the shares of the plateau that are reported, ascending.
var fractions = []float64{0.5, 0.8, 0.9}

// Knees is the answer of one record about message sizes. All values are in base units: bytes, bytes per
// second.
type Knees struct {
	// Version of the format.
	Schema string `json:"schema"`
	// Simulated is true if the times come from a model, not from hardware.
	Simulated bool `json:"simulated"`
	// Curves are the record's collectives over message sizes.
	Curves []KneeCurve `json:"curves"`
	// Needs are the inputs that a bucket size still lacks.
	Needs []Need `json:"needs"`
	// Warnings are doubts about the record.
	Warnings []record.Warning `json:"warnings"`
}

// KneeCurve is one collective over message sizes, with everything else equal.
type KneeCurve struct {
	record.CurveKey
	// Timing names the time behind the bus bandwidth.
	Timing string `json:"timing"`
	// Sizes is the number of distinct sizes used.
	Sizes int `json:"sizes"`
	// NotOK is the number of this curve's results that were left out because they did not end ok.
	NotOK int `json:"not_ok"`
	// PlateauBusBW is the largest bus bandwidth of the curve, in bytes per second.
	PlateauBusBW float64 `json:"plateau_busbw"`
	// PlateauBytes is the smallest size with that bandwidth, in bytes.
	PlateauBytes int64 `json:"plateau_bytes"`
	// Saturated is true if the bus bandwidth grew by at most 5 % over the last octave of sizes.
	Saturated bool `json:"saturated"`
	// LastOctaveGrowth is the growth of the bus bandwidth over the last octave, as a ratio minus one; null
	// if the curve is shorter than an octave.
	LastOctaveGrowth *float64 `json:"last_octave_growth"`
	// Extrapolated is true if a time of the curve comes from a part of the model that was never measured.
	Extrapolated bool `json:"extrapolated"`
	// Points are the shares of the plateau with the sizes that reach them.
	Points []KneePoint `json:"points"`
	// Reason says why there are no points.
	Reason string `json:"reason,omitempty"`
	// Holes are sizes that the library handles worse than their neighbours.
	Holes []Hole `json:"holes"`
}

// KneePoint is one share of the plateau and the sizes that reach it.
type KneePoint struct {
	// Fraction is the share of the plateau, a ratio.
	Fraction float64 `json:"fraction"`
	// Bytes is the least total size from which every size, up to up_to_bytes, reaches the share.
	Bytes int64 `json:"bytes"`
	// Elements is the size `bytes` in elements of the dtype; 0 if the dtype's width is unknown.
	Elements int64 `json:"elements"`
	// PerRankBytes is the size `bytes` divided by the number of ranks, in bytes.
	PerRankBytes int64 `json:"per_rank_bytes"`
	// BusBW is the bus bandwidth at the size `bytes`, in bytes per second.
	BusBW float64 `json:"busbw"`
	// FirstBytes is the smallest size that reaches the share, in bytes. FirstBytes is less than `bytes` if
	// the curve falls below the share again.
	FirstBytes int64 `json:"first_bytes"`
	// UpToBytes is the size beyond the plateau up to which the share holds, in bytes; null if it holds to the
	// end of the sweep.
	UpToBytes *int64 `json:"up_to_bytes"`
	// AtSmallestSize is true if the smallest size of the sweep already reaches the share. The real knee may
	// then be smaller.
	AtSmallestSize bool `json:"at_smallest_size"`
}

// Need is an input that a bucket size still lacks, and how to give it.
type Need struct {
	// What names the missing input.
	What string `json:"what"`
	// How describes how to give the input.
	How string `json:"how"`
}

// KneesOf reads the sizes at 50, 80 and 90 % of the plateau from every curve of the record. The order of the
// record's results does not matter.
//
// Between two neighbouring sizes the time is a power law, log T linear in log S. A power law is positive,
// does not overshoot, and is solved in closed form. The answer is the range around the plateau that reaches a
// share, not the first crossing. A trainer's real buckets exceed their configured size by up to one parameter
// tensor, so a size is only safe if larger sizes are good too. FirstBytes keeps the first crossing.
func KneesOf(rec *record.Record) Knees {
	a := Knees{
		Schema: KneesSchema, Simulated: rec.Simulated,
		Curves: []KneeCurve{}, Needs: kneeNeeds(rec), Warnings: jsonfile.Filled(rec.Edits()),
	}
	_, results := slice.Group(rec.Results, func(r record.Result) record.CurveKey { return r.CurveKey() })
	for _, key := range slices.SortedFunc(maps.Keys(results), compareKnees) {
		c, warnings := kneesOf(key, results[key])
		a.Curves = append(a.Curves, c)
		a.Warnings = append(a.Warnings, warnings...)
	}
	if len(a.Curves) == 0 {
		a.Warnings = append(a.Warnings, record.Warning{
			Code: "no_results", Message: "the record holds no results",
			Hint: "give a record or a log that has rows with times",
		})
	}
	return a
}

// FixFirst withdraws the sizes because of a hardware fault. The repaired fabric will have different sizes.
func (a *Knees) FixFirst(fault, remedy string) {
	for i := range a.Curves {
		a.Curves[i].Points, a.Curves[i].Reason = []KneePoint{}, "fix the fault first"
	}
	a.Needs = []Need{{"fix the fault first. " + fault, remedy}}
}

// compareKnees orders curves by the table of collectives. The whole world comes before its parts.
func compareKnees(a, b record.CurveKey) int {
	return cmp.Or(cmp.Compare(listed(a.Collective), listed(b.Collective)), cmp.Compare(a.Collective, b.Collective), cmp.Compare(a.Dtype, b.Dtype), a.Compare(b))
}

// `listed` returns the collective's place in the table; unknown collectives come last.
func listed(name string) int {
	names := collective.Names()
	if i := slices.Index(names, name); i >= 0 {
		return i
	}
	return len(names)
}

// sample is one size of a curve: s bytes, their bandwidth b in bytes per second, their time t in seconds. If
// b is a bus bandwidth, t is off by the bus factor.
type sample struct{ s, b, t float64 }

// kneesOf describes the curve of the results and reads its points.
func kneesOf(k record.CurveKey, results []record.Result) (KneeCurve, []record.Warning) {
	c := KneeCurve{CurveKey: k, Points: []KneePoint{}, Holes: []Hole{}}
	var warnings []record.Warning
	used, lost := c.usable(results)
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
		c.Reason = kneeRefusal(k.Ranks, curve)
	}
	if len(curve) == 0 {
		return c, warnings
	}
	peak := plateauOf(curve)
	c.PlateauBusBW, c.PlateauBytes = curve[peak].b, int64(curve[peak].s)
	c.LastOctaveGrowth = lastOctave(curve)
	c.Saturated = c.LastOctaveGrowth != nil && *c.LastOctaveGrowth <= maxOctaveGrowth
	c.Holes = holesOf(curve)
	if c.Reason != "" {
		return c, warnings
	}
	for _, f := range fractions {
		c.Points = append(c.Points, c.point(curve, peak, f))
	}
	return c, append(warnings, c.warnings(curve)...)
}

// `usable` returns the results that a curve can be drawn from and the number of failed results. It sets
// NotOK, Timing, Extrapolated and Reason of c.
func (c *KneeCurve) usable(results []record.Result) (used []record.Result, lost int) {
	for _, r := range results {
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
		c.Timing = max(c.Timing, r.Headline) // max: the order of results must not matter
		c.Extrapolated = c.Extrapolated || r.Extrapolated
		used = append(used, r)
	}
	return used, lost
}

// merge sorts the results by size. Several results of one size, for example from repeated logs, are replaced
// by their median.
func merge(results []record.Result) []sample {
	bySize := map[int64][]float64{}
	for i := range results {
		bySize[results[i].Bytes] = append(bySize[results[i].Bytes], *results[i].BusBW)
	}
	curve := make([]sample, 0, len(bySize))
	for size, b := range bySize {
		s, m := float64(size), stat.Quantile(b, 0.5)
		curve = append(curve, sample{s: s, b: m, t: s / m})
	}
	slices.SortFunc(curve, func(x, y sample) int { return cmp.Compare(x.s, y.s) })
	return curve
}

// kneeRefusal returns the reason why no point can be read from the curve; empty if there is none.
func kneeRefusal(ranks int, curve []sample) string {
	switch {
	case ranks == 1:
		return "no communication: one rank has nothing to exchange"
	case len(curve) == 0:
		return "no result ended ok with a bus bandwidth"
	}
	least, most := int64(curve[0].s), int64(curve[len(curve)-1].s)
	if Enough(len(curve), least, most) {
		return ""
	}
	return fmt.Sprintf("too few sizes: %d over %.1f decades, and a knee takes %d over %g (sweep wider, for example -b 1K -e 8G -f 2)",
		len(curve), decades(least, most), minSizes, minDecades)
}

// plateauOf returns the index of the largest bus bandwidth, at the smallest size that has it.
func plateauOf(curve []sample) int {
	rates := slice.Map(curve, func(x sample) float64 { return x.b })
	return slices.Index(rates, slices.Max(rates))
}

// lastOctave returns the growth of the bandwidth from half the largest size to the largest, as a ratio
// minus one; nil if the curve is shorter than an octave.
func lastOctave(curve []sample) *float64 {
	last := curve[len(curve)-1]
	half := last.s / 2
	for i := len(curve) - 1; i > 0; i-- {
		if curve[i-1].s <= half {
			return new(last.b/busBWAt(curve[i-1], curve[i], half) - 1)
		}
	}
	return nil
}

// busBWAt interpolates the bus bandwidth at s bytes. With T = T₀·(S/S₀)^p the bus bandwidth k·S/T is also a
// power law, of exponent 1 − p.
func busBWAt(x, y sample, s float64) float64 {
	return x.b * math.Pow(s/x.s, slope(x, y))
}

// slope returns the exponent of the bus bandwidth between two samples.
func slope(x, y sample) float64 { return stat.Exponent(x.s, x.b, y.s, y.b) }

// crossing returns the size between x and y at which the bus bandwidth is b. It clamps the result to the
// interval, which rounding of the logarithms could leave.
func crossing(x, y sample, b float64) float64 {
	return min(max(stat.Reaches(x.s, x.b, y.s, y.b, b), x.s), y.s)
}

// point reads the sizes around the plateau that reach the fraction f of the plateau's bandwidth.
func (c *KneeCurve) point(curve []sample, peak int, f float64) KneePoint {
	target := f * curve[peak].b
	p := KneePoint{Fraction: f, BusBW: target}
	first := slices.IndexFunc(curve, func(x sample) bool { return x.b >= target })
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
		p.UpToBytes = new(int64(crossing(curve[last], curve[last+1], target)))
	}
	if d, err := collective.DtypeByName(c.Dtype); err == nil {
		p.Elements = p.Bytes / int64(d.Size)
	}
	if c.Ranks > 0 {
		p.PerRankBytes = p.Bytes / int64(c.Ranks)
	}
	return p
}

// rise returns the size at which the curve rises to the target on its way to sample i, rounded up to a whole
// byte.
func rise(curve []sample, i int, target float64) int64 {
	if i == 0 {
		return int64(curve[0].s)
	}
	return int64(math.Ceil(crossing(curve[i-1], curve[i], target)))
}

// world names the curve's number of ranks, and the number of groups that ran at once.
func (c *KneeCurve) world() string {
	switch {
	case c.Stride > 0:
		return fmt.Sprintf("%d groups of %d ranks, %d apart", c.Groups, c.Ranks, c.Stride)
	case c.Groups > 1:
		return fmt.Sprintf("%d groups of %d ranks", c.Groups, c.Ranks)
	}
	return fmt.Sprintf("%d ranks", c.Ranks)
}

// label names the curve in a message.
func (c *KneeCurve) label() string {
	op := c.Op
	if op != "" {
		op = " " + op
	}
	label := fmt.Sprintf("%s %s%s, %s, %s", c.Collective, c.Dtype, op, c.world(), placed(c.InPlace))
	if c.Setup != "" {
		label += ", " + c.Setup
	}
	return label
}

// kneeNeeds lists the inputs that a bucket size needs in addition to the record's curves.
func kneeNeeds(rec *record.Record) []Need {
	list := []Need{
		{
			"the model: parameter tensors in forward order, or their total number and the largest",
			"--params FILE (name,elements a line), --preset NAME, or --total-params N --largest-param P",
		},
		{
			"the backward time of one microbatch without communication: it decides how much can be hidden",
			"--backward-ms MS, measured with one data-parallel rank, --step-ms MS, or --tokens-per-microbatch T --tflops F",
		},
		{
			"the trainer and its gradient dtype: bucket rules and units differ (elements, bytes, MiB)",
			"--framework " + strings.Join(trainer.Names(), "|") + ", --grad-dtype float|bfloat16",
		},
	}
	missing := slices.DeleteFunc(trainer.Collectives(), func(name string) bool {
		return slices.ContainsFunc(rec.Results, func(r record.Result) bool { return r.Collective == name && r.Status == record.OK })
	})
	if len(missing) > 0 {
		list = append(list, Need{
			"curves of " + strings.Join(missing, ", ") + ": a sharded optimizer uses reduce_scatter and all_gather, the others all_reduce",
			"measure them on the same ranks, and give that record or log too",
		})
	}
	return list
}

// WriteJSON writes the answer as knees.json: indented, with a newline at the end. Equal records give equal
// bytes.
func (a Knees) WriteJSON(w io.Writer) error {
	return jsonfile.WriteBare(w, "bucket", a)
}

// Sentence returns the answer in one line: the first curve that has points, and what a bucket size still
// needs.
func (a Knees) Sentence() string {
	const rest = "A bucket size still takes the model and its backward time."
	for i := range a.Curves {
		c := &a.Curves[i]
		if len(c.Points) == 0 {
			continue
		}
		sizes := slice.Map(c.Points, func(p KneePoint) string { return fmt.Sprintf("%.0f %% from %s", 100*p.Fraction, unit.Bytes(p.Bytes)) })
		return fmt.Sprintf("%s%s on %d ranks reaches %s of its %s plateau. %s",
			a.mark(c.Extrapolated), c.Collective, c.Ranks, strings.Join(sizes, ", "), unit.Rate(c.PlateauBusBW), rest)
	}
	why := "the record holds no results"
	if len(a.Curves) > 0 {
		why = a.Curves[0].label() + ": " + a.Curves[0].Reason
	}
	return fmt.Sprintf("%sno message sizes to advise (%s).", a.mark(false), why)
}

// mark returns the beginning of a line about the answer.
func (a Knees) mark(extrapolated bool) string {
	var words []string
	if a.Simulated {
		words = append(words, "SIMULATED")
	}
	if extrapolated {
		words = append(words, "extrapolated")
	}
	if len(words) == 0 {
		return ""
	}
	return strings.Join(words, ", ") + ": "
}

// warnings returns the warnings about a curve that has points.
func (c *KneeCurve) warnings(curve []sample) []record.Warning {
	var w []record.Warning
	warn := func(code, hint, format string, args ...any) {
		w = append(w, record.Warning{Code: code, Message: c.label() + ": " + fmt.Sprintf(format, args...), Hint: hint})
	}
	if !c.Saturated { // LastOctaveGrowth is set: a curve with points spans two decades
		warn("not_saturated", fmt.Sprintf("raise -e above %s, as far as memory allows", unit.Bytes(int64(curve[len(curve)-1].s))),
			"the bus bandwidth still grows by %.0f %% over the last octave, so the plateau and every size read from it may be too small", 100**c.LastOctaveGrowth)
	}
	if len(c.Holes) > 0 {
		warn("hole", "keep buckets out of these sizes, or ask the library's tuner for another algorithm there",
			"%s", strings.Join(slice.Map(c.Holes, Hole.String), "; "))
	}
	if i := slices.IndexFunc(c.Points, func(p KneePoint) bool { return p.UpToBytes != nil }); i >= 0 {
		warn("falls_behind_plateau", "the sizes hold between the two only; repeat the sweep to see whether the plateau is an outlier",
			"beyond %s the bus bandwidth falls below %.0f %% of the plateau at %s", unit.Bytes(*c.Points[i].UpToBytes), 100*c.Points[i].Fraction, unit.Bytes(c.PlateauBytes))
	}
	for _, p := range c.Points {
		switch {
		case p.AtSmallestSize:
			warn("knee_below_sweep", "lower -b to see where the curve starts",
				"%s, the smallest size swept, already reaches %.0f %% of the plateau", unit.Bytes(p.Bytes), 100*p.Fraction)
		case p.FirstBytes < p.Bytes:
			warn("crosses_again", "the larger size is the safe one: real buckets overshoot the size that is asked for",
				"%.0f %% of the plateau is first reached at %s, but lost again below %s", 100*p.Fraction, unit.Bytes(p.FirstBytes), unit.Bytes(p.Bytes))
		}
	}
	return w
}
