package advice

import (
	"slices"

	"zbench/bench/files/trace"
	"zbench/bench/job/trainer"
)

// Step is a step with the answer's setting as the work of a data-parallel rank, all of which have the
// same nodes, and the job with the groups of that rank. There are no nodes where the answer has no
// setting, or computation no times.
func (q *Question) Step(d *Document, rank int) (*trace.Trace, []trace.Node) {
	t := &trace.Trace{World: d.Answer.Advised.DP}
	return t, d.Answer.Nodes(q.in.Model.Params, groupsOf(&t.Groups, d.Answer.Advised, rank))
}

// groupsOf finds the group of a data-parallel rank that sends a message, among all, to which it adds.
func groupsOf(all *[]trace.Group, run trainer.Run, rank int) func(m trainer.Message) int {
	return func(m trainer.Message) int {
		g := trace.Group{Name: "data parallel", Size: m.Ranks, Ranks: members(run, m, rank)}
		if m.Ranks < run.DP {
			g.Name = "part of the data-parallel ranks"
		}
		at := slices.IndexFunc(*all, func(x trace.Group) bool { return x.Size == g.Size && slices.Equal(x.Ranks, g.Ranks) })
		if at >= 0 {
			return at
		}
		*all = append(*all, g)
		return len(*all) - 1
	}
}

// members are the ranks of a rank's group, one of several of equal size, which are the same number of ranks apart:
// as those that hold an expert, or a share in several optimizer instances of Megatron's. An instance is ranks that
// follow each other; in it alone all collectives run but the reduction over instances.
func members(run trainer.Run, m trainer.Message, rank int) (list []int) {
	block := run.DP
	if run.Instances > 1 && m.Collective != "all_reduce" && m.Ranks <= run.DP/run.Instances {
		block /= run.Instances
	}
	stride := block / m.Ranks
	for i := range m.Ranks {
		list = append(list, rank/block*block+rank%stride+i*stride)
	}
	return list
}
