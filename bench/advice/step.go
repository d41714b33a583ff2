package advice

import (
	"slices"

	"zbench/bench/trace"
)

// Step is a step with the answer's setting as the work of a data-parallel rank, all of which have the
// same nodes, and the job with the groups of that rank. There are no nodes where the answer has no
// setting, or computation no times.
func (q *Question) Step(d *Document, rank int) (*trace.Trace, []trace.Node) {
	run := d.Answer.Advised
	t := &trace.Trace{World: run.DP}
	nodes := d.Answer.Nodes(q.in.Model.Params, func(ranks int) int {
		at := slices.IndexFunc(t.Groups, func(g trace.Group) bool { return g.Size == ranks })
		if at >= 0 {
			return at
		}
		g := trace.Group{Name: "data parallel", Size: ranks}
		if ranks < run.DP {
			g.Name = "part of the data-parallel ranks"
			g.Ranks = members(run.DP, ranks, rank, run.Instances > 1 && ranks == run.DP/run.Instances)
		}
		t.Groups = append(t.Groups, g)
		return len(t.Groups) - 1
	})
	return t, nodes
}

// members are the ranks of a rank's group, one of several of equal size: neighbours, as those of an
// optimizer instance of Megatron's are, or the same number of ranks apart, as those that hold an
// expert are.
func members(world, size, rank int, neighbours bool) (list []int) {
	first, stride := rank%(world/size), world/size
	if neighbours {
		first, stride = rank/size*size, 1
	}
	for i := range size {
		list = append(list, first+i*stride)
	}
	return list
}
