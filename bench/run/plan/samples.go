package plan

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"zbench/bench/base/slice"
	"zbench/bench/base/stat"
	"zbench/bench/base/unit"
	"zbench/bench/hardware/policy"
	"zbench/bench/run/record"
)

// passRun is the state of one pass over one case.
type passRun struct {
	c    Case
	part record.Part
	late map[int]int
	// ties counts the launches in which several ranks share the shortest interval.
	ties int
	// groups has the times of the isolated launches of each simultaneous group.
	groups [][]float64
	// everyRank keeps the interval of each rank.
	everyRank bool
	// launch is the time of a launch in the warm-up, in seconds; 0 if unknown.
	launch float64
	// Field first has the times of the first batches, if both timings began with one order.
	first Timed
}

// fail ends the pass with an error and its evidence. If a process was lost or stood still, the case is
// not at fault, and its pass is interrupted.
func (t *passRun) fail(d Driver, err error) {
	t.part.Evidence, t.part.Reason = Explain(d, err)
	t.part.Status = record.Failed
	all, ok := errors.AsType[*GroupError](err)
	switch {
	case ok && all.Lost():
		t.part.Status, t.part.Reason = record.Interrupted, record.LostProcess+t.part.Reason
	case ok && all.StoodStill():
		t.part.Status, t.part.Reason = record.Interrupted, record.StoodStill+t.part.Reason
	}
}

// Explain returns the evidence of an error, nil if it has none, and the reason as text. If a
// deadline has passed, the driver's second witness is asked, and its answer is added to the
// evidence.
func Explain(d any, err error) (e *record.Evidence, reason string) {
	reason = err.Error()
	stuck, ok := errors.AsType[Stuck](err)
	if !ok {
		return nil, reason
	}
	e = stuck.Evidence()
	second, ok := d.(Witnessing)
	if ok && e != nil && e.Deadline != nil {
		if e.Witness = second.Witness(); e.Witness != nil {
			reason += "; " + e.Witness.Text()
		}
	}
	return e, reason
}

func (t *passRun) end(status record.Status, reason string) {
	t.part.Status, t.part.Reason = status, reason
}

// ranks returns the number of active ranks.
func (t *passRun) ranks() int { return t.c.Ranks * max(t.c.Parallel, 1) }

// Method whole returns a function that checks a driver's answer: it must have the requested number of
// rows for all ranks.
func (t *passRun) whole(rows int) func([]float64, error) ([]float64, error) {
	return func(seconds []float64, err error) ([]float64, error) {
		if want := rows * t.ranks(); err == nil && len(seconds) != want {
			err = fmt.Errorf("%d times of %d ranks instead of %d: the processes launched different operations", len(seconds), t.ranks(), want)
		}
		return seconds, err
	}
}

// prepare begins the pass with the warm-up and the verification.
func (t *passRun) prepare(ctx context.Context, d Driver, o Effort, pass int, known expected) error {
	want := Preparation{Case: t.c, Pass: pass, Warmup: o.Warmup, Verify: pass == 0 && o.Checks > 0}
	if known.launch > 0 && o.Warmup > 0 {
		want.First = firstOf(t.c, o, known.launch, known.within)
	}
	if pass == 0 && (o.Checks > 1 || !want.First.both()) { // further verifications and bursts come before isolated launches
		want.First = Batches{}
	}
	got, err := Prepare(ctx, d, want)
	told, tells := d.(Registering)
	if tells && t.c.Policy.Register != "" {
		t.part.Registration = told.Registration()
	}
	if err == nil && o.Warmup > 0 {
		_, err = t.whole(1)(got.Seconds, nil)
	}
	if err != nil {
		return err
	}
	if o.Warmup > 0 {
		_, t.launch = reduce(got.Seconds)
	}
	if err = t.takes(want.First, got.First); err == nil && pass == 0 {
		err = t.verify(ctx, d, o.Checks, got)
	}
	if tells && err == nil && t.c.Policy != (policy.Policy{}) && (o.Warmup > 0 || want.Verify) {
		ran := told.Ran(t.c)
		t.part.Ran = ran.By
		if why := t.c.Policy.Denied(ran); why != "" && t.part.Status == record.OK {
			t.end(record.Skipped, why)
		}
	}
	return err
}

