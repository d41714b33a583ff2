package record

import (
	"fmt"
	"math"

	"zbench/bench/stat"
)

// Status is how a case ended. Nothing vanishes: every planned case has one.
type Status string

// The ways a case can end.
const (
	OK          Status = "ok"
	Skipped     Status = "skipped"
	Failed      Status = "failed"
	Interrupted Status = "interrupted"
	WrongData   Status = "wrong_data"
)

// Result is one case: a collective at one size, with its timings.
type Result struct {
	// Key identifies the case within the record and across records.
	Key        string `json:"key"`
	Collective string `json:"collective"`
	Dtype      string `json:"dtype"`
	// Op is the reduction operator; empty where the collective has none.
	Op string `json:"op"`
	// BytesRequested is the size asked for, Bytes the total size S moved.
	BytesRequested int64 `json:"bytes_requested"`
	Bytes          int64 `json:"bytes"`
	// Count is the element count passed to the call on each rank.
	Count          int64 `json:"count"`
	Ranks          int   `json:"ranks"`
	Nodes          int   `json:"nodes"`
	GPUsPerProcess int   `json:"gpus_per_process"`
	// Groups is the number of communicators of Ranks that ran at once: 1, or all
	// disjoint groups of all nodes. 0 is not known.
	Groups int `json:"groups"`
	// Stride is how far apart the ranks of each of the groups are; 0 where they are
	// neighbours.
	Stride  int  `json:"stride,omitempty"`
	InPlace bool `json:"in_place"`
	// Setup tells apart imported results of the same case that are no repeats:
	// the devices or the settings in which they differ. Empty for a case that was
	// measured in one setup.
	Setup  string `json:"setup,omitempty"`
	Status Status `json:"status"`
	// Reason says why the status is not ok.
	Reason string `json:"reason,omitempty"`
	// Evidence is what was known of every rank when the case did not end.
	Evidence *Evidence `json:"evidence,omitempty"`
	Verified Verified  `json:"verified"`
	// Burst is N launches back to back, divided by N, as rccl-tests times them.
	// Isolated is what one launch costs alone.
	Burst    *Timing `json:"burst"`
	Isolated *Timing `json:"isolated"`
	// SlowestGroup names the slowest of several groups; null for one.
	SlowestGroup *SlowestGroup `json:"slowest_group"`
	// SlowLaunches counts the launches that took far longer than the median; nil
	// where none did.
	SlowLaunches *SlowLaunches `json:"slow_launches,omitempty"`
	// AlgBW and BusBW are in bytes per second, from the time Headline names;
	// null when there is none.
	AlgBW    *float64 `json:"algbw"`
	BusBW    *float64 `json:"busbw"`
	Headline string   `json:"headline,omitempty"`
	// Extrapolated is true when the model behind a simulated time has parts that
	// nobody measured: for that number of nodes, of GPUs on a node, or for that
	// collective.
	Extrapolated bool      `json:"extrapolated"`
	Warnings     []Warning `json:"warnings"`
}

// States of Verified.
const (
	VerifiedOK    = "ok"
	VerifiedWrong = "wrong"
	NotVerified   = "not_verified"
)

// Verified tells whether the data were checked.
type Verified struct {
	State string `json:"state"`
	// Wrong is the number of wrong elements; null when not verified.
	Wrong *int64 `json:"wrong"`
	// Launches is the number of verification launches behind the state.
	Launches int    `json:"launches,omitempty"`
	Reason   string `json:"reason,omitempty"`
	// Elements were looked at; First is the first that was wrong.
	Elements int64         `json:"elements,omitempty"`
	First    *WrongElement `json:"first,omitempty"`
	// ULP is the largest difference from the reference in units of the last place,
	// absent where the check is for equal bits.
	ULP *float64 `json:"ulp,omitempty"`
	// Checks hold results against float64 as a whole.
	Checks []Check `json:"checks,omitempty"`
}

// WrongElement is an element that is not what it must be.
type WrongElement struct {
	Index    int64  `json:"index"`
	Expected string `json:"expected"`
	Got      string `json:"got"`
}

