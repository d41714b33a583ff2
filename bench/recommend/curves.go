package recommend

import (
	"cmp"
	"slices"

	"zbench/bench/cost"
)

// pick chooses the curve for a need: of the right ranks; then placed as the
// trainer places its buffers, in its element type, of one communicator rather
// than of several that ran at once (or, for a part of the ranks, the other way
// round), and of the most sizes. Where allowed, a curve of the nearest other
// number of ranks is rescaled.
func pick(n need, q Question, inPlace bool, dtype string) (c cost.Curve, from int, refusal *Refusal) {
	var fit []cost.Curve
	for _, c := range q.Curves {
		if c.Collective == n.collective && len(c.Points) > 0 && (c.Ranks == n.ranks || q.Rescale && c.Ranks > 1) {
			fit = append(fit, c)
		}
	}
	if len(fit) == 0 {
		return c, 0, missing(n, q)
	}
	score := func(c cost.Curve) []int {
		far := max(c.Ranks*1000/n.ranks, n.ranks*1000/c.Ranks)
		return []int{
			far, differ(c.InPlace == inPlace), differ(c.Dtype == dtype),
			differ((c.Groups > 1) == (n.ranks < q.Run.DP)), -len(c.Points),
		}
	}
	best := slices.MinFunc(fit, func(a, b cost.Curve) int {
		return cmp.Or(slices.Compare(score(a), score(b)), cmp.Compare(a.Dtype, b.Dtype), cmp.Compare(a.Nodes, b.Nodes))
	})
	if refusal := tooFew(best); refusal != nil {
		return c, 0, refusal
	}
	if best.Ranks != n.ranks {
		return best.Rescale(n.ranks), best.Ranks, nil
	}
	return best, 0, nil
}

func differ(same bool) int {
	if same {
		return 0
	}
	return 1
}
