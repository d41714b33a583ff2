package engine

import (
	"fmt"
	"slices"

	"zbench/bench/exit"
	"zbench/bench/plan"
	"zbench/bench/recommend"
	"zbench/bench/record"
	"zbench/bench/stat"
)

// addStrides adds the strides that tensor and expert parallelism need to the requested
// ones. Tensor-parallel ranks are neighbours, so that ranks which reduce a gradient
// together are apart (Megatron-Core, parallel_state.py, initialize_model_parallel: the
// order is tp-cp-ep-dp-pp; read 2026-11-21). Groups of one pipeline stage are smaller than
// those of any stride, and none is added.
func (u *Setup) addStrides() {
	w, s := u.Spec.World, u.Spec.Sweep
	for _, apart := range u.question.Strides(w.Size()) {
		if apart > 1 && apart < w.Size() && w.Divides(apart) && !slices.Contains(s.Strides, apart) {
			s.Strides = append(slices.Clone(s.Strides), apart)
		}
	}
}

// checkExperts refuses a sweep without the curve of the experts' groups, before
// anything is measured.
func (u *Setup) checkExperts() error {
	ep := u.question.Experts()
	if ep == 0 || u.question.Rescale() {
		return nil
	}
	dp, ranks := u.question.DataRanks(u.Spec.World.Size()), u.question.ExpertRanks(u.Spec.World.Size())
	if dp%ep != 0 || ranks == 1 { // refused elsewhere; or each expert is on one rank
		return nil
	}
	if slices.ContainsFunc(u.axes.Cases(), func(c plan.Case) bool { return c.Ranks == ranks }) {
		return nil
	}
	hint := "choose numbers of nodes and GPUs that --ep divides"
	if replica := u.Spec.World.Size() / dp; replica > 1 {
		hint = fmt.Sprintf("if the %d ranks that share a copy of the model are consecutive, as with tensor parallelism, add --strides %d,%d", replica, replica, replica*ep)
	}
	return exit.Usagef(hint, "with --ep %d the experts' gradients are reduced in groups of %d ranks; this sweep has no such group", ep, ranks)
}

// answerable refuses a sweep whose curves cannot give a bucket size, before anything is
// measured. The curves are known; placeholder times stand in for the measurements.
// Without a model nothing is refused: the curves are used later. Memory limits and
// cases that cannot run are reported later, by the answer and the table.
func (u *Setup) answerable() error {
	if !u.question.HasModel() {
		return nil
	}
	rec := &record.Record{World: record.World{World: u.Spec.World, Ranks: u.Spec.World.Size()}}
	for _, c := range u.axes.Cases() {
		if c.Skip == "" {
			rec.Results = append(rec.Results, placeholder(c))
		}
	}
	d, err := u.question.AskBriefly([]recommend.Source{{Record: rec}})
	if err != nil || d.Answer.Refusal == nil || slices.Contains([]string{"memory", "no_curve"}, d.Answer.Refusal.Code) {
		return err
	}
	return d.Refused()
}

// placeholder is a case with an assumed time of 100 µs + S / 100 GB/s.
func placeholder(c plan.Case) record.Result {
	r := c.Planned()
	r.Status, r.Reason = record.OK, ""
	r.Isolated = &record.Timing{Iterations: 1, MaxOfRanks: stat.Summarize([]float64{1e-4 + float64(c.Layout.Bytes)/100e9})}
	return r
}