// takes checks the times of first batches and keeps them until the timings need them.
func (t *passRun) takes(b Batches, got Timed) (err error) {
	if b.Bursts != nil {
		_, err = t.whole(b.Bursts.Count)(got.Bursts, nil)
	}
	if b.Isolated > 0 && err == nil {
		_, err = t.whole(b.Isolated)(got.Isolated, nil)
	}
	t.first = got
	return err
}

// begin runs the first batches of both timings together, unless they ran with the warm-up. The
// warm-up gives the time of a launch.
func (t *passRun) begin(ctx context.Context, d Driver, o Effort) error {
	b := firstOf(t.c, o, t.launch, 1)
	if t.first.Bursts != nil || t.first.Isolated != nil || !b.both() {
		return nil
	}
	got, err := runBatches(ctx, d, b)
	if err != nil {
		return err
	}
	return t.takes(b, got)
}

// verify runs the verification launches after the first launch. Wrong data end the case.
func (t *passRun) verify(ctx context.Context, d Driver, launches int, first Prepared) (err error) {
	v := record.Verified{State: record.NotVerified, Reason: "no verification requested (-c 0)"}
	wrong := int64(0)
	if launches > 0 && first.Unverifiable != "" {
		v.Reason, launches = first.Unverifiable, 0
	}
	for launch := range launches {
		got := first.Verified
		if launch > 0 {
			if got, err = d.Verify(ctx, t.c, launch); err != nil {
				return err
			}
		}
		if wrong == 0 {
			v = record.Verified{State: record.VerifiedOK, Wrong: &wrong, Launches: launches, Blocks: got.Blocks, BlockBytes: got.BlockBytes}
			if got.Blocks > 0 {
				v.State, v.Reason = record.VerifiedBlocks, fmt.Sprintf("too large but for %d random blocks of %s", got.Blocks, unit.Bytes(got.BlockBytes))
			}
			if got.Wrong > 0 {
				v.State, v.Reason = record.VerifiedWrong, got.First
			}
		}
		wrong += got.Wrong
	}
	t.part.Verified = &v
	if wrong > 0 {
		t.end(record.WrongData, fmt.Sprintf("%d wrong elements; %s", wrong, v.Reason))
	}
	return nil
}

// bursts runs bursts until the rule stops. From the warm-up's time the rule knows how many bursts fit
// into the time limit.
func (t *passRun) bursts(ctx context.Context, d Driver, rule stat.Rule, iterations int) error {
	bursts := Bursts{Iterations: iterations, Replays: t.c.Graph}
	launches := bursts.Launches()
	b := &record.BurstSamples{Iterations: launches, Mean: []float64{}, Max: []float64{}}
	t.part.Burst = b
	rule.Expected = t.launch * float64(launches)
	var err error
	b.Stop, err = Sample(rule, &b.Mean, func(n int) (spent float64, err error) {
		bursts.Count = n
		seconds := t.first.Bursts // their number differs from n if the time in the warm-up was far off
		if t.first.Bursts = nil; seconds == nil {
			seconds, err = t.whole(n)(d.Burst(ctx, bursts))
		}
		if err != nil {
			return 0, err
		}
		for ranks := range slices.Chunk(seconds, t.ranks()) {
			mean, longest := reduce(ranks)
			b.Mean = append(b.Mean, mean)
			b.Max = append(b.Max, longest)
			spent += longest * float64(launches)
		}
		return spent, nil
	})
	return err
}

// mostDiscarded limits the launches without a positive time. The isolated timing ends if there are more
// such launches than mostDiscarded plus ten times the number of good launches. For example, a single rank
// launches nothing in place.
const mostDiscarded = 1000

// errDiscarded ends a timing in which nearly all launches took no time.
var errDiscarded = errors.New(stat.StopDiscarded)

