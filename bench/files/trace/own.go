package trace

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"zbench/bench/base/slice"
)

// Own is one step of a job on one rank, on the clock of its device. It lasts from the first call of
// the step to the first call of the next step.
type Own struct {
	// Rank is the number of the rank; Unknown if the file lacks it.
	Rank int
	// Seconds is the duration of the step. It is the median over all Steps.
	Seconds float64
	// Computing is the part of the step, in seconds, without waiting for a call.
	Computing float64
	Steps     int
	// Nodes are the calls of the step and its computation. The computation includes idle time of
	// the device, unless the device waits for a call.
	Nodes []Node
	// Groups are the groups of the job; calls refer to them by index. World is the job's number of
	// ranks; 0 if unknown.
	Groups []Group
	World  int
	// Simulated is true if a model, not hardware, decided the times.
	Simulated bool
}

// Own returns the step of median length on the rank with the most calls. The error says what the
// trace lacks.
func (t *Trace) Own() (*Own, error) {
	r := t.reference()
	if r == nil {
		return nil, errors.New("it has no calls")
	}
	if !r.Whole || len(r.Computing) == 0 {
		return nil, errors.New("it does not have the times of the kernels that compute")
	}
	own, err := t.middle(r, r.split().steps)
	if err != nil {
		return nil, err
	}
	own.Rank, own.Simulated, own.Groups, own.World = r.Rank, t.Simulated(), t.Groups, t.World
	return own, nil
}

// middle returns the step of median length.
func (t *Trace) middle(r *Rank, steps [][]Call) (*Own, error) {
	if len(steps) < 2 {
		return nil, errors.New("it does not have two steps, from one of which to the next a step lasts")
	}
	var begins []float64
	for _, calls := range steps {
		begin := -1.0
		for _, c := range calls {
			if c.Kernel == nil {
				return nil, fmt.Errorf("it has no time of the kernel of a call, %s of %d bytes", c.Collective, c.Bytes)
			}
			if begin < 0 || c.Kernel.Start < begin {
				begin = c.Kernel.Start
			}
		}
		begins = append(begins, begin)
	}
	order := slice.Numbers(len(steps) - 1)
	took := func(i int) float64 { return begins[i+1] - begins[i] }
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(took(a), took(b)) })
	i := order[(len(order)-1)/2]
	own := &Own{Seconds: took(i), Steps: len(order)}
	alone := func(c Call) bool { return t.Groups[c.Group].Size == 1 } // a group of one rank: the call is only a copy
	calls := slices.DeleteFunc(slices.Clone(steps[i]), alone)
	if len(calls) == 0 {
		return nil, errors.New("its calls are of single ranks")
	}
	for k := range calls {
		c := &calls[k]
		c.Stream = strconv.Itoa(c.Group) // the calls of one communicator run one after the other, even on different streams
		if !c.Known || c.Bytes <= 0 || c.Dtype == "" {
			return nil, fmt.Errorf("it has a call that cannot be made again, %s", toldOf(map[int]*Call{0: c}).called(c))
		}
	}
	working := Rank{Calls: calls, Computing: working(r.Computing, calls, begins[i], begins[i+1])}
	own.Computing, own.Nodes = seconds(working.Computing), working.Graph()
	return own, nil
}

// working returns the spans between two times in which a rank did not wait for a call: the rank
// computed, or it was idle and no call ended before the next computation.
func working(computing []Span, calls []Call, from, to float64) (out []Span) {
	at := from
	for _, s := range append(within(computing, from, to), Span{to, to}) {
		idle := at
		for i := range calls {
			if end := calls[i].Kernel.End; end > at && end <= s.Start {
				idle = max(idle, end)
			}
		}
		for _, part := range []Span{{idle, s.Start}, s} {
			if part.End > part.Start {
				out = append(out, part)
			}
		}
		at = max(at, s.End)
	}
	return out
}

// Apart returns the distance between consecutive rank numbers of the group. It is 0 if the numbers
// are unknown or not equally far apart.
func (g Group) Apart() int {
	if len(g.Ranks) < 2 {
		return 0
	}
	by := g.Ranks[1] - g.Ranks[0]
	for i := range g.Ranks[1:] {
		if g.Ranks[i+1]-g.Ranks[i] != by {
			return 0
		}
	}
	return by
}
