package rails

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/finding"
)

// Near the limit what is slow is named or among the candidates: never is another component named.
func TestNearTheLimitNoOtherNameIsCertain(t *testing.T) {
	worlds := []Fleet{{Nodes: 1, GPUs: 3}, {Nodes: 1, GPUs: 8}, {Nodes: 2, GPUs: 8}, {Nodes: 3, GPUs: 2}, {Nodes: 4, GPUs: 4}, {Nodes: 8, GPUs: 4}}
	slow := []struct {
		is   Component
		slow func(f Fleet, x Pair, k Kind) bool
		fits func(f Fleet) bool
	}{
		{Component{Part: GPU}, func(_ Fleet, x Pair, _ Kind) bool { return x.A == Place{} || x.B == Place{} }, func(Fleet) bool { return true }},
		{Component{Part: Rail}, func(_ Fleet, x Pair, k Kind) bool { return k == Network && (x.A == Place{} || x.B == Place{}) }, func(f Fleet) bool { return f.Nodes > 1 }},
		{Component{Part: Node}, func(_ Fleet, x Pair, _ Kind) bool { return touches(x, 0) }, func(f Fleet) bool { return f.Nodes > 2 }},
		{Component{Part: Link, B: 1}, func(_ Fleet, x Pair, k Kind) bool { return k == XGMI && x.A.Node == 0 && x.A.GPU+x.B.GPU == 1 }, func(Fleet) bool { return true }},
		{Component{Part: Leaf, B: -1}, func(f Fleet, x Pair, k Kind) bool {
			return k == Network && x.A.GPU == 0 && (x.A.Node < f.Nodes/2 || x.B.Node < f.Nodes/2)
		}, func(f Fleet) bool { return f.Nodes > 3 }},
	}
	right, candidates, other := 0, 0, []string{}
	for _, f := range worlds {
		for seed := range uint64(4) {
			for _, x := range slow {
				if !x.fits(f) {
					continue
				}
				_, clean := judged(t, f, seed, 0.01, nil)
				limit := max(clean.NetworkLimit, clean.LinkLimit)
				times := 1 / (1 - limit*(1.1+0.1*float64(seed)))
				_, v := judged(t, f, seed, 0.01, func(p Pair, k Kind, _ *rand.Rand) float64 { return 1 + (times-1)*b(k != Rings && x.slow(f, p, k)) })
				named := slices.ContainsFunc(v.Findings, func(s Slow) bool { return s.Component != x.is })
				switch {
				case v.State == finding.Healthy && 1-1/times <= max(v.NetworkLimit, v.LinkLimit): // it says so
				case !named && len(v.Findings) > 0:
					right++
				case !named && asked(v, x.is):
					candidates++
				default:
					other = append(other, fmt.Sprintf("%d×%d, seed %d, %+v: %+v %+v", f.Nodes, f.GPUs, seed, x.is, v.Findings, v.Questions))
				}
			}
		}
	}
	t.Logf("%d named, %d candidates, %d others", right, candidates, len(other))
	require.Empty(t, other)
	require.Greater(t, right, candidates)
}
