package trace

import (
	"cmp"
	"slices"
)

// kind is what calls of every step share.
type kind struct {
	group      int
	collective string
	dtype      string
	bytes      int64
}

func kindOf(c *Call) kind { return kind{c.Group, c.Collective, c.Dtype, c.Bytes} }

// steps splits a rank's calls into training steps: by the profiler's marks, or by the repetition
// of the calls. Calls outside of a step are left out. It returns how the steps were found; empty
// if there are none.
func (r *Rank) steps() (steps [][]Call, by string) {
	if len(r.Steps) > 0 {
		for _, s := range r.Steps {
			var calls []Call
			for _, c := range r.Calls {
				at := cmp.Or(c.Enqueued, c.Kernel)
				if at != nil && at.Start >= s.Start && at.Start < s.End {
					calls = append(calls, c)
				}
			}
			if len(calls) > 0 {
				steps = append(steps, calls)
			}
		}
		return steps, "the profiler's marks"
	}
	if p, from := r.period(); p > 0 {
		for i := from; i+p <= len(r.Calls); i += p {
			steps = append(steps, r.Calls[i:i+p])
		}
		return steps, "repetition"
	}
	return nil, ""
}

// maxPeriod bounds the search for a repetition, whose time grows with its square.
const maxPeriod = 4096

// period is the number of calls after which a rank's calls repeat, and the first call from which
// on they do so to the end; 0 if they do not. Calls that are all alike, as a benchmark's, are no
// steps: a step has two kinds of calls at least, and is there twice.
func (r *Rank) period() (period, from int) {
	kinds := make([]kind, len(r.Calls))
	for i := range r.Calls {
		kinds[i] = kindOf(&r.Calls[i])
	}
	n := len(kinds)
	for p := 2; p <= min(n/2, maxPeriod); p++ {
		alike := 0
		for alike < n-p && kinds[n-1-alike] == kinds[n-1-alike-p] {
			alike++
		}
		start := n - p - alike
		unit := kinds[n-p:]
		if alike >= p && 2*start <= n && slices.ContainsFunc(unit, func(k kind) bool { return k != unit[0] }) {
			return p, start
		}
	}
	return 0, 0
}

// reference is the rank that has the most calls, the lowest of several.
func (t *Trace) reference() *Rank {
	var best *Rank
	for _, r := range t.Ranks {
		if best == nil || len(r.Calls) > len(best.Calls) {
			best = r
		}
	}
	return best
}
