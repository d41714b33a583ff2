package trainer

import (
	"cmp"
	"math"
	"slices"
)

// Megatron-Core's layer-wise optimizer, which --use-distributed-optimizer means
// with Muon and every optimizer but Adam and SGD. Read in NVIDIA/Megatron-LM at
// d98e8a64: megatron/core/optimizer/layer_wise_optimizer.py,
// _compute_per_buffer_param_layout (the rule), training/arguments.py (which
// optimizers), training/training.py wrap_model_chunks_with_ddp (both kinds of
// buffers are scattered), distributed/param_and_grad_buffer.py
// group_params_for_buffers (the matrices have a buffer of their own; the other
// tensors keep the distributed optimizer's).
//
// A matrix is whole in one rank's share, so that a bucket is dp times its largest
// share. A bucket stays open until it holds max(setting, 0.9 · dp · its largest
// matrix) elements, and beyond that while the next matrix fits into the padding.
const (
	floorShare = 0.9 // PADDING_FLOOR
	unevenness = 0.3 // _NUMEL_EPSILON: how far a share may exceed the mean
)

// wholeBuckets cuts the matrices by the layer-wise rule and the rest as the
// distributed optimizer does.
func wholeBuckets(in *prepared, setting int64, run Run) []Bucket {
	matrices := both(in.matrices, func(_ packing, expert bool) []Bucket {
		return newWholePacking(in, run, expert).buckets(setting, &in.packed[kindOf(expert)])
	})
	rest := both(in.rest, func(p packing, expert bool) []Bucket {
		p.align, p.divisor = megatronAlign, Divisor(run.ranks(expert), run.PadBuckets)
		return p.atLeast(setting, setting)
	})
	all := slices.Concat(matrices, rest)
	inOrder(all, func(a, b Bucket) int { return cmp.Compare(b.First, a.First) })
	return all
}

// piece is one matrix, at an index of the list.
type piece struct {
	at       int
	elements int64
	shaped   bool // the shape is known
	cost     float64
	// class numbers the costs, the highest first.
	class int
}

// pieces are in the order of backward.
func (p packing) pieces() []piece {
	all := make([]piece, 0, len(p.order))
	for _, i := range p.order {
		x := p.params[i]
		all = append(all, piece{at: i, elements: x.Elements, shaped: len(x.Shape) == 2, cost: stepCost(x)})
	}
	return classed(all)
}

// classed numbers the pieces' costs.
func classed(all []piece) []piece {
	costs := make([]float64, len(all))
	for i, x := range all {
		costs[i] = -x.cost
	}
	slices.Sort(costs)
	costs = slices.Compact(costs)
	for i, x := range all {
		all[i].class, _ = slices.BinarySearch(costs, -x.cost)
	}
	return all
}

// byWork sorts a chunk by descending work, stable, by counting, into the given space.
func byWork(chunk, sorted []piece) []piece {
	classes := 0
	for _, x := range chunk {
		classes = max(classes, x.class+1)
	}
	if classes > len(chunk) { // almost all shapes differ
		copy(sorted, chunk)
		slices.SortStableFunc(sorted, func(a, b piece) int { return cmp.Compare(a.class, b.class) })
		return sorted
	}
	at := make([]int, classes+1)
	for _, x := range chunk {
		at[x.class+1]++
	}
	for c := range classes {
		at[c+1] += at[c]
	}
	for _, x := range chunk {
		sorted[at[x.class]] = x
		at[x.class]++
	}
	return sorted
}

// wholePacking packs the pieces of one buffer.
type wholePacking struct {
	all     []piece
	dp      int64
	divisor int64 // of a share
	expert  bool
	// loads is the work of each rank so far: it accumulates over the buckets. filled
	// is how far the shares of an open chunk are filled, and sorted scratch space.
	loads  *shares
	filled *leastHeap
	sorted []piece
}

