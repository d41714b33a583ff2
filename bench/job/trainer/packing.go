package trainer

import (
	"slices"
	"sort"
)

// packing cuts a sequence of tensors into buckets.
type packing struct {
	params []Param
	// order has the indices of the tensors, in the order in which they are added to buckets.
	order []int
	// sum[k] is the number of elements before tensor k of order. aligned[k] is the same with each
	// tensor rounded up to align.
	sum, aligned []int64
	// One tensor may have an aligned bucket of its own. alone is the index of this tensor in order,
	// or -1 if there is none.
	alone int
	// largest is the number of elements of the largest tensor.
	largest int64
	// The start of a tensor is rounded up to a multiple of align. The end of a bucket is rounded up
	// to a multiple of divisor. Both are in elements from the start of the buffer; 0 means 1.
	align, divisor int64
	// scratch is memory for buckets whose number is not yet known.
	scratch *[]Bucket
	// Field `most` is the largest number of tensors in a bucket; 0 means no limit.
	most int
}

// atMostAround closes a bucket before a tensor would exceed the limit, or once it holds p.most
// tensors. A tensor above the limit gets a bucket of its own; the bucket before it stays open and
// takes later tensors.
func (p packing) atMostAround(limit int64) []Bucket {
	if limit >= p.largest {
		return p.atMost(limit)
	}
	all := *p.scratch
	var b Bucket
	for _, i := range p.order {
		switch e := p.params[i]; {
		case e.Elements > limit:
			all = append(all, Bucket{Elements: e.Elements, Params: 1, First: i, Last: i, Expert: e.Expert})
			continue
		case b.Params > 0 && (b.Elements+e.Elements > limit || b.Params == p.most):
			all = append(all, b)
			fallthrough
		case b.Params == 0:
			b = Bucket{First: i, Last: i, Expert: e.Expert}
		}
		b.First, b.Last = min(b.First, i), max(b.Last, i)
		b.Params++
		b.Elements += p.params[i].Elements
	}
	if b.Params > 0 {
		all = append(all, b)
	}
	return p.kept(all)
}

// indexes returns the tensors whose gradients one kind of ranks reduces: dense tensors or experts.
func indexes(params []Param, expert, reverse bool) []int {
	var order []int
	for i := range params {
		at := i
		if reverse {
			at = len(params) - 1 - i
		}
		if params[at].Expert == expert && params[at].Elements > 0 {
			order = append(order, at)
		}
	}
	return order
}

// roundUp returns the smallest multiple of step that is at least n; a step below 2 counts as 1.
func roundUp(n, step int64) int64 {
	if step < 2 {
		return n
	}
	return (n + step - 1) / step * step
}

// lcm returns the least common multiple.
func lcm(a, b int64) int64 {
	x, y := a, b
	for y != 0 {
		x, y = y, x%y
	}
	return a / x * b
}

// newPacking computes the sums of the tensors, plain and aligned.
func newPacking(params []Param, order []int) packing {
	p := packing{params: params, order: order, alone: slices.IndexFunc(order, func(i int) bool { return params[i].Alone }), sum: make([]int64, len(order)+1), aligned: make([]int64, len(order)+1), scratch: new([]Bucket)}
	for k, i := range order {
		p.largest = max(p.largest, params[i].Elements)
		p.sum[k+1] = p.sum[k] + params[i].Elements
		p.aligned[k+1] = p.aligned[k] + roundUp(params[i].Elements, megatronAlign)
	}
	return p
}

// atLeast closes a bucket as soon as it holds limit elements, so that the last tensor exceeds the
// limit. Each bucket uses the next limit; when no further limit follows, the last one is used
// again. A limit of 0 never closes a bucket. The end of a bucket is a multiple of the alignment of
// starts, so the aligned sums determine where a bucket closes.
func (p packing) atLeast(limits ...int64) []Bucket {
	all := *p.scratch
	starts := p.sum
	if p.align > 1 {
		starts = p.aligned
	}
	for from := 0; from < len(p.order); limits = limits[min(1, len(limits)-1):] {
		last, limit := len(p.order)-1, limits[0]
		held := func(k int) int64 { return starts[k] - starts[from] + p.sum[k+1] - p.sum[k] }
		if limit > 0 {
			last = min(last, from+nearest(last+1-from, func(k int) bool { return held(from+k) >= limit }))
		}
		if p.align > 1 && p.alone >= from && p.alone <= last {
			last = max(from, p.alone-1)
		}
		b := Bucket{
			Elements: roundUp(held(last), p.divisor), Params: last + 1 - from, First: p.order[last], Last: p.order[from],
			Expert: p.params[p.order[from]].Expert,
		}
		b.Padding = b.Elements - (p.sum[last+1] - p.sum[from])
		all = append(all, b)
		from = last + 1
	}
	return p.kept(all)
}

// kept returns a copy of the buckets in scratch that uses no more memory than needed.
func (p packing) kept(all []Bucket) []Bucket {
	*p.scratch = all[:0]
	return slices.Clone(all)
}

// nearest returns the same as sort.Search, but is faster for results near 0.
func nearest(n int, is func(k int) bool) int {
	lo, step := 0, 1
	for lo+step < n && !is(lo+step-1) {
		lo, step = lo+step, 2*step
	}
	return lo + sort.Search(min(step, n-lo), func(k int) bool { return is(lo + k) })
}

// atMost closes a bucket before a tensor would exceed the limit, or once it holds p.most tensors. A
// tensor above the limit gets a bucket of its own.
func (p packing) atMost(limit int64) []Bucket {
	all := *p.scratch
	for from := 0; from < len(p.order); {
		n := nearest(len(p.order)-from, func(k int) bool { return p.sum[from+k+1]-p.sum[from] > limit })
		if p.most > 0 {
			n = min(n, p.most)
		}
		last := from + max(1, n) - 1
		all = append(all, Bucket{
			Elements: p.sum[last+1] - p.sum[from], Params: last + 1 - from, First: p.order[last], Last: p.order[from],
			Expert: p.params[p.order[last]].Expert,
		})
		from = last + 1
	}
	return p.kept(all)
}
