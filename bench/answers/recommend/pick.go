package recommend

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"zbench/bench/base/slice"
	"zbench/bench/hardware/policy"
	"zbench/bench/job/trainer"
)

// need is one collective of one group of ranks that the plan calls.
type need struct {
	collective string
	ranks      int
}

func (n need) String() string { return fmt.Sprintf("%s of %d ranks", n.collective, n.ranks) }

// neighbours reports whether the group is one of Megatron's optimizer instances, which are consecutive
// ranks (Megatron-Core, parallel_state.py, initialize_model_parallel; read 2026-11-21). Reductions over
// instances, and reductions of experts, use strided ranks.
func (n need) neighbours(r trainer.Run) bool {
	return r.Instances > 1 && r.EP < 2 && r.Apart(false) == 1 && n.collective != "all_reduce"
}

// pick chooses the curve for a need. The number of ranks must match. Among such curves it prefers the
// trainer's kind of groups, then its buffer placement, then its element type, then the curve with the most
// sizes. With Rescale it may rescale a curve of the nearest other number of ranks.
func (e *engine) pick(n need) (c Curve, from int, refusal *Refusal) {
	q, dtype := e.q, e.dtype(n)
	fit := slice.Where(q.Curves, func(c Curve) bool {
		return c.Collective == n.collective && len(c.Points) > 0 && (c.Ranks == n.ranks || q.Rescale && c.Ranks > 1)
	})
	if len(fit) == 0 {
		return c, 0, missing(n, q)
	}
	// A record that compares the library's policies has one curve per policy. No trainer sets a policy, so
	// a curve without a policy is preferred.
	if own := slice.Where(fit, func(c Curve) bool { return !policy.Named(c.Setup) }); len(own) > 0 {
		fit = own
	}
	score := func(c Curve) []int {
		far := max(c.Ranks*1000/n.ranks, n.ranks*1000/c.Ranks)
		return []int{
			far, unlike(c, n.ranks < q.Run.DP || q.Run.Apart(false) > 1, n.neighbours(q.Run)), slice.AsInt(c.InPlace != e.t.InPlace), slice.AsInt(c.Dtype != dtype), -len(c.Points),
		}
	}
	best := slices.MinFunc(fit, func(a, b Curve) int {
		return cmp.Or(slices.Compare(score(a), score(b)), cmp.Compare(a.Dtype, b.Dtype), cmp.Compare(a.Nodes, b.Nodes))
	})
	if refusal := severalSetups(best, fit); refusal != nil {
		return c, 0, refusal
	}
	if refusal := tooFew(best); refusal != nil {
		return c, 0, refusal
	}
	if best.Ranks != n.ranks {
		return best.Rescale(n.ranks), best.Ranks, nil
	}
	return best, 0, nil
}

// `unlike` returns how much a curve's communicators differ from the trainer's; 0 is the best match. The
// trainer has one communicator of all data-parallel ranks, or groups of neighbours or of strided ranks that
// run at once.
func unlike(c Curve, part, neighbours bool) int {
	switch {
	case !part:
		return slice.AsInt(c.Groups > 1)
	case (c.Stride > 0) != neighbours:
		return slice.AsInt(c.Groups <= 1)
	}
	return 2 + slice.AsInt(c.Groups <= 1)
}

// severalSetups refuses a record that has the chosen curve more than once, from different runs, devices or
// settings: zbench cannot know which curve applies to the trainer.
func severalSetups(best Curve, fit []Curve) *Refusal {
	alike := slice.Where(fit, func(c Curve) bool {
		return c.Dtype == best.Dtype && c.Ranks == best.Ranks && c.Nodes == best.Nodes && c.Groups == best.Groups && c.Stride == best.Stride && c.InPlace == best.InPlace
	})
	setups := slice.Map(alike, func(c Curve) string { return c.Setup })
	if len(setups) < 2 {
		return nil
	}
	const named = 3
	text := strings.Join(setups[:min(len(setups), named)], "; ")
	if len(setups) > named {
		text += "; …"
	}
	return refuse(
		"several_setups",
		fmt.Sprintf("the record has %d curves of %s of %d ranks, of other runs, devices or settings (%s)", len(setups), best.Collective, best.Ranks, text),
		"give a log of the one run that is like the training",
	)
}

// `strided` reports whether curve i was measured on neighbouring ranks although the call's ranks are not
// neighbours. Such a call joins the ranks with the same experts, or with the same part of a matrix. If each
// rank has its own node, even neighbouring ranks are far enough apart.
func (e *engine) strided(i int) bool {
	c, part := e.curves[i], e.needs[i].ranks < e.run.DP
	switch {
	case c.Stride > 0 || c.Nodes == c.Ranks:
		return false
	case e.run.Apart(false) > 1:
		return true
	}
	return c.Neighbours && part && e.run.EP > 1
}
