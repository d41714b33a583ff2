package trace

import (
	"slices"

	"zbench/bench/base/slice"
	"zbench/bench/base/stat"
	"zbench/bench/hardware/collective"
)

// Job describes the gradients that a rank reduces with other ranks.
type Job struct {
	// Group is the title of the group. Ranks is its number of ranks; 0 if unknown.
	Group string
	Ranks int
	// Dtype is rccl-tests' name of the element type on the wire.
	Dtype string
	// Elements are the numbers of elements of the gradients, in forward order. If Tensors is false,
	// the file lacks them, and Elements has the buckets instead.
	Elements []int64
	Tensors  bool
	// Ready is the time at which each gradient was ready, in seconds from the beginning of the
	// backward pass; nil if unknown. It is in forward order, so the last entry is ready first.
	Ready []float64
	// Outside is the time of a step, in seconds, that is neither in its backward passes nor in
	// waiting for messages after them: forward passes, the optimizer, data. It is the median over
	// steps; 0 if unknown.
	Outside float64
	// Accum is the number of microbatches in a step; 0 if unknown.
	Accum int
	// Others are the titles of other groups with gradients, which are left out.
	Others []string
}

// Job describes the group that reduces the most bytes of gradients per step, on the rank with the
// most calls. It returns nil if no group reduces gradients.
func (t *Trace) Job() *Job {
	r := t.reference()
	if r == nil {
		return nil
	}
	steps := r.split().steps
	all := t.buckets(r, steps)
	if len(all) == 0 {
		return nil
	}
	b := slices.MaxFunc(all, func(a, b Buckets) int { return int(sum(a.Bytes)>>10 - sum(b.Bytes)>>10) })
	j := &Job{Group: b.Group, Ranks: b.ranks, Dtype: b.Dtype, Elements: b.Tensors, Tensors: len(b.Tensors) > 0}
	for _, other := range all {
		if other.Group != b.Group && !slices.Contains(j.Others, other.Group) {
			j.Others = append(j.Others, other.Group)
		}
	}
	if !j.Tensors {
		d, err := collective.DtypeByName(b.Dtype)
		if err != nil {
			return nil
		}
		for _, n := range b.Bytes {
			j.Elements = append(j.Elements, n/int64(d.Size))
		}
		slices.Reverse(j.Elements)
		return j
	}
	passes := passesOf(notOf(r.Gradients, b.leaf), b.Tensors)
	if n := len(passes); n%b.Of == 0 {
		j.Accum = n / b.Of
	}
	j.Outside, passes = r.outside(&b, passes)
	j.Ready = ready(passes)
	j.Elements = slices.Clone(j.Elements)
	slices.Reverse(j.Elements)
	return j
}

func sum(list []int64) (n int64) {
	for _, x := range list {
		n += x
	}
	return n
}

// passesOf returns the backward passes whose gradients have exactly these numbers of elements.
func passesOf(all []Gradient, elements []int64) (passes [][]Gradient) {
	n := len(elements)
	for i := 0; i+n <= len(all); {
		if slices.EqualFunc(all[i:i+n], elements, func(g Gradient, n int64) bool { return g.Elements == n }) {
			passes = append(passes, all[i:i+n])
			i += n
			continue
		}
		i++
	}
	return passes
}

// ready returns the time of each gradient since its pass began, the last gradient first. It is the
// median over passes, in seconds; nil if a time is missing.
func ready(passes [][]Gradient) (list []float64) {
	if len(passes) == 0 {
		return nil
	}
	for i := range slices.Backward(passes[0]) {
		var times []float64
		for _, p := range passes {
			if p[0].Made != nil && p[i].Made != nil && p[i].Made.End > p[0].Made.Start {
				times = append(times, p[i].Made.End-p[0].Made.Start)
			}
		}
		if len(times) == 0 {
			return nil
		}
		list = append(list, stat.Quantile(times, 0.5))
	}
	return list
}

// Method outside returns the time of a step, in seconds, that is neither in its backward passes nor
// in waiting for buckets after the last pass. The time is the median over steps. Only marked steps
// with exactly these buckets count, because DDP's first step differs. The result whole has the
// passes of these steps. If there is no such step, whole has all passes and the time is 0.
func (r *Rank) outside(b *Buckets, passes [][]Gradient) (seconds float64, whole [][]Gradient) {
	var all []float64
	for _, s := range r.Steps {
		within := func(x *Span) bool { return x != nil && s.Start <= x.Start && x.End <= s.End }
		mine := slice.Where(passes, func(p []Gradient) bool { return within(p[0].Made) && within(p[len(p)-1].Made) })
		sent, waited := 0, 0.0
		for _, c := range r.Calls {
			if within(c.Kernel) && c.Collective == b.Collective && slices.Contains(b.Bytes, c.Bytes) {
				sent, waited = sent+1, max(waited, c.Kernel.End)
			}
		}
		if len(mine) == 0 || sent != len(b.Bytes) {
			continue
		}
		whole = append(whole, mine...)
		rest := s.End - s.Start
		for _, p := range mine {
			rest -= p[len(p)-1].Made.End - p[0].Made.Start
		}
		all = append(all, max(0, rest-max(0, waited-mine[len(mine)-1][len(b.Tensors)-1].Made.End)))
	}
	if len(all) == 0 {
		return 0, passes
	}
	return stat.Quantile(all, 0.5), whole
}
