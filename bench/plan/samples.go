package plan

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"zbench/bench/record"
	"zbench/bench/stat"
)

// taking is one pass over one case while it is measured.
type taking struct {
	c    Case
	part record.Part
	late map[int]int
	// groups holds the isolated launches of each of the groups that run at once.
	groups [][]float64
	// everyRank asks to keep each rank's interval.
	everyRank bool
}

// fail ends the pass with an error and the evidence that it brings.
func (t *taking) fail(err error) {
	t.end(record.Failed, err.Error())
	if stuck, ok := errors.AsType[Stuck](err); ok {
		t.part.Evidence = stuck.Evidence()
	}
}

func (t *taking) end(status record.Status, reason string) {
	t.part.Status, t.part.Reason = status, reason
}

// verify runs the verification launches; wrong data end the case.
func (t *taking) verify(ctx context.Context, d Driver, launches int) error {
	v := record.Verified{State: record.NotVerified, Reason: "no verification asked for (-c 0)"}
	wrong := int64(0)
	for launch := range launches {
		got, err := d.Verify(ctx, t.c, launch)
		if err != nil {
			return err
		}
		if got.Skipped != "" {
			t.part.Verified = &record.Verified{State: record.NotVerified, Reason: got.Skipped}
			return nil
		}
		if wrong == 0 {
			v = record.Verified{State: record.VerifiedOK, Wrong: &wrong, Launches: launches}
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

// bursts takes bursts until the rule says that there are enough.
func (t *taking) bursts(ctx context.Context, d Driver, rule stat.Rule, iterations int) error {
	b := &record.BurstSamples{Iterations: iterations, Mean: []float64{}, Max: []float64{}}
	t.part.Burst = b
	spent := 0.0
	for {
		decision := rule.Decide(b.Mean, spent)
		if decision.Stop {
			b.Stop = decision.Why
			return nil
		}
		for range decision.Next {
			ranks, err := d.Burst(ctx, iterations)
			if err != nil {
				return err
			}
			mean, longest := reduce(ranks)
			b.Mean = append(b.Mean, mean)
			b.Max = append(b.Max, longest)
			spent += longest * float64(iterations)
			if rule.MaxTime > 0 && spent >= rule.MaxTime && len(b.Mean) >= stat.MinInterval {
				break
			}
		}
	}
}

// isolated takes launches alone until the rule says that there are enough.
func (t *taking) isolated(ctx context.Context, d Driver, rule stat.Rule) error {
	b := &record.IsolatedSamples{Max: []float64{}, Spread: []float64{}, EventFloor: d.EventFloor()}
	t.part.Isolated = b
	defer func() {
		for _, rank := range slices.Sorted(maps.Keys(t.late)) {
			b.Late = append(b.Late, record.LateCount{Rank: rank, Count: t.late[rank]})
		}
		for _, g := range t.groups {
			if len(g) > 0 {
				b.Groups = append(b.Groups, stat.Quantile(g, 0.5))
			}
		}
	}()
	if t.c.Parallel > 1 {
		t.groups = make([][]float64, t.c.Parallel)
	}
	spent, ranks := 0.0, t.c.Ranks*max(t.c.Parallel, 1)
	for {
		decision := rule.Decide(b.Max, spent)
		if decision.Stop {
			b.Stop = decision.Why
			return nil
		}
		intervals, err := d.Isolated(ctx, decision.Next)
		if err != nil {
			return err
		}
		ranks = min(ranks, len(intervals))
		for len(intervals) > 0 {
			spent += t.launch(b, intervals[:ranks])
			intervals = intervals[ranks:]
		}
	}
}

// launch keeps one isolated launch: its value is that of the slowest rank. One
// that has an interval that is not positive is discarded and counted. Who came
// last is not known where two ranks share the shortest interval, as they do on a
// clock that ticks: counting the first of them would blame the low ranks.
func (t *taking) launch(b *record.IsolatedSamples, ranks []float64) float64 {
	if t.everyRank && len(ranks) == t.c.Ranks*max(t.c.Parallel, 1) {
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
	for i := range t.groups {
		t.groups[i] = append(t.groups[i], slices.Max(ranks[i*t.c.Ranks:(i+1)*t.c.Ranks]))
	}
	if last := slices.Index(ranks, shortest); len(ranks) > 1 && len(t.groups) == 0 && !slices.Contains(ranks[last+1:], shortest) {
		t.late[last]++ // groups do not wait for each other
	}
	return longest
}

// reduce returns the mean and the largest of the ranks' times.
func reduce(ranks []float64) (mean, longest float64) {
	for _, s := range ranks {
		mean += s
		longest = max(longest, s)
	}
	return mean / float64(len(ranks)), longest
}
