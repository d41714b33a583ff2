package trainer

import (
	"cmp"
	"slices"
)

const (
	allReduce     = "all_reduce"
	reduceScatter = "reduce_scatter"
	allGather     = "all_gather"
	allToAll      = "all_to_all"
	reduce        = "reduce"
)

// Function `both` packs the dense tensors and the experts separately. It returns all buckets in
// the order in which they fill during backward. Experts are reduced over other ranks, so the two
// kinds never share a bucket.
func both(kinds [2]packing, pack func(p packing, expert bool) []Bucket) []Bucket {
	var all []Bucket
	for kind, p := range kinds {
		if len(p.order) == 0 {
			continue
		}
		if some := pack(p, kind == 1); all == nil {
			all = some
		} else {
			all = slices.Concat(all, some)
		}
	}
	inOrder(all, func(a, b Bucket) int { return cmp.Compare(b.First, a.First) })
	return all
}

// inOrder sorts a list that usually is sorted already. Equal elements keep their order.
func inOrder[T any](all []T, compare func(a, b T) int) {
	if !slices.IsSortedFunc(all, compare) {
		slices.SortStableFunc(all, compare)
	}
}

// reductions returns one call per bucket, which starts when the last gradient of the bucket is
// ready. No computation waits for these calls.
func reductions(buckets []Bucket, name string, run Run) []Message {
	all := make([]Message, 0, len(buckets))
	wide := run.GradBytes()
	for _, b := range buckets {
		if n := run.Ranks(b.Expert); n > 1 {
			all = append(all, Message{Collective: name, Bytes: b.Elements * wide, Ranks: n, Launch: b.First, Wait: Never, Stream: kindOf(b.Expert)})
		}
	}
	return all
}

// chain gathers the buckets in forward order. The call of a bucket is launched when computation
// reaches the previous bucket. When computation reaches the bucket itself, it waits for the call.
// Dense tensors, experts and whole matrices have separate chains.
func chain(buckets []Bucket, run Run) []Message {
	all := make([]Message, 0, len(buckets))
	wide := run.param()
	for kind := range 4 {
		expert, whole := kind&1 > 0, kind&2 > 0
		at, ranks := 0, run.Ranks(expert)/run.instances()
		for _, b := range slices.Backward(buckets) {
			if b.Expert != expert || b.Whole != whole || ranks < 2 {
				continue
			}
			all = append(all, Message{
				Collective: allGather, Bytes: (b.Elements-b.Quantized)*wide + b.Quantized, Ranks: ranks,
				Launch: at, Wait: b.First, Stream: kindOf(expert),
			})
			if run.NoGatherOverlap {
				all[len(all)-1].Wait = 0
				continue
			}
			at = b.First
		}
	}
	inOrder(all, func(a, b Message) int { return cmp.Compare(a.Launch, b.Launch) })
	return all
}
