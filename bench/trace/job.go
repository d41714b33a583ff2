package trace

import (
	"slices"

	"zbench/bench/collective"
	"zbench/bench/stat"
)

// Job is what a trace tells of the gradients that a rank reduces with others.
type Job struct {
	// Group is the title of the group, Ranks the number of its ranks; 0 is unknown.
	Group string
	Ranks int
	// Dtype is rccl-tests' name of the element type on the wire.
	Dtype string
	// Elements are those of the gradients, in the order of the forward pass. Tensors is false where
	// the file does not tell them: then they are those of the buckets.
	Elements []int64
	Tensors  bool
	// Ready is when each was ready, in seconds from the beginning of the backward pass; nil where the
	// file does not tell. The first of the forward pass is last.
	Ready []float64
	// Accum is the number of microbatches in a step; 0 is unknown.
	Accum int
	// Others are the titles of groups with gradients that are left out.
	Others []string
}

// Job finds the group of the rank with the most calls that reduces most bytes of gradients in a step;
// nil where there is none.
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

// passesOf are the backward passes that made gradients of exactly these elements.
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

// ready is the median over passes of when each gradient was ready since the pass began, the last first;
// nil where a time is missing.
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
