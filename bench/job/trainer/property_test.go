package trainer

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// runs are one or more for each trainer.
func runs() map[string][]Run {
	run := func(r Run) Run {
		r.GradDtype, r.ParamDtype = "float", "bfloat16"
		return r
	}
	all := map[string][]Run{
		"megatron":  {run(Run{DP: 16}), run(Run{DP: 24, Zero: 1, EP: 2}), run(Run{DP: 16, Zero: 1, Instances: 2, PadBuckets: true}), run(Run{DP: 16, Zero: 1, NoOverlap: true, NoGatherOverlap: true}), run(Run{DP: 24, Zero: 1, EP: 2, LayerWise: true}), run(Run{DP: 16, Zero: 1, LayerWise: true, LegacyLayout: true})},
		"ddp":       {run(Run{DP: 16}), run(Run{DP: 16, EP: 4})},
		"fsdp2":     {run(Run{DP: 16, Zero: 3}), run(Run{DP: 16, EP: 4, Zero: 3}), run(Run{DP: 16, Zero: 3, KeepParams: true}), run(Run{DP: 16, EP: 4, Zero: 3, Instances: 2})},
		"deepspeed": {run(Run{DP: 16, Zero: 1, EP: 4}), run(Run{DP: 16, Zero: 2, NoOverlap: true}), run(Run{DP: 16, Zero: 3})},
		"xla":       {run(Run{DP: 16}), run(Run{DP: 16, Zero: 1})},
	}
	for _, x := range table {
		for _, stage := range x.Stages {
			all[x.Name] = append(all[x.Name], run(Run{DP: 8, Zero: stage}), run(Run{DP: 8, EP: 2, Zero: stage, NoOverlap: true}))
		}
	}
	return all
}

// Every row says all there is to say of a trainer.
func TestRowsAreWhole(t *testing.T) {
	named := map[string]string{}
	for i, x := range table {
		require.NotZero(t, x.listed)
		require.True(t, i == 0 || table[i-1].listed < x.listed, "%s and another have the same place", x.Name)
		for _, name := range append([]string{x.Name}, x.Aliases...) {
			require.Empty(t, named[name], "%s is also called %s", x.Name, name)
			require.Equal(t, strings.ToLower(name), name)
			named[name] = x.Name
		}
		require.NotEmpty(t, x.Title, x.Name)
		require.NotEmpty(t, x.Knob, x.Name)
		require.Contains(t, []string{Elements, MiB, Bytes, Blocks}, x.Unit, x.Name)
		require.Equal(t, x.Unit == Blocks, x.Settings(nil, Run{}) != nil, x.Name)
		require.NotEmpty(t, x.Stages, x.Name)
		require.NotNil(t, x.Default, x.Name)
		require.NotNil(t, x.plan, x.Name)
		require.NotEmpty(t, x.forms, x.Name)
		require.NotEmpty(t, x.keys, x.Name)
		require.NoError(t, x.Check(Run{DP: 8, GradDtype: x.GradDtype, ParamDtype: "bfloat16", Zero: x.Stages[0]}))
		for _, k := range slices.Concat(x.keys, x.beside) {
			require.Equal(t, normal(k.names), k.names, "%s: keys are compared in this spelling", x.Name)
		}
		for _, c := range x.Changes {
			require.True(t, c.Code != "" && c.Message != "" && c.When != nil, x.Name)
		}
	}
}

// Collectives are what the plans of any run call.
func TestCollectivesAreThoseOfThePlans(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	for name, all := range runs() {
		x, err := ByName(name)
		require.NoError(t, err)
		called := map[string]bool{}
		for _, run := range all {
			p := x.Plan(random(rng), 0, run)
			for _, m := range slices.Concat(p.Backward, p.Forward, p.After) {
				called[m.Collective] = true
			}
		}
		require.ElementsMatch(t, slices.Collect(maps.Keys(called)), x.Collectives, name)
	}
}

func random(rng *rand.Rand) []Param {
	params := make([]Param, 1+rng.IntN(60))
	for i := range params {
		params[i] = Param{Elements: rng.Int64N(5000) + int64(rng.IntN(2)), Expert: rng.IntN(3) == 0, Block: (i + 3) / 4}
	}
	params[0].Elements++
	return params
}

