package recommend

import (
	"cmp"
	"fmt"
	"slices"

	"zbench/bench/base/unit"
	"zbench/bench/hardware/collective"
	"zbench/bench/job/trainer"
	"zbench/bench/run/record"
)

// minReportedGain is the share of a step below which a change is not mentioned.
const minReportedGain = 0.005

// change is a change other than the bucket size. tokens is the factor by which the change increases the
// tokens of a step.
type change struct {
	code, message string
	tokens        float64
	apply         func(q *Question)
	// times is true if the change alters times but not the plan.
	times bool
}

// changes returns the changes that apply to the question.
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
	if _, is := e.plans.planner.LayerWise(e.run); is {
		all = append(all, change{
			"legacy_layout", "--no-use-layer-wise-param-layout: gradients are reduced by all_reduce in buckets that the setting cuts, without padding (the loss differs in the last bits)", 1,
			func(q *Question) { q.Run.LegacyLayout = true }, false,
		})
	}
	return all
}

// help simulates each change with the best bucket size for it.
func (e *engine) help(a *Answer, best int) []Help {
	all := []Help{}
	now := e.candidates[best].Step
	var coarse *engine // engine of the question itself, shared by all changes that alter only times
	for _, x := range e.changes() {
		q := e.q
		x.apply(&q)
		if x.times && coarse == nil {
			coarse, _ = e.asked(e.q, e.run, true) // no refusal: the question's calls have their curves
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
	return append(all, e.withoutGain(a, best)...)
}

// With manyRanks ranks or more, fewer ring steps are proposed.
const manyRanks = 64

// withoutGain returns changes whose gain the curves cannot give.
func (e *engine) withoutGain(a *Answer, best int) []Help {
	var all []Help
	latency := slices.ContainsFunc(a.Limits, func(l Limit) bool {
		return l.Code == "message_size" && l.Seconds > minReportedGain*e.candidates[best].Step
	})
	for _, x := range e.t.Changes {
		if x.Apply == nil && latency && e.run.DP >= manyRanks && x.When(e.run) {
			all = append(all, Help{Code: x.Code, Message: x.Message})
		}
	}
	for i, u := range a.Curves {
		for _, h := range u.Holes {
			if slices.ContainsFunc(e.messagesOf(i, best), func(s int64) bool { return h.FromBytes/2 < s && s < h.ToBytes*2 }) {
				all = append(all, Help{Code: "hole", Message: fmt.Sprintf("%s: %s; the answer's messages are near: select another algorithm there with the library's tuner", u.Collective, h)})
			}
		}
	}
	return append(all, e.layerWiseWithoutGain()...)
}

// minReportedPadding is the share of the sent elements above which padding is reported.
const minReportedPadding = 0.05

// layerWise describes the effect of Megatron's layer-wise optimizer on the setting.
func (e *engine) layerWise(best *Candidate) []record.Warning {
	f, is := e.plans.planner.LayerWise(e.run)
	if !is {
		return nil
	}
	what := "matrices"
	if f.Expert {
		what = "expert matrices"
	}
	w := record.Warning{
		Code: "layer_wise",
		Message: fmt.Sprintf("with this optimizer Megatron keeps each matrix whole on one rank, and a bucket of %s closes once it holds max(%s, 0.9 × %d ranks × %s elements of the largest matrix): a setting below %s changes nothing for them",
			what, e.t.Knob, f.Ranks, Count(f.Largest), Count(f.Least)),
		Hint: fmt.Sprintf("settings above %s change their buckets", Count(f.Least)),
	}
	switch {
	case f.OneFrom > 0 && f.Ranks >= f.OneFrom:
		w.Message += fmt.Sprintf("; from %d ranks on all %s elements of them are one bucket", f.OneFrom, Count(f.Total))
		w.Hint = "the bucket size does not help here; what does: fewer ranks in the group (tensor or expert parallelism), or --no-use-layer-wise-param-layout, which buckets by the setting and reduces by all_reduce"
	case f.OneFrom > 0:
		w.Message += fmt.Sprintf("; from %d ranks on they are one bucket", f.OneFrom)
	}
	if sent := best.PaddingElements + gradients(e.q.Params); float64(best.PaddingElements) > minReportedPadding*float64(sent) {
		w.Message += fmt.Sprintf("; %s of what is sent is padding", percent(float64(best.PaddingElements)/float64(sent)))
	}
	all := []record.Warning{w}
	if f.Guessed {
		all = append(all, record.Warning{
			Code:    "shapes_guessed",
			Message: "the list has no shapes: which tensors are matrices was taken from their names, and their work as a square's",
			Hint:    `write shapes into --params: name,4096x2048, as print(n, "x".join(map(str, p.shape)) or 1, sep=",") does`,
		})
	}
	return all
}

// layerWiseWithoutGain returns changes of a layer-wise optimizer whose gain the curves cannot give.
func (e *engine) layerWiseWithoutGain() []Help {
	f, is := e.plans.planner.LayerWise(e.run)
	if !is {
		return nil
	}
	var all []Help
	if _, _, refusal := e.pick(need{"all_reduce", f.Ranks}); refusal != nil {
		all = append(all, Help{Code: "legacy_layout", Message: fmt.Sprintf("--no-use-layer-wise-param-layout buckets by the setting and reduces by all_reduce: sweep all_reduce of %d ranks to get its gain", f.Ranks)})
	}
	if e.run.EP < 2 && slices.ContainsFunc(e.q.Params, func(p trainer.Param) bool { return p.Expert }) {
		all = append(all, Help{Code: "expert_parallel", Message: fmt.Sprintf("expert parallelism: with --expert-model-parallel-size E the experts' buckets are shared by %d/E ranks, close E times as early, and each rank holds 1/E of the experts", f.Ranks)})
	}
	if bytes := f.Largest * int64(f.Ranks) * e.run.GradBytes(); f.OneFrom > 0 && f.Ranks >= f.OneFrom {
		all = append(all, Help{Code: "fewer_ranks", Message: fmt.Sprintf("fewer data-parallel ranks: a bucket is at least one largest matrix for each rank, %s now; below %d ranks the setting has an effect again", unit.Bytes(bytes), f.OneFrom)})
	}
	return all
}
