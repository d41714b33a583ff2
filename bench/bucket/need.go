package bucket

import (
	"slices"

	"zbench/bench/record"
)

// needs lists what a bucket size takes beside the curves.
func needs(rec *record.Record) []Need {
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
			"--framework megatron|ddp|fsdp2|deepspeed|xla, --grad-dtype float|bfloat16",
		},
	}
	if missing := missing(rec); missing != "" {
		list = append(list, Need{
			"curves of " + missing + ": a sharded optimizer uses reduce_scatter and all_gather, the others all_reduce",
			"zbench collectives sweeps all three",
		})
	}
	return list
}

// missing names the collectives of gradient reduction that the record lacks.
func missing(rec *record.Record) string {
	names := ""
	for _, want := range []string{"all_reduce", "reduce_scatter", "all_gather"} {
		has := slices.ContainsFunc(rec.Results, func(r record.Result) bool {
			return r.Collective == want && r.Status == record.OK
		})
		if has {
			continue
		}
		if names != "" {
			names += ", "
		}
		names += want
	}
	return names
}
