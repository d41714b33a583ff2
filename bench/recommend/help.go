package recommend

import (
	"cmp"
	"fmt"
	"slices"

	"zbench/bench/collective"
)

// minReportedGain is the share of a step below which a change is not mentioned.
const minReportedGain = 0.005

// change is a change other than the bucket size. Tokens is the factor by which it
// increases the tokens of a step.
type change struct {
	code, message string
	tokens        float64
	apply         func(q *Question)
	// times is true if only times change, not the plan.
	times bool
}

// changes are those that apply to the question.
func (e *engine) changes() []change {
	var all []change
	if d, err := collective.DtypeByName(e.run.GradDtype); err == nil && d.Size == 4 {
		all = append(all, change{"half_gradients", "reduce gradients in bfloat16 (watch the loss)", 1, func(q *Question) {
			q.Run.GradDtype = "bfloat16"
		}, false})
	}
	if e.known {
		all = append(all, change{"more_tokens", "twice the tokens per microbatch: twice the computation hides the same communication", 2, func(q *Question) {
			q.Backward, q.Forward = 2*e.backward, 2*e.forward
		}, true})
		all = append(all, change{"more_accumulation", "twice the microbatches per step", 2, func(q *Question) {
			q.Run.Accum = 2 * q.Run.Microbatches()
		}, true})
	}
	for _, x := range e.t.Changes {
		if x.Apply != nil && x.When(e.run) {
			all = append(all, change{x.Code, x.Message, 1, func(q *Question) { x.Apply(&q.Run) }, false})
		}
	}
	return append(all, e.layerWiseChanges()...)
}

// help simulates each change with its own best bucket.
func (e *engine) help(a *Answer, best int) []Help {
	all := []Help{}
	now := e.candidates[best].Step
	var coarse *engine // of the question itself, for all changes of times
	for _, x := range e.changes() {
		q := e.q
		x.apply(&q)
		if x.times && coarse == nil {
			coarse, _ = e.asked(e.q, e.run, true) // its calls have their curves
		}
		var other *engine
		if x.times {
			other = coarse.timed(q)
		} else {
			var refusal *Refusal
			if other, refusal = e.asked(q, e.t.Advised(q.Run), true); refusal != nil {
				continue
			}
		}
		s := other.score(other.models, other.candidates)
		j, ok := s.best(other.candidates)
		if !ok {
			continue
		}
		step := s.steps[0][j]
		gain := 1 - step/x.tokens/now
		if gain >= minReportedGain {
			all = append(all, Help{x.code, x.message, &step, &gain})
		}
	}
	slices.SortStableFunc(all, func(x, y Help) int { return cmp.Compare(*y.Gain, *x.Gain) })
	if a.Best.Unfounded == BeyondSweep {
		for i := range all {
			all[i].Step, all[i].Gain = nil, nil
		}
	}
	return append(all, e.words(a, best)...)
}

// manyRanks is the number of ranks from which fewer ring steps are proposed.
const manyRanks = 64

// words are changes whose gain the curves cannot give.
func (e *engine) words(a *Answer, best int) []Help {
	var all []Help
	latency := slices.ContainsFunc(a.Limits, func(l Limit) bool {
		return l.Code == "message_size" && l.Seconds > minReportedGain*e.candidates[best].Step
	})
	for _, x := range e.t.Changes {
		if x.Apply == nil && latency && e.run.DP >= manyRanks && x.When(e.run) {
			all = append(all, Help{Code: x.Code, Message: x.Message})
		}
	}
	for _, u := range a.Curves {
		for _, h := range u.Holes {
			if slices.ContainsFunc(u.Refine, func(s int64) bool { return h.FromBytes/2 < s && s < h.ToBytes*2 }) {
				all = append(all, Help{Code: "hole", Message: fmt.Sprintf("%s: %s; the answer's messages are near: select another algorithm there with the library's tuner", u.Collective, h)})
			}
		}
	}
	return append(all, e.layerWiseWords()...)
}
