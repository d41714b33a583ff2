package recommend

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/trace"
	"zbench/bench/trainer"
)

// The nodes of a step, each begun as soon as what it waits for has ended, take the step that the
// simulation of events says, for every trainer and however many microbatches.
func TestNodesTakeTheStep(t *testing.T) {
	seconds := bent(5e-4, 150e9, 100e6)
	var curves []Curve
	for _, ranks := range []int{64, 8} {
		for _, c := range []string{"all_reduce", "reduce_scatter", "all_gather", "reduce", "all_to_all"} {
			curves = append(curves, curve(t, c, ranks, wide(), func(s float64) float64 { return seconds(s) * float64(len(c)) }))
		}
	}
	cost := func(c *trace.Call, ranks int) float64 {
		for _, x := range curves {
			if x.Collective == c.Collective && x.Ranks == ranks {
				return x.Model().Seconds(c.Bytes)
			}
		}
		t.Fatalf("no curve of %s of %d ranks", c.Collective, ranks)
		return 0
	}
	asked := 0
	for _, name := range trainer.Names() {
		tr, err := trainer.ByName(name)
		require.NoError(t, err)
		for _, zero := range tr.Stages {
			for _, accum := range []int{1, 4} {
				params := trainer.WithBlocks(llama())
				a, err := Ask(Question{
					Curves: curves, Trainer: name, Params: params, Backward: 0.2, Forward: 0.1,
					Run: trainer.Run{DP: 64, Zero: zero, Accum: accum, GradDtype: tr.GradDtype, ParamDtype: "bfloat16"},
				})
				require.NoError(t, err)
				if a.Verdict != Recommended {
					continue
				}
				asked++
				var ranks []int
				nodes := a.Nodes(params, func(m trainer.Message) int {
					at := slices.Index(ranks, m.Ranks)
					if at < 0 {
						at, ranks = len(ranks), append(ranks, m.Ranks)
					}
					return at
				})
				ends := make([]float64, len(nodes))
				last, computed := 0.0, 0.0
				for i, n := range nodes {
					start := 0.0
					for _, j := range n.After {
						require.Less(t, j, i)
						start = max(start, ends[j])
					}
					ends[i] = start + n.Seconds
					if n.Call != nil {
						ends[i] = start + cost(n.Call, ranks[n.Call.Group])
					}
					computed += n.Seconds
					last = max(last, ends[i])
				}
				require.InEpsilon(t, float64(accum)*0.3, computed, 1e-9, name)
				require.InEpsilon(t, a.Best.Step, last, 1e-6, "%s, stage %d, %d microbatches, setting %d", name, zero, accum, a.Best.Elements)
			}
		}
	}
	require.GreaterOrEqual(t, asked, 8)
	require.Nil(t, (&Answer{}).Nodes(nil, nil))
}

// Calls of a group follow one another, and so do those of a trainer's stream: reductions of experts run beside the
// others, while a share of an optimizer instance is reduced over all of them when it has been scattered, and the next
// bucket after that. A pass ends with the calls of all groups.
func TestCallsOfGroups(t *testing.T) {
	params := trainer.WithBlocks(llama())
	for i := range params {
		params[i].Expert = i%9 == 7
	}
	seconds := 0.1
	for name, run := range map[string]trainer.Run{
		"beside":   {DP: 64, EP: 8, GradDtype: "float", ParamDtype: "bfloat16"},
		"together": {DP: 64, Instances: 8, Zero: 1, GradDtype: "float", ParamDtype: "bfloat16"},
	} {
		a := &Answer{Trainer: "megatron", Advised: run, Backward: &seconds, Forward: &seconds}
		nodes := a.NodesOf(params, 100e6, func(m trainer.Message) int {
			if m.Ranks == 8 && m.Collective == "all_reduce" {
				return 1
			}
			return 0
		})
		last, calls := map[int]int{}, 0
		for i, n := range nodes {
			if n.Call == nil {
				continue
			}
			calls++
			for group, before := range last {
				follows := group == n.Call.Group || name == "together" && n.Call.Collective != "all_gather"
				if follows {
					require.Contains(t, n.After, before, "%s: node %d of group %d", name, i, n.Call.Group)
				} else {
					require.NotContains(t, n.After, before, "%s: node %d of group %d", name, i, n.Call.Group)
				}
			}
			last[n.Call.Group] = i
		}
		require.Greater(t, calls, 20)
		require.Len(t, last, 2)
	}
}
