package recommend

import (
	"cmp"
	"slices"
)

// pick chooses the curve for a need: with the number of ranks, then with the trainer's
// kind of groups, its placement of buffers, its element type, and the most sizes. If
// allowed, a curve of the nearest other number of ranks is rescaled.
func pick(n need, q Question, inPlace bool, dtype string) (c Curve, from int, refusal *Refusal) {
	var fit []Curve
	for _, c := range q.Curves {
		if c.Collective == n.collective && len(c.Points) > 0 && (c.Ranks == n.ranks || q.Rescale && c.Ranks > 1) {
			fit = append(fit, c)
		}
	}
	if len(fit) == 0 {
		return c, 0, missing(n, q)
	}
	score := func(c Curve) []int {
		far := max(c.Ranks*1000/n.ranks, n.ranks*1000/c.Ranks)
		return []int{
			far, unlike(c, n.ranks < q.Run.DP || q.Run.Apart(false) > 1, n.neighbours(q.Run)), differ(c.InPlace == inPlace), differ(c.Dtype == dtype), -len(c.Points),
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

func differ(same bool) int {
	if same {
		return 0
	}
	return 1
}

// unlike is the distance between a curve's communicators and the trainer's: one
// communicator of all data-parallel ranks, or groups of neighbours or of strided ranks
// that run at once.
func unlike(c Curve, part, neighbours bool) int {
	switch {
	case !part:
		return differ(c.Groups <= 1)
	case (c.Stride > 0) != neighbours:
		return differ(c.Groups > 1)
	}
	return 2 + differ(c.Groups > 1)
}
