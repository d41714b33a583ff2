package advice

import (
	"slices"

	"zbench/bench/files/trace"
	"zbench/bench/job/trainer"
)

// Step returns a step with the answer's setting. The nodes are those of one data-parallel rank; they are
// equal for all ranks. The trace has that rank's groups. There are no nodes if the answer has no setting, or
// if the computation times are unknown.
func (q *Question) Step(d *Document, rank int) (*trace.Trace, []trace.Node) {
	t := &trace.Trace{World: d.Answer.Advised.DP}
	return t, d.Answer.Nodes(q.in.Model.Params, groupsOf(&t.Groups, d.Answer.Advised, rank))
}

// groupsOf returns a function that finds the group in which a data-parallel rank sends a message. The
// function adds a new group to `all`.
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

// members returns the ranks of a rank's group. The groups have equal sizes, and a group's ranks are a
// constant distance apart. A group can be, for example, the ranks that hold the same expert, or the ranks
// with the same share in several of Megatron's optimizer instances. An instance consists of consecutive
// ranks and runs all collectives except the reduction over instances.
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
