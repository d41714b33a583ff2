package trace

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"zbench/bench/base/slice"
)

// Own is a step of a job from its trace, on one rank's device clock: from the first call of a step
// to that of the next.
type Own struct {
	// Rank of the step; Unknown if the file lacks it.
	Rank int
	// Seconds is the duration of the step, the median one of Steps.
	Seconds float64
	// Computing is the part without waiting for a call, in seconds.
	Computing float64
	Steps     int
	// Nodes are the step's calls and its computation, which includes the device's idle time without
	// waiting for a call.
	Nodes []Node
	// Groups are the job's; calls refer to them by number. World is the job's number of ranks; 0 is
	// unknown.
	Groups []Group
	World  int
	// Simulated is true if a model, not hardware, decided the times.
	Simulated bool
}

// Own returns the middle step of the rank with the most calls. The error states what the trace
// lacks.
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

// middle returns the step of middle length.
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
	alone := func(c Call) bool { return t.Groups[c.Group].Size == 1 } // a copy, in which no other rank takes part
	calls := slices.DeleteFunc(slices.Clone(steps[i]), alone)
	if len(calls) == 0 {
		return nil, errors.New("its calls are of single ranks")
	}
	for k := range calls {
		c := &calls[k]
		c.Stream = strconv.Itoa(c.Group) // a communicator's calls follow each other on any streams
		if !c.Known || c.Bytes <= 0 || c.Dtype == "" {
			return nil, fmt.Errorf("it has a call that cannot be made again, %s", toldOf(map[int]*Call{0: c}).called(c))
		}
	}
	working := Rank{Calls: calls, Computing: working(r.Computing, calls, begins[i], begins[i+1])}
	own.Computing, own.Nodes = seconds(working.Computing), working.Graph()
	return own, nil
}

// working returns the stretches between two times in which a rank waited for no call: it computed,
// or nothing ran and no call ended after that.
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

// Apart returns the distance between the numbers of the group's consecutive ranks; 0 if unknown or
// unequal.
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
