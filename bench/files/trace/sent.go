package trace

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"zbench/bench/base/slice"
	"zbench/bench/hardware/collective"
)

// Sent is one kind of call of a rank: its calls of one collective with one size in one group.
type Sent struct {
	// Group is the group's title.
	Group string `json:"group"`
	// Collective is zbench's name of the collective, or the file's name if zbench has none.
	Collective string `json:"collective"`
	// Dtype is the name of the element type in rccl-tests; empty if unknown.
	Dtype string `json:"dtype"`
	// Bytes is the size of each call as rccl-tests counts it; null if unknown.
	Bytes *int64 `json:"bytes"`
	// Ranks is the number of ranks of the group; 0 if unknown.
	Ranks int `json:"ranks"`
	// Calls is the number of calls of this rank in the file.
	Calls int `json:"calls"`
	// PerStep is the number of calls per step; null if steps differ.
	PerStep *float64 `json:"per_step"`
}

// sent counts a rank's calls by kind, in order of first appearance.
func (t *Trace) sent(r *Rank, steps [][]Call) []Sent {
	at := map[kind]int{}
	var list []Sent
	var inSteps []int
	for i := range r.Calls {
		c := &r.Calls[i]
		k := kindOf(c)
		j, ok := at[k]
		if !ok {
			j = len(list)
			at[k] = j
			s := Sent{Group: t.Groups[c.Group].Title(), Collective: c.Collective, Dtype: c.Dtype, Ranks: t.Groups[c.Group].Size}
			if c.Bytes >= 0 {
				s.Bytes = &c.Bytes
			}
			list, inSteps = append(list, s), append(inSteps, 0)
		}
		list[j].Calls++
	}
	for _, step := range steps {
		for i := range step {
			inSteps[at[kindOf(&step[i])]]++
		}
	}
	for j := range list {
		if n := len(steps); n > 0 && inSteps[j] > 0 {
			per := float64(inSteps[j]) / float64(n)
			list[j].PerStep = &per
		}
	}
	return list
}

// Buckets are the gradient buckets of a trainer's step, in the order of their calls.
type Buckets struct {
	// Group is the group's title.
	Group string `json:"group"`
	// Collective is the collective that reduces the buckets.
	Collective string `json:"collective"`
	// Dtype is the element type of the gradients.
	Dtype string `json:"dtype"`
	// Bytes are the sizes of a step's buckets, in bytes.
	Bytes []int64 `json:"bytes"`
	// Steps is the number of steps that have exactly these buckets.
	Steps int `json:"steps"`
	// Of is the number of steps with calls of this kind.
	Of int `json:"of"`
	// Most is the largest limit, in bytes, that explains the buckets: all buckets except the first
	// and the last were closed because they had reached the limit. Null if there is no other
	// bucket.
	Most *int64 `json:"most"`
	// FirstMost is the same limit for the first bucket, which DistributedDataParallel closes early.
	// Null if there is only one bucket.
	FirstMost *int64 `json:"first_most"`
	// Over is a limit, in bytes, that is too small: with it, a bucket would have closed before its
	// last tensor. Null if the tensors are unknown.
	Over *int64 `json:"over"`
	// Tensors are the numbers of elements of the gradients in the buckets, in order. Empty if they
	// are unknown, or if they do not add up to the buckets.
	Tensors []int64 `json:"tensors"`
	ranks   int     // number of ranks of the group; 0 if unknown
	leaf    int64   // number of elements of the gradient of an input; 0 if there is none
}

// floats are the element types of gradients.
var floats = []string{"float", "half", "bfloat16", "double"}

// buckets finds the reductions of gradients in each step, which are reductions of floating-point
// types. Reductions of less than a thousand elements are metrics.
func (t *Trace) buckets(r *Rank, steps [][]Call) []Buckets {
	type of struct {
		group             int
		collective, dtype string
	}
	var order []of
	met, lists := map[of]bool{}, map[of][][]int64{}
	for _, step := range steps {
		one := map[of][]int64{}
		for i := range step {
			c := &step[i]
			k := of{c.Group, c.Collective, c.Dtype}
			if c.Collective != "all_reduce" && c.Collective != "reduce_scatter" || !slices.Contains(floats, c.Dtype) || c.Bytes < 4096 {
				continue
			}
			if !met[k] {
				order, met[k] = append(order, k), true
			}
			one[k] = append(one[k], c.Bytes)
		}
		for k, bytes := range one {
			lists[k] = append(lists[k], bytes)
		}
	}
	var out []Buckets
	for _, k := range order {
		all := lists[k]
		best, times := commonest(all)
		if times < 2 { // a list of buckets that occurs only once is no rule
			continue
		}
		b := Buckets{Group: t.Groups[k.group].Title(), ranks: t.Groups[k.group].Size, Collective: k.collective, Dtype: k.dtype, Bytes: best, Steps: times, Of: len(all)}
		if n := len(best); n > 1 {
			b.FirstMost = &best[0]
			if n > 2 {
				least := slices.Min(best[1 : n-1])
				b.Most = &least
			}
		}
		b.parameters(r.Gradients)
		out = append(out, b)
	}
	return out
}

