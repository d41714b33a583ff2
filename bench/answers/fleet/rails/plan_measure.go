// This file runs a plan on a driver: each round is one exchange of messages on the
// communicator of all ranks, timed by events. Judge judges the times.

package rails

import (
	"context"
	"fmt"
	"slices"

	"zbench/bench/base/slice"
	"zbench/bench/base/stat"
	"zbench/bench/hardware/collective"
	"zbench/bench/run/plan"
	"zbench/bench/run/spec"
)

// Defaults of a survey: the bytes of a message, and the launches of a round.
const (
	// DefaultBytes is large enough that latency is a tenth of the time at most.
	DefaultBytes    = 64 << 20
	DefaultLaunches = 5
	// warmup launches connect the peers of a round, and show the host's enqueue time.
	warmup = 2
)

// Exchanger runs exchanges and reports whether the launches of the last exchange started together.
type Exchanger interface {
	plan.Exchanger
	// Held reports whether the host had enqueued all launches before the first ran.
	Held() bool
}

// Measurement describes what to measure, and how.
type Measurement struct {
	Fleet Fleet
	Plan  Bounds
	// Case is the message, made by CaseOf. Launches is the number of samples per round.
	Case     plan.Case
	Launches int
	// Watch is called after each finished round, unless it is nil.
	Watch func(done int, r Round)
}

// Rounds holds the measured rounds. It is incomplete if Run returned an error.
type Rounds struct {
	Timings []Timing
	// Rounds is the number of rounds. Network is the number of rounds between nodes, rings included.
	Rounds, Network int
	// Early is the number of rounds whose launches began before the host had enqueued all of them. Their
	// times may include time of the host.
	Early int
}

// CaseOf returns a message of this number of bytes on the communicator of all ranks. The error
// lists the possible sizes.
func CaseOf(w spec.World, bytes int64) (plan.Case, error) {
	message, err := collective.ByName("send_recv")
	if err != nil {
		return plan.Case{}, err
	}
	kind, err := collective.DtypeByName("uint8")
	if err != nil {
		return plan.Case{}, err
	}
	a := plan.Axes{
		Collectives: []collective.Collective{message}, Dtypes: []collective.Dtype{kind}, MinBytes: bytes, MaxBytes: bytes, Factor: 2, InPlace: []bool{false}, World: w,
	}
	if err := a.Validate(); err != nil {
		return plan.Case{}, err
	}
	c := a.Cases()[0]
	if c.Ranks < 2 {
		return c, fmt.Errorf("%d rank: there is no pair to measure", c.Ranks)
	}
	c.Key = "rails/" + c.Key
	return c, nil
}

// Run measures the rounds of the plan. After an error the result has the earlier rounds.
func (s Measurement) Run(ctx context.Context, d Exchanger) (Rounds, error) {
	var out Rounds
	p := NewPlan(s.Fleet, s.Plan)
	for {
		r, more := p.Next(out.Timings)
		if !more {
			return out, nil
		}
		e := plan.Exchange{Case: s.Case, Round: out.Rounds, Warmup: warmup, Launches: s.Launches}
		e.To, e.From = s.peers(r)
		seconds, err := d.Exchange(ctx, e)
		if err != nil {
			return out, fmt.Errorf("round %d (%s): %w", out.Rounds+1, KindName(r.Kind), err)
		}
		if !d.Held() {
			out.Early++
		}
		out.Timings = append(out.Timings, s.timings(r, out.Rounds, seconds)...)
		out.Rounds++
		if r.Kind != XGMI {
			out.Network++
		}
		if s.Watch != nil {
			s.Watch(out.Rounds, r)
		}
	}
}

// KindName describes the transfers that a kind of round measures.
func KindName(k Kind) string {
	switch k {
	case XGMI:
		return "pairs of GPUs within nodes"
	case Rings:
		return "a ring on each rail"
	default:
		return "pairs of nodes on each rail"
	}
}

// rank returns the rank of a place: ranks are numbered node-major.
func (s Measurement) rank(p Place) int { return p.Node*s.Fleet.GPUs + p.GPU }

// peers returns the target and the source of each rank; from is nil if each rank's source is its target.
func (s Measurement) peers(r Round) (to, from []int) {
	none := []int{-1}
	to = slices.Repeat(none, s.Case.Ranks)
	if r.Kind == Rings {
		from = slices.Repeat(none, s.Case.Ranks)
		for _, p := range r.Pairs {
			for node := range s.Fleet.Nodes {
				here := s.rank(Place{Node: node, GPU: p.A.GPU})
				next := s.rank(Place{Node: (node + 1) % s.Fleet.Nodes, GPU: p.A.GPU})
				to[here], from[next] = next, here
			}
		}
		return to, from
	}
	for _, p := range r.Pairs {
		a, b := s.rank(p.A), s.rank(p.B)
		to[a], to[b] = b, a
	}
	return to, nil
}

// timings returns the samples of each pair. A sample is the time of one launch on the slower end, or on
// the slowest rank of a ring.
func (s Measurement) timings(r Round, round int, seconds []float64) []Timing {
	out := make([]Timing, 0, len(r.Pairs))
	for _, p := range r.Pairs {
		ends := []int{s.rank(p.A), s.rank(p.B)}
		if r.Kind == Rings {
			ends = ends[:0]
			for node := range s.Fleet.Nodes {
				ends = append(ends, s.rank(Place{Node: node, GPU: p.A.GPU}))
			}
		}
		t := Timing{Round: round, Kind: r.Kind, Pair: p, Seconds: make([]float64, 0, s.Launches)}
		waited, timed := make([]float64, 0, s.Launches), false
		for launch := range s.Launches {
			slowest := slice.Most(ends, func(rank int) float64 { return seconds[launch*s.Case.Ranks+rank] })
			timed = timed || slowest > 0 // an interval of 0 or less is no time
			t.Seconds = append(t.Seconds, max(slowest, 0))
			waited = append(waited, seconds[launch*s.Case.Ranks+ends[0]]-seconds[launch*s.Case.Ranks+ends[len(ends)-1]])
		}
		if !timed {
			t.Seconds = nil
		} else if r.Kind != Rings {
			t.Waited = stat.Quantile(waited, 0.5)
		}
		out = append(out, t)
	}
	return out
}
