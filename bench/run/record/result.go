package record

import (
	"fmt"
	"math"
	"slices"

	"zbench/bench/base/stat"
)

// Result is one case: a collective at one size, with its timings.
type Result struct {
	Case
	// Name of the collective: the name of the rccl-tests program without _perf.
	Collective string `json:"collective"`
	// Element type, as rccl-tests names it.
	Dtype string `json:"dtype"`
	// Op is the reduction operator; empty if the collective has none.
	Op string `json:"op"`
	// Requested size, in bytes.
	BytesRequested int64 `json:"bytes_requested"`
	// Total size S that was moved, in bytes: the larger of a rank's send and receive buffer.
	Bytes int64 `json:"bytes"`
	// Count is the element count passed to the call on each rank.
	Count int64 `json:"count"`
	// Number of ranks; 0 if unknown.
	Ranks int `json:"ranks"`
	// Number of nodes; 0 if unknown.
	Nodes int `json:"nodes"`
	// GPUs driven by one process; 0 if unknown.
	GPUsPerProcess int `json:"gpus_per_process"`
	// Groups is the number of communicators of this many ranks that ran at once: 1, or all disjoint
	// groups of all nodes; 0 is unknown.
	Groups int `json:"groups"`
	// Stride is the distance between consecutive ranks of a group; absent for neighbours.
	Stride int `json:"stride,omitempty" jsonschema:"minimum=2"`
	// Send and receive buffer overlap as in the collective's in-place form.
	InPlace bool `json:"in_place"`
	// Setup distinguishes results of the same case that are not repeats: the registration of
	// buffers and the policy of compute units; for imports the devices or the settings in which
	// they differ, or the run if the log does not say. Absent for a case measured in one setup.
	Setup string `json:"setup,omitempty"`
	// Evidence is the progress of every rank when the case did not end; absent if it ended.
	Evidence *Evidence `json:"evidence,omitempty"`
	// Burst time per launch, as rccl-tests measures it; null if not measured.
	Burst *Timing `json:"burst"`
	// Isolated time of one launch; null if not measured.
	Isolated *Timing `json:"isolated"`
	// SlowestGroup names the slowest of several groups; null for one.
	SlowestGroup *SlowestGroup `json:"slowest_group"`
	// SlowLaunches counts the isolated launches that took at least 1.5 times the median;
	// absent if there are none.
	SlowLaunches *SlowLaunches `json:"slow_launches,omitempty"`
	// Bytes over the headline time, in bytes per second; null if there is no time.
	AlgBW *float64 `json:"algbw"`
	// algbw times the collective's bus factor, in bytes per second; null if there is no time.
	BusBW *float64 `json:"busbw"`
	// Source of algbw and busbw.
	Headline string `json:"headline,omitempty"`
	// Extrapolated is true if the model of a simulated time has unmeasured parts for this number of
	// nodes, of GPUs on a node, or for this collective.
	Extrapolated bool `json:"extrapolated"`
	// Bracket is the model's range of the time of an extrapolated case; absent if the model
	// has no bracket for it.
	Bracket *Bracket `json:"bracket,omitempty"`
	// Registration is the time for which all ranks registered the case's buffers, in seconds. It is not
	// included in the times of the case. Absent if no buffers were registered just before the case.
	Registration float64 `json:"registration,omitempty" jsonschema:"minimum=0"`
	// Ran is the library's name for what ran a case with a policy, such as CE or RING; absent if the
	// library does not report it.
	Ran string `json:"ran,omitempty"`
	// NICs is the increase of each node's NIC counters during the case; absent if none were read.
	NICs []NICCounters `json:"nics,omitempty"`
}

// States of Verified.
const (
	VerifiedOK     = "ok"
	VerifiedBlocks = "blocks" // random blocks were checked and right
	VerifiedWrong  = "wrong"
	NotVerified    = "not_verified"
)

// Verifications returns all states.
func Verifications() []string {
	return []string{VerifiedOK, VerifiedBlocks, VerifiedWrong, NotVerified}
}

// Verified is the result of a verification.
type Verified struct {
	// Outcome of the check.
	State string `json:"state"`
	// Wrong is the number of wrong elements; null when not verified.
	Wrong *int64 `json:"wrong"`
	// Launches is the number of verification launches behind the state.
	Launches int `json:"launches,omitempty"`
	// Blocks is the number of random blocks checked in each launch; absent if every element was
	// checked.
	Blocks int `json:"blocks,omitempty" jsonschema:"minimum=1"`
	// BlockBytes is the size of a block, in bytes.
	BlockBytes int64 `json:"block_bytes,omitempty" jsonschema:"minimum=1"`
	// Reason why the data were not checked, or the defect.
	Reason string `json:"reason,omitempty"`
	// Elements that a kernel's check compared; absent for collectives.
	Elements int64 `json:"elements,omitempty"`
	// First wrong element; absent if there is none.
	First *WrongElement `json:"first,omitempty"`
	// ULP is the largest difference from the reference in units in the last place; absent if the
	// check requires equal bits.
	ULP *float64 `json:"ulp,omitempty"`
	// Checks compare whole results with float64.
	Checks []Check `json:"checks,omitempty"`
}

