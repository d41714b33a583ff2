package stat

import (
	"fmt"
	"math"
)

// Stop reasons of a timing, as in the record.
const (
	StopPrecision  = "precision"
	StopMaxTime    = "max_time"
	StopMaxSamples = "max_samples"
	// StopDiscarded is set by the runner, not by a rule, if nearly all samples were discarded.
	StopDiscarded = "discarded"
)

const (
	// minPrecise is the n below which a timing never stops for precision.
	minPrecise = 10
	// firstBatch is the size of the first batch if the time per sample is unknown.
	firstBatch = 10
	// leastBatch is the smallest size of a later batch. A later batch also has at least a quarter
	// of the series' samples. Each decision costs a round trip to every host, and is another chance
	// to stop on a narrow interval that misses the median.
	leastBatch = 5
	// margin multiplies the estimated number of samples. The estimate is uncertain, and too few
	// samples cost another batch.
	margin = 1.05
)

// Rule determines when a timing stops. It is plain data and Decide is a pure function, so that the
// leader can decide for all processes.
type Rule struct {
	// Precision is the target for half the 95 % interval of the median, divided by the median
	// (default 0.01). With 0 the timing runs to one of its limits.
	Precision float64
	// MinSamples is the least number of samples of a timing that stops for precision (default 40;
	// at least ten). Ten samples cannot distinguish a correlation of 0.9 from none. With ten
	// samples, one such series in four stops without a flag. With 40 samples, one such series in
	// 200 stops without a flag. If there are outliers, it is one in 40 (docs/EXPERIMENTS.md).
	MinSamples int
	// MaxSamples is the number of samples that ends a timing (default 10,000).
	MaxSamples int
	// MaxTime is the measured time, in seconds, that ends a timing (default 0.4). It takes
	// precedence over MinSamples, but a timing always has the MinInterval samples that an interval
	// needs. 0 is no limit.
	MaxTime float64
	// Expected is the expected time per sample from the warm-up, in seconds; 0 if unknown. It
	// bounds the first batch.
	Expected float64
	// Batch is the largest number of samples in a batch. 0 is no limit.
	Batch int
}

// DefaultRule stops at a precision of 1 % or after 0.4 s.
func DefaultRule() Rule {
	return Rule{Precision: 0.01, MinSamples: 40, MaxSamples: 10_000, MaxTime: 0.4}
}

// Fixed returns a rule that stops after n samples and has no time limit.
func Fixed(n int) Rule { return Rule{MinSamples: n, MaxSamples: n} }

// Validate returns an error for a rule that never stops or stops before the first sample.
func (r Rule) Validate() error {
	switch {
	case math.IsNaN(r.Precision) || r.Precision < 0 || r.Precision >= 1:
		return fmt.Errorf("precision must be in [0, 1), not %g", r.Precision)
	case r.MaxSamples < 1:
		return fmt.Errorf("the largest number of samples must be at least 1, not %d", r.MaxSamples)
	case r.MinSamples < 0 || r.MinSamples > r.MaxSamples:
		return fmt.Errorf("the smallest number of samples must be in [0, %d], not %d", r.MaxSamples, r.MinSamples)
	case math.IsNaN(r.MaxTime) || math.IsInf(r.MaxTime, 0) || r.MaxTime < 0:
		return fmt.Errorf("the time per timing must be finite and not negative, not %g s", r.MaxTime)
	case math.IsNaN(r.Expected) || r.Expected < 0:
		return fmt.Errorf("the expected time of a sample must not be negative, not %g s", r.Expected)
	case r.Batch < 0:
		return fmt.Errorf("the largest batch must not be negative, not %d", r.Batch)
	}
	return nil
}

// Decision is the result of Decide: a stop with its reason, or the number of samples of
// the next batch.
type Decision struct {
	Stop bool
	Why  string
	Next int
}

// Decide returns the decision for a series in time order. spent is the time that the series took,
// in seconds. It checks the precision before the limits: if both are reached in one batch,
// precision is the stop reason.
func (r Rule) Decide(series []float64, spent float64) Decision {
	n := len(series)
	need, precise := r.need(series)
	switch {
	case precise:
		return Decision{Stop: true, Why: StopPrecision}
	case n >= r.MaxSamples:
		return Decision{Stop: true, Why: StopMaxSamples}
	}
	next := min(max(need-n, leastBatch, n/4), r.MaxSamples-n)
	room := r.room(n, spent)
	// Stop if the remaining time adds less than 5 %.
	if room < max(1, n/20) {
		return Decision{Stop: true, Why: StopMaxTime}
	}
	next = min(next, room)
	if r.Batch > 0 {
		next = min(next, r.Batch)
	}
	return Decision{Next: next}
}

// need estimates the number of samples that reach the precision, and reports whether the series has
// reached it already. The interval narrows with √n. The estimate grows at most threefold per batch,
// because a short series estimates its own spread badly.
func (r Rule) need(series []float64) (samples int, precise bool) {
	n := len(series)
	least := max(r.MinSamples, minPrecise)
	if n < least {
		return least, false
	}
	if r.Precision <= 0 {
		return 3 * n, false
	}
	s := Summarize(series)
	if s.Lo == nil || s.Median <= 0 {
		return 3 * n, false
	}
	off := (*s.Hi - *s.Lo) / 2 / s.Median / r.Precision
	if off <= 1 {
		return n, true
	}
	return int(min(3, margin*off*off) * float64(n)), false
}

// room returns the number of samples that fit into the remaining time.
func (r Rule) room(n int, spent float64) int {
	if r.MaxTime <= 0 {
		return math.MaxInt
	}
	per := r.Expected
	if n > 0 {
		per = spent / float64(n)
	}
	room := math.MaxInt
	switch left := r.MaxTime - spent; {
	case n > 0 && left <= 0:
		room = 0
	case per > 0 && left/per < math.MaxInt32:
		room = int(left / per)
	case per <= 0 && n == 0:
		room = firstBatch
	}
	if n < MinInterval {
		room = max(room, MinInterval-n)
	}
	return room
}

// Bounds returns the fewest and the most samples of a timing. sample is the time per sample in
// seconds, or 0 if unknown.
func (r Rule) Bounds(sample float64) (fewest, most int) {
	fewest, most = r.MaxSamples, r.MaxSamples
	if r.MaxTime > 0 {
		fewest = 0
		if sample > 0 {
			fit := min(r.MaxTime/sample, float64(r.MaxSamples))
			fewest, most = int(fit/1.05)-1, int(fit)+1 // Decide may leave 5 % of the time unused
		}
		fewest, most = max(fewest, MinInterval), max(most, MinInterval)
	}
	if r.Precision > 0 {
		fewest = min(fewest, max(r.MinSamples, minPrecise))
	}
	return min(fewest, r.MaxSamples), min(most, r.MaxSamples)
}
