package trainer

import "strings"

// Megatron's parameters in 8 bits (--fp8-param-gather), read in NVIDIA/Megatron-LM at
// d98e8a64: megatron/core/distributed/param_and_grad_buffer.py. group_params_for_buffers
// gives them a buffer of their own; partition_buckets joins all buckets of the other
// tensors with the last of theirs, so that these are reduced and gathered in one call.

// unquantized are parts of names of a block's matrices that stay as they are: routers.
var unquantized = []string{"router", "mlp.gate."}

// quantized reports whether a matrix is stored in 8 bits: those of the blocks are.
func quantized(p Param) bool {
	return p.Block > 0 && !contains(strings.ToLower(p.Name)+".", unquantized)
}

// quantizedBuckets cuts both kinds of tensors apart, and joins the rest with the last
// bucket of the quantized ones.
func quantizedBuckets(in *prepared, setting int64, run Run) []Bucket {
	var all [2][]Bucket
	for kind := range all {
		cut := func(p packing) []Bucket {
			p.align, p.divisor = megatronAlign, Divisor(run.ranks(kind == 1)/run.instances(), run.PadBuckets)
			return p.atLeast(setting, setting)
		}
		some, rest := cut(in.matrices[kind]), cut(in.rest[kind])
		for i := range some {
			some[i].Quantized = some[i].Elements
		}
		if len(some) == 0 || run.FP32Accumulation { // which takes one bucket a call
			all[kind] = append(some, rest...)
			continue
		}
		last := &some[len(some)-1]
		for _, b := range rest {
			last.Elements += b.Elements
			last.Padding += b.Padding
			last.Params += b.Params
			last.First, last.Last = min(last.First, b.First), max(last.Last, b.Last)
		}
		all[kind] = some
	}
	return both(in.kinds, func(_ packing, expert bool) []Bucket { return all[kindOf(expert)] })
}