// WrongElement is an element with a wrong value.
type WrongElement struct {
	// Index of it in the result.
	Index int64 `json:"index"`
	// Expected value.
	Expected string `json:"expected"`
	// Actual value.
	Got string `json:"got"`
}

// Check is the comparison of a result with float64, with its bar.
type Check struct {
	// Shape that was checked. It is smaller than the shape of the row if float64 or the emulation would
	// take too long.
	Shape string `json:"shape"`
	// Subject of the check.
	What string `json:"what"`
	// Largest deviation.
	Found Deviation `json:"found"`
	// Bar is the largest accepted deviation.
	Bar Deviation `json:"bar"`
	// Pattern of the errors that a check of a whole product found; absent if there are none.
	Pattern string `json:"pattern,omitempty"`
	// Note describes the errors of a whole product and their place; absent if there are none.
	Note string `json:"note,omitempty"`
}

// Patterns of errors in a whole product.
const (
	// PatternIsolated means up to four elements.
	PatternIsolated = "isolated"
	// PatternTiles means whole tiles, rows or columns.
	PatternTiles = "tiles"
	// PatternRounding means errors that are too large everywhere, in no single element.
	PatternRounding = "rounding"
	// PatternUnstable means a product that gave other bits when it was repeated with the same
	// operands.
	PatternUnstable = "unstable"
)

// Patterns returns all patterns.
func Patterns() []string {
	return []string{PatternIsolated, PatternTiles, PatternRounding, PatternUnstable}
}

// Hint returns the remedy for wrong data. If elements changed, the memory may be faulty. Different
// arithmetic is no sign of faulty memory.
func (v Verified) Hint() string {
	i := slices.IndexFunc(v.Checks, func(c Check) bool { return !c.OK() })
	if i < 0 {
		return "run it again, then look at the memory's error counters"
	}
	if k := slices.IndexFunc(v.Checks, func(c Check) bool { return !c.OK() && c.Pattern != "" }); k >= 0 {
		i = k
	}
	switch v.Checks[i].Pattern {
	case PatternIsolated, PatternUnstable:
		return "run it again, then look at the memory's error counters: the pattern is that of elements that change"
	case PatternTiles:
		return "run it again on another GPU: the same tiles wrong there are a fault of the kernel, its compiler or library; other ones are this GPU's"
	case PatternRounding:
		return "run it with another version of compiler or library: elements are near what they must be, and rounded another way than to the nearest bf16"
	}
	return "run it with another --seed, then on another GPU or with another version of compiler or library: the deviation is one of arithmetic"
}

// Deviation is the distance of a result from its reference.
type Deviation struct {
	// Norm of the difference over the reference's norm.
	Frobenius float64 `json:"frobenius"`
	// Largest difference of an element, relative if the bar is 2^-8; for symmetry the number of
	// differing elements. For a whole product both are residuals, as shares of what rounding to
	// nearest explains: the bar is 1.
	Max float64 `json:"max"`
}

// Within reports whether both parts of a deviation are no larger than the parts of another deviation.
func (d Deviation) Within(most Deviation) bool {
	return d.Frobenius <= most.Frobenius && d.Max <= most.Max
}

// Worst keeps the larger of two deviations.
func (c *Check) Worst(d Deviation) {
	c.Found.Frobenius = worse(c.Found.Frobenius, d.Frobenius)
	c.Found.Max = worse(c.Found.Max, d.Max)
}

// Nearest keeps the check that came nearest to its bar, or exceeded it most, among checks with
// different bars.
func (c *Check) Nearest(found, bar Deviation) {
	share := func(d, b Deviation) float64 { return worse(d.Frobenius/b.Frobenius, d.Max/b.Max) }
	if c.Bar == (Deviation{}) || share(found, bar) > share(c.Found, c.Bar) {
		c.Found, c.Bar = Deviation{}, bar
		c.Worst(found)
	}
}

// worse returns the larger. NaN counts as the largest number that JSON can hold.
func worse(a, b float64) float64 {
	if math.IsNaN(a) || math.IsNaN(b) {
		return math.MaxFloat64
	}
	return min(math.MaxFloat64, max(a, b))
}