// parameters assigns the gradients of a step to its buckets. If an input requires a gradient, no
// trainer reduces that gradient, so parameters leaves it out. It recognises the gradient by its
// size, which no other gradient has.
func (b *Buckets) parameters(all []Gradient) {
	const most = 256
	b.tensors(all)
	var tried []int64
	for i := 0; i < len(all) && len(b.Tensors) == 0 && len(tried) < most; i++ {
		if n := all[i].Elements; !slices.Contains(tried, n) {
			tried = append(tried, n)
			if b.tensors(notOf(all, n)); len(b.Tensors) > 0 {
				b.leaf = n
			}
		}
	}
}

// notOf returns the gradients that do not have this number of elements, or all gradients if the
// number is 0.
func notOf(all []Gradient, elements int64) []Gradient {
	if elements == 0 {
		return all
	}
	return slice.Where(all, func(g Gradient) bool { return g.Elements != elements })
}

// tensors assigns the gradients of a step to its buckets. In autograd's order, the gradients must
// add up to every bucket.
func (b *Buckets) tensors(all []Gradient) {
	b.Tensors = []int64{}
	d, err := collective.DtypeByName(b.Dtype)
	if err != nil {
		return
	}
	for from := range all {
		if at := b.fit(all[from:], int64(d.Size)); at > 0 {
			for _, g := range all[from : from+at] {
				b.Tensors = append(b.Tensors, g.Elements)
			}
			return
		}
		if from > maxPeriod {
			return
		}
	}
}

// fit returns the number of gradients that make up the buckets, or 0 if they do not fit. It sets
// b.Over, the limit that is too small.
func (b *Buckets) fit(all []Gradient, width int64) (n int) {
	var over int64
	for i, bucket := range b.Bytes {
		size, last := int64(0), int64(0)
		for ; n < len(all) && size < bucket; n++ {
			last = all[n].Elements * width
			size += last
		}
		if size != bucket {
			return 0
		}
		if i > 0 {
			over = max(over, size-last)
		}
	}
	b.Over = &over
	return n
}

// commonest returns the most frequent list and its count. Among equally frequent lists it returns
// the first.
func commonest(all [][]int64) (best []int64, times int) {
	count := map[string]int{}
	for _, list := range all {
		count[fmt.Sprint(list)]++
	}
	for _, list := range all {
		if n := count[fmt.Sprint(list)]; n > times {
			best, times = list, n
		}
	}
	return best, times
}

// Measure is a proposed sweep over the sizes that a job sends in groups of one number of ranks.
type Measure struct {
	// Collectives are zbench's names.
	Collectives []string `json:"collectives"`
	// Dtype is the name of the element type in rccl-tests.
	Dtype string `json:"dtype"`
	// Ranks is the number of ranks of the group.
	Ranks int `json:"ranks"`
	// Sizes are the exact sizes, in bytes, ascending.
	Sizes []int64 `json:"sizes"`
}

// maxSizes is the largest number of sizes in a proposed sweep. The sizes with the most bytes are
// chosen. Sizes with less than leastShare of the job's bytes are left out.
const (
	maxSizes   = 16
	leastShare = 1e-3
)

// measure lists the proposed sweeps. For each group it takes the sizes with the most bytes.
func measure(sent []Sent, swept func(collective string) bool) []Measure {
	type of struct {
		ranks int
		dtype string
	}
	total := slice.Sum(sent, func(s Sent) float64 { return max(s.weight(), 0) })
	worth := slice.Where(sent, func(s Sent) bool {
		return s.weight() >= leastShare*total && s.Bytes != nil && *s.Bytes > 0 && s.Ranks > 1 && swept(s.Collective)
	})
	weight := map[int64]float64{}
	for _, s := range worth {
		weight[*s.Bytes] += s.weight()
	}
	order, kinds := slice.Group(worth, func(s Sent) of { return of{s.Ranks, cmp.Or(s.Dtype, "float")} })
	return slice.Map(order, func(k of) Measure {
		list := slice.Map(kinds[k], func(s Sent) int64 { return *s.Bytes })
		names := slice.Map(kinds[k], func(s Sent) string { return s.Collective })
		slices.SortFunc(list, func(a, b int64) int { return cmp.Or(-cmp.Compare(weight[a], weight[b]), cmp.Compare(a, b)) })
		list = list[:min(len(list), maxSizes)]
		slices.Sort(list)
		slices.Sort(names)
		return Measure{Collectives: slices.Compact(names), Dtype: k.dtype, Ranks: k.ranks, Sizes: slices.Compact(list)}
	})
}

// share returns part/whole, or 0 if whole is 0.
func share(part, whole float64) float64 {
	if whole <= 0 || math.IsNaN(part) {
		return 0
	}
	return part / whole
}