// Whatever the setting: each tensor is sent exactly once, no call is waited for
// before it is made, and calls are in the order in which they are made.
func TestPlansAreSound(t *testing.T) {
	Register(t, MadeUp)
	rng := rand.New(rand.NewPCG(1, 1))
	for name, all := range runs() {
		x, err := ByName(name)
		require.NoError(t, err)
		for _, run := range all {
			require.NoError(t, x.Check(run))
			for range 300 {
				params := random(rng)
				setting := rng.Int64N(elements(params) + 100)
				p := x.Plan(params, setting, run)
				sent, tensors, largest, ofExperts := int64(0), 0, int64(0), int64(0)
				for _, b := range p.Buckets {
					if b.Expert {
						ofExperts += b.Elements - b.Padding
					}
					sent += b.Elements - b.Padding
					tensors += b.Params
					require.GreaterOrEqual(t, b.Padding, int64(0))
					largest = max(largest, b.Elements)
				}
				require.Equal(t, elements(params), sent, "%s %+v", name, run)
				if run.EP > 1 {
					experts := slices.DeleteFunc(slices.Clone(params), func(x Param) bool { return !x.Expert })
					require.Equal(t, elements(experts), ofExperts, "%s %+v: a bucket has tensors of experts and others, which other ranks reduce", name, run)
				}
				sound(t, p.Backward, len(params), -1)
				sound(t, p.Forward, len(params), 1)
				wire := int64(0)
				for _, m := range p.Backward {
					if m.Collective == "all_reduce" && run.Instances < 2 || m.Collective == "reduce_scatter" {
						wire += m.Bytes
					}
				}
				require.GreaterOrEqual(t, wire, 4*sent, "every gradient is on the wire")
			}
		}
	}
}

// sound checks the messages of a pass whose boundaries rise or fall.
func sound(t *testing.T, messages []Message, n, direction int) {
	t.Helper()
	for i, m := range messages {
		require.True(t, 0 <= m.Launch && m.Launch <= n && Never <= m.Wait && m.Wait <= n, "%+v", m)
		require.Positive(t, m.Bytes)
		require.Greater(t, m.Ranks, 1)
		if m.Wait != Never {
			require.LessOrEqual(t, direction*m.Launch, direction*m.Wait, "%+v", m)
		}
		if i > 0 {
			require.LessOrEqual(t, direction*messages[i-1].Launch, direction*m.Launch, "%+v", messages)
		}
	}
}

// A larger setting never makes more buckets, where the rule has no padding.
func TestLargerSettingsMakeFewerBuckets(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	for range 200 {
		params := random(rng)
		last := 1 << 30
		for s := int64(1); s < 2*elements(params); s = s*3/2 + 1 {
			n := len(plan(t, "ddp", params, s, Run{DP: 8}).Buckets)
			require.LessOrEqual(t, n, last+1, "one more is the rest")
			last = n
		}
		require.LessOrEqual(t, last, 2, "dense and experts")
	}
}

func TestRunsThatCannotBe(t *testing.T) {
	x, err := ByName("Megatron")
	require.NoError(t, err)
	ok := Run{DP: 8, GradDtype: "float", ParamDtype: "bf16"}
	require.NoError(t, x.Check(ok))
	for name, change := range map[string]func(r *Run){
		"valid are [1 0]":   func(r *Run) { r.Zero = 3 },
		"unknown dtype":     func(r *Run) { r.GradDtype = "posit" },
		"there is at least": func(r *Run) { r.DP = 0 },
		"expert-parallel":   func(r *Run) { r.EP = 3 },
		"instances":         func(r *Run) { r.Instances = 3 },
		"negative":          func(r *Run) { r.Accum = -1 },
	} {
		r := ok
		change(&r)
		require.ErrorContains(t, x.Check(r), name)
	}
	_, err = ByName("caffe")
	require.ErrorContains(t, err, "megatron, primus, bridge, ddp, accelerate, hf, lightning, fsdp2, torchtitan, deepspeed, xla")
}

func TestWorkOfEmbeddings(t *testing.T) {
	half := 50.0
	work := Work([]Param{
		{Name: "model.embed_tokens.weight", Elements: 1000},
		{Name: "model.layers.0.mlp.experts.w1", Elements: 100, Work: &half},
		{Name: "lm_head.weight", Elements: 1000},
		{Name: "transformer.wte.weight", Elements: 7},
	})
	require.Equal(t, []float64{0, 50, 1000, 0}, work)
}

func TestBlocksFromNames(t *testing.T) {
	got := WithBlocks([]Param{
		{Name: "model.embed_tokens.weight"},
		{Name: "model.layers.0.mlp.up_proj.weight"},
		{Name: "transformer.h.11.attn.bias"},
		{Name: "decoder.layers.3.mlp.linear_fc1.weight"},
		{Name: "blocks.2.norm", Block: 9},
		{Name: "model.norm.weight"},
	})
	blocks := make([]int, len(got))
	for i, p := range got {
		blocks[i] = p.Block
	}
	require.Equal(t, []int{0, 1, 12, 4, 9, 0}, blocks)
}