// OK reports whether the deviation is within the bar.
func (c Check) OK() bool { return c.Found.Within(c.Bar) }

// Timing is one way of timing a case. Every summary is of seconds per launch.
type Timing struct {
	// Iterations is the number of launches behind one sample.
	Iterations int `json:"iterations"`
	// The mean over ranks, which rccl-tests prints by default; null if the source lacks it.
	MeanOfRanks *stat.Summary `json:"mean_of_ranks"`
	// The slowest rank, for which a training step waits; null if the source lacks it.
	MaxOfRanks *stat.Summary `json:"max_of_ranks"`
	// Spread is the slowest rank less the fastest, per launch, in seconds; null for bursts.
	Spread *stat.Summary `json:"spread"`
	// Stop is the rule that ended the timing; absent if unknown.
	Stop string `json:"stop,omitempty"`
	// Algorithm bandwidth from the median, in bytes per second; null if there is none.
	AlgBW *float64 `json:"algbw"`
	// Bus bandwidth from the median, in bytes per second; null if there is none.
	BusBW *float64 `json:"busbw"`
	// Late counts how often each rank had the shortest interval. If all ranks wait for all, that is
	// the rank that arrived last. Ranks without such a launch are omitted.
	Late []LateCount `json:"late,omitempty"`
	// Discarded counts the launches discarded because an interval was not positive.
	Discarded int `json:"discarded,omitempty"`
	// Range of the median of mean_of_ranks given the rounding of an imported log; absent for
	// zbench's own timings.
	Rounding *Interval `json:"rounding,omitempty"`
	// EventFloor is the median interval of an empty pair of events, in seconds. It is recorded, not
	// subtracted.
	EventFloor *float64 `json:"event_floor,omitempty"`
}

// Interval is a closed range of seconds.
type Interval struct {
	// Lower end, in seconds.
	Lo float64 `json:"lo"`
	// Upper end, in seconds.
	Hi float64 `json:"hi"`
}

// SlowestGroup is the slowest of the simultaneous groups, by the median of its isolated launches.
// Times are in seconds.
type SlowestGroup struct {
	// FirstRank is the group's first rank in the whole world.
	FirstRank int `json:"first_rank"`
	// Median of the group, in seconds.
	Median float64 `json:"median"`
	// Median of the groups' medians, in seconds.
	Typical float64 `json:"typical"`
	// Smallest of the groups' medians, in seconds.
	Fastest float64 `json:"fastest"`
	// Slow are the first ranks of all groups that take more than 5 % longer than the typical group, in
	// order; absent if there is no such group.
	Slow []int `json:"slow,omitempty"`
}

// LateCount is the number of launches in which a rank arrived last.
type LateCount struct {
	// Rank, from 0.
	Rank int `json:"rank"`
	// Number of launches.
	Count int `json:"count"`
}

// SetRates fills in AlgBW and BusBW for a total size in bytes.
func (t *Timing) SetRates(bytes int64, busFactor float64) {
	s := t.MeanOfRanks
	if s == nil {
		s = t.MaxOfRanks
	}
	if s == nil || s.Median <= 0 {
		return
	}
	alg := float64(bytes) / s.Median
	bus := alg * busFactor
	t.AlgBW, t.BusBW = &alg, &bus
}

// HeadlineBurst names the time behind algbw and busbw of a burst result.
const HeadlineBurst = "median of burst.mean_of_ranks"

// Key returns a case's key. It uses the requested size, because the moved size depends on the
// number of ranks.
func Key(coll, dtype, op string, requested int64, ranks, gpusPerProcess int, inPlace bool) string {
	place := "oop"
	if inPlace {
		place = "ip"
	}
	if op == "" {
		op = "none"
	}
	return fmt.Sprintf("%s/%s/%s/%d/r%d/g%d/%s", coll, dtype, op, requested, ranks, gpusPerProcess, place)
}

// Seconds returns the time behind the headline figures and whether there is one.
func (r *Result) Seconds() (float64, bool) {
	if r.Burst == nil || r.Burst.MeanOfRanks == nil {
		return 0, false
	}
	return r.Burst.MeanOfRanks.Median, true
}

// SetHeadline fills in AlgBW and BusBW from the burst time and the collective's bus factor. It
// leaves them null if there is no positive time.
func (r *Result) SetHeadline(busFactor float64) {
	for _, t := range []*Timing{r.Burst, r.Isolated} {
		if t != nil {
			t.SetRates(r.Bytes, busFactor)
		}
	}
	if r.Burst == nil || r.Burst.AlgBW == nil {
		return
	}
	r.AlgBW, r.BusBW, r.Headline = r.Burst.AlgBW, r.Burst.BusBW, HeadlineBurst
}
