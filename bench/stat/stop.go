package stat

import (
	"fmt"
	"math"
)

// Why a timing ended, as the record says it.
const (
	StopPrecision  = "precision"
	StopMaxTime    = "max_time"
	StopMaxSamples = "max_samples"
	// StopDiscarded is the taker's own: nearly all samples were no times.
	StopDiscarded = "discarded"
)

const (
	// minPrecise is the n below which no precision is believed, whatever the
	// rule says.
	minPrecise = 10
	// firstBatch is what is measured while nothing is known of how long a sample
	// takes.
	firstBatch = 10
	// leastBatch and a quarter of what there is are the least that another look
	// at the data must bring: a look is a round trip to every host, and another
	// chance to stop on a narrow interval that misses.
	leastBatch = 5
	// margin is by how much more than the estimated need is asked for. The need
	// is itself estimated, and too few cost another batch.
	margin = 1.05
)

// Rule says how long a timing goes on. It is plain data and Decide a function of
// its arguments, so that rank 0 decides and all others obey.
type Rule struct {
	// Precision is the half 95 % interval of the median over the median at which
	// a timing is precise enough (default 0.01). 0 asks for no precision: the
	// timing then goes on to one of its limits.
	Precision float64
	// MinSamples come before a timing can be precise enough (default 40; below
	// ten it is ten). Ten samples cannot tell a correlation of 0.9 from none: a
	// rule that trusts them stops on one such series in four without flagging
	// it, one that waits for 40 on one in 200, or in 40 where there are outliers
	// (docs/EXPERIMENTS.md).
	MinSamples int
	// MaxSamples end a timing (default 10,000).
	MaxSamples int
	// MaxTime ends a timing: seconds of measured time (default 0.4). It wins
	// over MinSamples, but not over the MinInterval samples that an interval
	// needs. 0 is no limit.
	MaxTime float64
	// Expected is the number of seconds that one sample is thought to take, as
	// known from the warm-up, and bounds the first batch. 0 is not known.
	Expected float64
	// Batch is the largest number of samples in a batch. 0 is no limit.
	Batch int
}

// DefaultRule is 1 % within 0.4 s.
func DefaultRule() Rule {
	return Rule{Precision: 0.01, MinSamples: 40, MaxSamples: 10_000, MaxTime: 0.4}
}

// Fixed takes n samples, however long they take.
func Fixed(n int) Rule { return Rule{MinSamples: n, MaxSamples: n} }

// Validate reports rules that stop never, or at once.
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

// Decision is what rank 0 tells the others: stop and why, or the number of
// samples of the next batch.
type Decision struct {
	Stop bool
	Why  string
	Next int
}

// Decide looks at the series, in time order, on which spent seconds were
// measured. Precision comes before limits, so that a timing which reached it in
// its last batch says so.
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
	// What the clock leaves is not worth a look when it adds less than 5 %.
	if room < max(1, n/20) {
		return Decision{Stop: true, Why: StopMaxTime}
	}
	next = min(next, room)
	if r.Batch > 0 {
		next = min(next, r.Batch)
	}
	return Decision{Next: next}
}

// need estimates how many samples the series must have to be precise, and says
// whether it is. The interval narrows with √n. More than threefold growth is
// not believed: a short series knows its own spread badly.
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

// room is the number of samples for which the time limit leaves time.
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

// Bounds are the fewest and the most samples that a timing can take when each
// takes so many seconds; 0 is not known.
func (r Rule) Bounds(sample float64) (fewest, most int) {
	fewest, most = r.MaxSamples, r.MaxSamples
	if r.MaxTime > 0 {
		fewest = 0
		if sample > 0 {
			fit := min(r.MaxTime/sample, float64(r.MaxSamples))
			fewest, most = int(fit/1.05)-1, int(fit)+1 // Decide may leave 5 % of the time
		}
		fewest, most = max(fewest, MinInterval), max(most, MinInterval)
	}
	if r.Precision > 0 {
		fewest = min(fewest, max(r.MinSamples, minPrecise))
	}
	return min(fewest, r.MaxSamples), min(most, r.MaxSamples)
}