// isolated runs isolated launches until the rule stops. The time of a warm-up launch decides the size of
// the first batch: otherwise nearly every timing would need a second batch, with its own order.
func (t *passRun) isolated(ctx context.Context, d Driver, rule stat.Rule) (err error) {
	b := &record.IsolatedSamples{Max: []float64{}, Spread: []float64{}, EventFloor: d.EventFloor()}
	t.part.Isolated = b
	rule.Expected = t.launch
	if t.c.Parallel > 1 {
		t.groups = make([][]float64, t.c.Parallel)
	}
	b.Stop, err = Sample(rule, &b.Max, func(n int) (spent float64, err error) {
		intervals, held := t.first.Isolated, t.first.Held
		if t.first.Isolated = nil; intervals == nil {
			intervals, err = t.whole(n)(d.Isolated(ctx, n))
			held = d.Held()
		}
		if err != nil {
			return 0, err
		}
		if !held {
			if b.Repeated < MostRepeats {
				b.Repeated++
				return 0, nil
			}
			b.StartedEarly += len(intervals) / t.ranks()
		}
		for ranks := range slices.Chunk(intervals, t.ranks()) {
			spent += t.keep(b, ranks)
		}
		if b.Discarded > mostDiscarded+10*len(b.Max) {
			return spent, errDiscarded
		}
		return spent, nil
	})
	if errors.Is(err, errDiscarded) {
		b.Stop, err = stat.StopDiscarded, nil
	}
	t.gather(b)
	return err
}

// gather adds the counts of late ranks, and the groups' medians and slow launches.
func (t *passRun) gather(b *record.IsolatedSamples) {
	for _, rank := range slices.Sorted(maps.Keys(t.late)) {
		b.Late = append(b.Late, record.LateCount{Rank: rank, Count: t.late[rank]})
	}
	var slow []int
	for _, g := range t.groups {
		if len(g) > 0 {
			b.Groups = append(b.Groups, stat.Quantile(g, 0.5))
			slow = append(slow, record.CountSlow(g))
		}
	}
	if slices.ContainsFunc(slow, func(n int) bool { return n > 0 }) {
		b.Slow = slow
	}
}

// keep adds one isolated launch and returns the time of its slowest rank. A launch with an interval
// that is not positive is discarded and counted. If several ranks share the shortest interval, as with a
// coarse clock, they are counted as late in turn: always counting the first would blame the low ranks,
// and counting none would hide a node that is late as a whole.
func (t *passRun) keep(b *record.IsolatedSamples, ranks []float64) float64 {
	if t.everyRank {
		for _, s := range ranks {
			b.Ranks = binary.LittleEndian.AppendUint32(b.Ranks, math.Float32bits(float32(s)))
		}
	}
	shortest := slices.Min(ranks)
	longest := slices.Max(ranks)
	if shortest <= 0 {
		b.Discarded++
		return max(longest, 0)
	}
	b.Max = append(b.Max, longest)
	b.Spread = append(b.Spread, longest-shortest)
	for g := range t.groups {
		slowest := 0.0
		for i := range t.c.Ranks {
			slowest = max(slowest, ranks[t.c.Split.Rank(g, i, t.c.Ranks)])
		}
		t.groups[g] = append(t.groups[g], slowest)
	}
	if len(ranks) > 1 && len(t.groups) == 0 && longest > shortest { // groups do not wait for each other
		t.late[t.byTurns(ranks, shortest)]++
	}
	return longest
}

// byTurns returns a rank with this interval. If several ranks have it, they take turns.
func (t *passRun) byTurns(ranks []float64, interval float64) int {
	having := slice.Count(ranks, func(s float64) bool { return s == interval })
	turn := t.ties % having
	if having > 1 {
		t.ties++
	}
	return slices.IndexFunc(ranks, func(s float64) bool {
		if s == interval {
			turn--
		}
		return turn < 0
	})
}

// reduce returns the mean and the largest of the ranks' times.
func reduce(ranks []float64) (mean, longest float64) {
	for _, s := range ranks {
		mean += s
		longest = max(longest, s)
	}
	return mean / float64(len(ranks)), longest
}