func newWholePacking(in *prepared, run Run, expert bool) *wholePacking {
	w := packingOf(in.pieces[kindOf(expert)], run.ranks(expert), run.PadBuckets)
	w.expert = expert
	return w
}

// packingOf packs pieces for a group of ranks.
func packingOf(all []piece, ranks int, pad bool) *wholePacking {
	dp := int64(ranks)
	return &wholePacking{all: all, dp: dp, divisor: lcm(megatronAlign, Divisor(ranks, pad)/dp), filled: newHeap(ranks)}
}

// kindOf indexes what is kept apart for dense tensors and for experts.
func kindOf(expert bool) int {
	if expert {
		return 1
	}
	return 0
}

// chunking is the pieces of each bucket. Every setting over one bound, up to and
// including the other, cuts the same.
type chunking struct {
	chunks     [][]piece
	over, upTo int64
}

// packed is a chunking with its buckets.
type packed struct {
	chunking
	buckets []Bucket
}

// buckets packs the chunks of a setting, unless another setting with the same chunks
// was packed before.
func (w *wholePacking) buckets(setting int64, before *[]packed) []Bucket {
	for _, x := range *before {
		if x.over < setting && setting <= x.upTo {
			return x.buckets
		}
	}
	now := packed{chunking: w.chunks(setting)}
	w.loads = newShares(int(w.dp))
	for _, chunk := range now.chunks {
		now.buckets = append(now.buckets, w.bucket(chunk))
	}
	*before = append(*before, now)
	return now.buckets
}

// chunks cuts the pieces. A setting of 0 is one bucket.
func (w *wholePacking) chunks(setting int64) chunking {
	cut := chunking{over: 0, upTo: math.MaxInt64}
	if setting == 0 {
		cut.over, cut.upTo = -1, 0
	}
	for start := 0; start < len(w.all); {
		end := w.end(start, setting, &cut)
		cut.chunks = append(cut.chunks, w.all[start:end])
		start = end
	}
	return cut
}

// end is where a chunk ends that starts with a piece. It narrows the bounds of the
// settings that cut the same: wherever the setting alone decides.
func (w *wholePacking) end(start int, setting int64, cut *chunking) int {
	held, largest := int64(0), int64(0)
	w.filled.reset()
	for i, x := range w.all[start:] {
		if setting > 0 && i > 0 && held >= int64(floorShare*float64(w.dp*largest)) &&
			roundUp(w.filled.least(), megatronAlign)+x.elements > roundUp(w.filled.most, w.divisor) {
			if held >= setting {
				cut.upTo = min(cut.upTo, held)
				return start + i
			}
			cut.over = max(cut.over, held)
		}
		w.filled.add(roundUp(w.filled.least(), megatronAlign) + x.elements)
		held += x.elements
		largest = max(largest, x.elements)
	}
	return len(w.all)
}

// bucket gives each piece to a rank, the most work first: to the one with the least
// work so far whose share has room, or else to the emptiest.
func (w *wholePacking) bucket(chunk []piece) Bucket {
	b := Bucket{Expert: w.expert, Whole: true, First: chunk[0].at, Last: chunk[0].at, Params: len(chunk)}
	used := int64(0)
	for _, x := range chunk {
		b.First, b.Last = min(b.First, x.at), max(b.Last, x.at)
		used += x.elements
	}
	room := float64(used) / float64(w.dp) * (1 + unevenness)
	w.loads.empty()
	share := int64(0)
	if len(w.sorted) < len(chunk) {
		w.sorted = make([]piece, len(chunk))
	}
	for _, x := range byWork(chunk, w.sorted[:len(chunk)]) {
		at := w.loads.find(func(filled int64) bool { return float64(roundUp(filled, megatronAlign)+x.elements) <= room })
		share = max(share, w.loads.put(at, x))
	}
	b.Elements = w.dp * roundUp(share, w.divisor)
	b.Padding = b.Elements - used
	return b
}
