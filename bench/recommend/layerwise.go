package recommend

import (
	"fmt"
	"slices"

	"zbench/bench/record"
	"zbench/bench/trainer"
	"zbench/bench/unit"
)

// minReportedPadding is the share of the sent elements above which padding is reported.
const minReportedPadding = 0.05

// layerWise describes the effect of Megatron's layer-wise optimizer on the setting.
func (e *engine) layerWise(best *Candidate) []record.Warning {
	f, is := e.planner.LayerWise(e.run)
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
	if sent := best.PaddingElements + e.total(); float64(best.PaddingElements) > minReportedPadding*float64(sent) {
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

// total is the number of elements of all gradients.
func (e *engine) total() int64 {
	n := int64(0)
	for _, p := range e.q.Params {
		n += p.Elements
	}
	return n
}

// layerWiseChanges are possible changes of a layer-wise optimizer.
func (e *engine) layerWiseChanges() []change {
	if _, is := e.planner.LayerWise(e.run); !is {
		return nil
	}
	return []change{{
		"legacy_layout", "--no-use-layer-wise-param-layout: gradients are reduced by all_reduce in buckets that the setting cuts, without padding (the loss differs in the last bits)", 1,
		func(q *Question) { q.Run.LegacyLayout = true }, false,
	}}
}

// layerWiseWords are those whose gain the curves cannot give.
func (e *engine) layerWiseWords() []Help {
	f, is := e.planner.LayerWise(e.run)
	if !is {
		return nil
	}
	var all []Help
	q := e.q
	q.Run.LegacyLayout = true
	if _, _, refusal := pick(need{"all_reduce", f.Ranks}, q, e.t.InPlace, e.run.GradDtype); refusal != nil {
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
