package recommend

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/files/trace"
	"zbench/bench/job/trainer"
	"zbench/test/longtest"
)

// The nodes of a step, each begun as soon as what it waits for has ended and sent by the rule of messages in flight, take the
// step that the simulation of events says, for every trainer, however many microbatches and communicators.
func TestLongNodesTakeTheStep(t *testing.T) {
	longtest.OnlyOrDetected(t)
	const alpha = 5e-4 // of all collectives
	seconds := bent(alpha, 150e9, 100e6)
	var curves []Curve
	for _, ranks := range []int{64, 32, 8, 2} {
		for _, c := range []string{"all_reduce", "reduce_scatter", "all_gather", "reduce", "all_to_all"} {
			x := curve(t, c, ranks, wide(), func(s float64) float64 { return alpha + (seconds(s)-alpha)*float64(len(c)+ranks)/10 })
			x.Points[0].Seconds = alpha
			curves = append(curves, x)
		}
	}
	asked, beside := 0, 0
	for _, name := range trainer.Names() {
		tr, err := trainer.ByName(name)
		require.NoError(t, err)
		for _, zero := range tr.Stages {
			for _, run := range []trainer.Run{{Accum: 1}, {Accum: 4}, {Accum: 1, EP: 8}, {Accum: 2, Instances: 2}} {
				params := trainer.WithBlocks(llama())
				for i := range params {
					params[i].Expert = run.EP > 1 && i%9 == 7
				}
				run.DP, run.Zero, run.GradDtype, run.ParamDtype = 64, zero, tr.GradDtype, "bfloat16"
				a, err := Ask(Question{Curves: curves, Trainer: name, Params: params, Backward: 0.2, Forward: 0.1, Run: run})
				require.NoError(t, err)
				if a.Verdict != Recommended {
					continue
				}
				asked++
				var groups []int
				nodes := a.Nodes(params, func(m trainer.Message) int {
					at := slices.Index(groups, m.Ranks)
					if at < 0 {
						at, groups = len(groups), append(groups, m.Ranks)
					}
					return at
				})
				took, computed := playedByTheRule(t, nodes, func(c *trace.Call) (seconds, latency float64) {
					i := slices.IndexFunc(curves, func(x Curve) bool { return x.Collective == c.Collective && x.Ranks == groups[c.Group] })
					return curves[i].Model().Seconds(c.Bytes), alpha
				})
				if len(groups) > 1 {
					beside++
				}
				require.InEpsilon(t, float64(run.Accum)*0.3, computed, 1e-9, name)
				require.InEpsilon(t, a.Best.Step, took, 1e-6, "%s, %+v, setting %d", name, run, a.Best.Elements)
			}
		}
	}
	require.GreaterOrEqual(t, asked, 8)
	require.GreaterOrEqual(t, beside, 4)
	require.Nil(t, (&Answer{}).Nodes(nil, nil))
}

// playedByTheRule is when nodes have ended whose messages are on one wire, and their computation, in seconds.
func playedByTheRule(t *testing.T, nodes []trace.Node, cost func(c *trace.Call) (seconds, latency float64)) (last, computed float64) {
	t.Helper()
	var wire Flight
	ends := make([]float64, len(nodes))
	for i, n := range nodes {
		start := 0.0
		for _, j := range n.After {
			require.Less(t, j, i)
			start = max(start, ends[j])
		}
		ends[i] = start + n.Seconds
		if n.Call != nil {
			seconds, latency := cost(n.Call)
			ends[i] = wire.Send(start, seconds, latency)
		}
		computed += n.Seconds
		last = max(last, ends[i])
	}
	return last, computed
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
