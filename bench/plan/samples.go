package plan

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"zbench/bench/record"
	"zbench/bench/stat"
)

// samples is what has been measured of one case so far.
type samples struct {
	c      Case
	result record.Result
	// means and maxes are of bursts, alone and spread of isolated launches.
	means, maxes, alone, spread series
	late                        map[int]int
	discarded                   int
}

// series is one kind of sample over the passes, in the order of time.
type series struct {
	values []float64
	passes []int // where each pass begins
	stop   string
}

func newSamples(c Case) *samples {
	s := &samples{c: c, result: c.result(), late: map[int]int{}}
	if c.Skip != "" {
		s.end(record.Skipped, c.Skip)
	}
	return s
}

func (s *samples) end(status record.Status, reason string) {
	s.result.Status, s.result.Reason = status, reason
}

// verify runs the verification launches; wrong data end the case.
func (s *samples) verify(ctx context.Context, d Driver, launches int) error {
	v := &s.result.Verified
	if launches == 0 {
		v.Reason = "no verification asked for (-c 0)"
		return nil
	}
	wrong := int64(0)
	for launch := range launches {
		got, err := d.Verify(ctx, s.c, launch)
		switch {
		case err != nil:
			return err
		case got.Skipped != "":
			v.Reason = got.Skipped
			return nil
		}
		if got.Wrong > 0 && wrong == 0 {
			v.Reason = got.First
		}
		wrong += got.Wrong
	}
	v.State, v.Wrong, v.Launches = record.VerifiedOK, &wrong, launches
	if wrong > 0 {
		v.State = record.VerifiedWrong
		s.end(record.WrongData, fmt.Sprintf("%d wrong elements; %s", wrong, v.Reason))
	} else {
		v.Reason = ""
	}
	return nil
}

// bursts takes bursts until the rule says that there are enough.
func (s *samples) bursts(ctx context.Context, d Driver, rule stat.Rule, iterations int) error {
	s.means.begin()
	s.maxes.begin()
	spent := 0.0
	for {
		decision := rule.Decide(s.means.now(), spent)
		if decision.Stop {
			s.means.stop = decision.Why
			return nil
		}
		for range decision.Next {
			ranks, err := d.Burst(ctx, iterations)
			if err != nil {
				return err
			}
			mean, longest := reduce(ranks)
			s.means.add(mean)
			s.maxes.add(longest)
			spent += longest * float64(iterations)
			if rule.MaxTime > 0 && spent >= rule.MaxTime && len(s.means.now()) >= stat.MinInterval {
				break
			}
		}
	}
}

// isolated takes launches alone until the rule says that there are enough.
func (s *samples) isolated(ctx context.Context, d Driver, rule stat.Rule) error {
	s.alone.begin()
	s.spread.begin()
	spent, ranks := 0.0, s.c.Ranks*s.c.Parallel
	for {
		decision := rule.Decide(s.alone.now(), spent)
		if decision.Stop {
			s.alone.stop = decision.Why
			return nil
		}
		intervals, err := d.Isolated(ctx, decision.Next)
		if err != nil {
			return err
		}
		ranks = min(ranks, len(intervals))
		for len(intervals) > 0 {
			spent += s.launch(intervals[:ranks])
			intervals = intervals[ranks:]
		}
	}
}

// launch keeps one isolated launch: its value is that of the slowest rank. One
// that has an interval that is not positive is discarded and counted.
func (s *samples) launch(ranks []float64) float64 {
	shortest := slices.Min(ranks)
	longest := slices.Max(ranks)
	if shortest <= 0 {
		s.discarded++
		return max(longest, 0)
	}
	s.alone.add(longest)
	s.spread.add(longest - shortest)
	if len(ranks) > 1 {
		s.late[slices.Index(ranks, shortest)]++
	}
	return longest
}

// finish makes the case's result.
func (s *samples) finish(o Options, d Driver) record.Result {
	r := &s.result
	if len(s.means.values) > 0 {
		r.Burst = &record.Timing{
			Iterations: o.Iterations, Stop: s.means.stop,
			MeanOfRanks: stat.Summarize(s.means.values), MaxOfRanks: stat.Summarize(s.maxes.values),
		}
	}
	if len(s.alone.values) > 0 {
		floor := d.EventFloor()
		r.Isolated = &record.Timing{
			Iterations: 1, Stop: s.alone.stop, Discarded: s.discarded, EventFloor: &floor,
			MaxOfRanks: stat.Summarize(s.alone.values), Spread: stat.Summarize(s.spread.values),
		}
		for _, rank := range slices.Sorted(maps.Keys(s.late)) {
			r.Isolated.Late = append(r.Isolated.Late, record.LateCount{Rank: rank, Count: s.late[rank]})
		}
	}
	if r.Status == "" {
		r.Status = record.OK
	}
	if r.Status == record.OK {
		r.SetHeadline(s.c.Collective.BusFactor(s.c.Ranks))
		r.Warnings = append(r.Warnings, s.doubts()...)
	}
	return *r
}

func (v *series) begin()         { v.passes = append(v.passes, len(v.values)) }
func (v *series) add(s float64)  { v.values = append(v.values, s) }
func (v *series) now() []float64 { return v.values[v.passes[len(v.passes)-1]:] }

// reduce returns the mean and the largest of the ranks' times.
func reduce(ranks []float64) (mean, longest float64) {
	for _, s := range ranks {
		mean += s
		longest = max(longest, s)
	}
	return mean / float64(len(ranks)), longest
}