// Check is a result held against float64 and its bar.
type Check struct {
	// Shape is the one that was checked, smaller than the row's where float64 or the
	// emulation could not follow.
	Shape string    `json:"shape"`
	What  string    `json:"what"`
	Found Deviation `json:"found"`
	Bar   Deviation `json:"bar"`
}

// Deviation is how far a result is from its reference.
type Deviation struct {
	// Frobenius is ‖got − want‖ / ‖want‖, Max the largest |got − want|.
	Frobenius float64 `json:"frobenius"`
	Max       float64 `json:"max"`
}

// Within tells whether a deviation is no larger than another in both.
func (d Deviation) Within(most Deviation) bool {
	return d.Frobenius <= most.Frobenius && d.Max <= most.Max
}

// Worst keeps the larger of what was found and another finding.
func (c *Check) Worst(d Deviation) {
	c.Found.Frobenius = worse(c.Found.Frobenius, d.Frobenius)
	c.Found.Max = worse(c.Found.Max, d.Max)
}

// worse is the larger. What is no number is the largest that JSON has a word for.
func worse(a, b float64) float64 {
	if math.IsNaN(a) || math.IsNaN(b) {
		return math.MaxFloat64
	}
	return min(math.MaxFloat64, max(a, b))
}

// OK tells whether the bar is kept.
func (c Check) OK() bool { return c.Found.Within(c.Bar) }

// Timing is one way of timing a case. Every summary is of seconds per launch.
type Timing struct {
	// Iterations is the number of launches behind one sample.
	Iterations int `json:"iterations"`
	// MeanOfRanks summarises the mean over ranks (rccl-tests' default),
	// MaxOfRanks the slowest rank, which is what a training step waits for.
	// Null when the source does not tell.
	MeanOfRanks *stat.Summary `json:"mean_of_ranks"`
	MaxOfRanks  *stat.Summary `json:"max_of_ranks"`
	// Spread summarises the slowest rank less the fastest, per launch, in
	// seconds; isolated timing alone has it.
	Spread *stat.Summary `json:"spread"`
	// Stop says which rule ended the timing: precision, max_time, max_samples.
	Stop string `json:"stop,omitempty"`
	// AlgBW and BusBW are in bytes per second, from the median of MeanOfRanks, or
	// of MaxOfRanks where that is all there is.
	AlgBW *float64 `json:"algbw"`
	BusBW *float64 `json:"busbw"`
	// Late counts how often each rank had the shortest interval: where all wait
	// for all, that is the rank that came last. Ranks that never had are left out.
	Late []LateCount `json:"late,omitempty"`
	// Discarded counts the intervals that were not positive.
	Discarded int `json:"discarded,omitempty"`
	// Rounding is where the digits that an imported log prints leave the median of
	// MeanOfRanks, in seconds; null for what zbench timed.
	Rounding *Interval `json:"rounding,omitempty"`
	// EventFloor is the median interval of a pair of events with nothing between
	// them, in seconds. It is recorded, not subtracted.
	EventFloor *float64 `json:"event_floor,omitempty"`
}

// Interval is a closed range of seconds.
type Interval struct {
	Lo float64 `json:"lo"`
	Hi float64 `json:"hi"`
}

// SlowestGroup is the slowest of the groups that ran at once, by the median of
// its isolated launches. Times are in seconds.
type SlowestGroup struct {
	// FirstRank is the group's first rank in the whole world.
	FirstRank int     `json:"first_rank"`
	Median    float64 `json:"median"`
	// Typical is the median over the groups' medians, Fastest the least of them.
	Typical float64 `json:"typical"`
	Fastest float64 `json:"fastest"`
	// Slow are the first ranks of all groups that take clearly longer than the
	// typical one, in order; empty where there is none.
	Slow []int `json:"slow,omitempty"`
}

// LateCount is how often a rank came last.
type LateCount struct {
	Rank  int `json:"rank"`
	Count int `json:"count"`
}

// SetRates fills AlgBW and BusBW for a total size in bytes.
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

// Key builds a case's key. The requested size is used, because the moved size
// depends on the number of ranks.
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

// SetHeadline fills AlgBW and BusBW from the burst time and the collective's
// bus factor. It leaves them null where there is no positive time.
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
