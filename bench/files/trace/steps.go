package trace

import (
	"cmp"
	"slices"
)

// kind holds the properties of a call that are equal in every step.
type kind struct {
	group      int
	collective string
	dtype      string
	bytes      int64
}

func kindOf(c *Call) kind { return kind{c.Group, c.Collective, c.Dtype, c.Bytes} }

// split holds a rank's calls by training step, and says how the steps were found: by the profiler's
// marks, or because the calls repeat. It is empty if there are no steps. Calls outside a step are
// left out.
type split struct {
	steps [][]Call
	by    string
}

func (r *Rank) split() split {
	if len(r.Steps) > 0 {
		return split{r.marked(), "the profiler's marks"}
	}
	p, from := r.period()
	if p == 0 {
		return split{}
	}
	s := split{by: "repetition"}
	for i := from; i+p <= len(r.Calls); i += p {
		s.steps = append(s.steps, r.Calls[i:i+p])
	}
	return s
}

// marked groups the calls by the step mark during which they were enqueued. The marks are in order.
func (r *Rank) marked() (steps [][]Call) {
	by := make([][]Call, len(r.Steps))
	for _, c := range r.Calls {
		at := cmp.Or(c.Enqueued, c.Kernel)
		if at == nil {
			continue
		}
		i, _ := slices.BinarySearchFunc(r.Steps, at.Start, func(s Step, start float64) int {
			if s.Start <= start {
				return -1
			}
			return 1
		})
		if i > 0 && at.Start < r.Steps[i-1].End {
			by[i-1] = append(by[i-1], c)
		}
	}
	return slices.DeleteFunc(by, func(calls []Call) bool { return len(calls) == 0 })
}

// StepTimes returns the durations of the training steps in seconds, from the profiler's marks, or
// else from the first call of a step to the first call of the next. If several ranks show the
// largest number of steps, the slowest rank counts for each step. It is empty if no rank shows
// steps.
func (t *Trace) StepTimes() []float64 {
	var slowest []float64
	for _, r := range t.Ranks {
		times := r.stepTimes()
		if len(times) > len(slowest) {
			slowest = times
		} else if len(times) == len(slowest) {
			for i, took := range times {
				slowest[i] = max(slowest[i], took)
			}
		}
	}
	return slowest
}

func (r *Rank) stepTimes() (times []float64) {
	for _, s := range r.Steps {
		times = append(times, s.Seconds())
	}
	if len(times) > 0 {
		return times
	}
	var last *Span
	for _, calls := range r.split().steps {
		at := cmp.Or(calls[0].Enqueued, calls[0].Kernel)
		if at != nil && last != nil {
			times = append(times, at.Start-last.Start)
		}
		last = at
	}
	return times
}

// maxPeriod is the largest number of calls in a step.
const maxPeriod = 4096

// period returns the number of calls after which a rank's calls repeat, and the index of the first
// call from which they repeat to the end. It returns 0 if they do not repeat. A step has at least
// two kinds of calls and occurs at least twice; equal calls, such as in a benchmark, are not steps.
func (r *Rank) period() (period, from int) {
	n := len(r.Calls)
	back := make([]kind, n) // the kinds of the calls in reverse order
	for i := range r.Calls {
		back[n-1-i] = kindOf(&r.Calls[i])
	}
	same := 0 // number of equal calls at the end
	for same < n && back[same] == back[0] {
		same++
	}
	alike := prefixes(back)
	for p := max(2, same+1); p <= min(n/2, maxPeriod); p++ {
		if start := n - p - alike[p]; alike[p] >= p && 2*start <= n {
			return p, start
		}
	}
	return 0, 0
}

// prefixes is the Z-function: for each index of a list, it returns how many elements from there on
// equal the beginning of the list. It takes linear time.
func prefixes[T comparable](list []T) []int {
	z := make([]int, len(list))
	left, right := 0, 0
	for i := 1; i < len(list); i++ {
		if i < right {
			z[i] = min(right-i, z[i-left])
		}
		for i+z[i] < len(list) && list[z[i]] == list[i+z[i]] {
			z[i]++
		}
		if i+z[i] > right {
			left, right = i, i+z[i]
		}
	}
	return z
}

// reference returns the rank with the most calls. Among several such ranks it returns the rank with
// the lowest number.
func (t *Trace) reference() *Rank {
	var best *Rank
	for _, r := range t.Ranks {
		if best == nil || len(r.Calls) > len(best.Calls) {
			best = r
		}
	}
	return best
}
