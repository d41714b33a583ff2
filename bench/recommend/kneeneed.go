package recommend

import (
	"slices"
	"strings"

	"zbench/bench/record"
	"zbench/bench/trainer"
)

// needs lists what a bucket size takes beside the curves.
func kneeNeeds(rec *record.Record) []Need {
	list := []Need{
		{
			"the model: parameter tensors in forward order, or their total number and the largest",
			"--params FILE (name,elements a line), --preset NAME, or --total-params N --largest-param P",
		},
		{
			"the backward time of one microbatch without communication: it decides how much can be hidden",
			"--backward-ms MS, measured with one data-parallel rank, --step-ms MS, or --tokens-per-microbatch T --tflops F",
		},
		{
			"the trainer and its gradient dtype: bucket rules and units differ (elements, bytes, MiB)",
			"--framework " + strings.Join(trainer.Names(), "|") + ", --grad-dtype float|bfloat16",
		},
	}
	if missing := missingCollectives(rec); len(missing) > 0 {
		list = append(list, Need{
			"curves of " + strings.Join(missing, ", ") + ": a sharded optimizer uses reduce_scatter and all_gather, the others all_reduce",
			"measure them on the same ranks, and give that record or log too",
		})
	}
	return list
}

// missing names the trainers' collectives that the record lacks.
func missingCollectives(rec *record.Record) []string {
	var names []string
	for _, want := range trainer.Collectives() {
		if !slices.ContainsFunc(rec.Results, func(r record.Result) bool { return r.Collective == want && r.Status == record.OK }) {
			names = append(names, want)
		}
	}
	return names
}
