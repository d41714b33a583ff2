package trainer

// packing is a rule that cuts a sequence of tensors into buckets.
type packing struct {
	params []Param
	// order is the indexes of the tensors in the order they are added.
	order []int
	// sum and aligned are the elements before each of the order, the latter with
	// each tensor rounded up to what Megatron aligns starts to.
	sum, aligned []int64
	// alone is the place in the order of a tensor that shares no aligned bucket; -1 is none.
	alone int
	// largest is that of a tensor.
	largest int64
	// align is what a tensor's start is rounded up to, and divisor a bucket's end;
	// 0 is 1. Both count elements from the start of the buffer.
	align, divisor int64
	// scratch is space for buckets of an unknown number.
	scratch *[]Bucket
	// most bounds the tensors of a bucket; 0 does not.
	most int
}

func (p packing) start(n int64) int64 { return roundUp(n, p.align) }

// open is a bucket that is being filled: it spans from start to end of the
// buffer, and used are the elements of its tensors.
type open struct {
	Bucket
	start, end, used int64
}

func (o *open) add(i int, e Param, from int64) {
	if o.Params == 0 {
		o.First, o.Last = i, i
	}
	o.First, o.Last = min(o.First, i), max(o.Last, i)
	o.Params++
	o.Expert = e.Expert
	o.end = from + e.Elements
	o.used += e.Elements
}

// close ends the bucket at a multiple of the divisor.
func (o *open) close(divisor int64) Bucket {
	o.end = roundUp(o.end, divisor)
	o.Elements = o.end - o.start
	o.Padding = o.Elements - o.used
	return o.Bucket
}

// atMost closes a bucket before a tensor would exceed the limit. A tensor above the
// limit is a bucket by itself; with around the bucket before it stays open.
func (p packing) atMost(limit int64, around bool) []Bucket {
	if !around || limit >= p.largest {
		return p.atMostBySums(limit)
	}
	all := *p.scratch
	b := open{}
	for _, i := range p.order {
		e := p.params[i]
		if around && e.Elements > limit {
			alone := open{}
			alone.add(i, e, 0)
			all = append(all, alone.close(1))
			continue
		}
		if b.Params > 0 && (b.used+e.Elements > limit || b.Params == p.most) {
			all = append(all, b.close(p.divisor))
			b = open{}
		}
		b.add(i, e, p.start(b.end))
	}
	if b.Params > 0 {
		all = append(all, b.close(p.divisor))
	}
	return p.kept(all)
}

// indexes returns the tensors that have gradients, of one group of ranks.
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

// roundUp is the least multiple of step that is at least n; a step below 2 is 1.
func roundUp(n, step int64) int64 {
	if step < 2 {
		return n
	}
	return (n + step - 1) / step * step
}

// lcm is the least common multiple.
func lcm(a, b int64) int64 {
	x, y := a, b
	for y != 0 {
		x, y = y, x%y
	}
	return a / x * b
}
