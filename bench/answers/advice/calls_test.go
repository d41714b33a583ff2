package advice

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/job/trainer"
)

//go:embed testdata/deepspeed-calls.json
var deepSpeedCalls []byte

// callCase is what DeepSpeed's own code called in one backward pass.
type callCase struct {
	Model          string
	Tensors        []int64
	Experts        []int
	EP, DP, Stage  int
	Size           int64
	Overlap, Multi bool
	MultiRank      bool `json:"multi_rank"`
	Sizes          [][2]int64
	Calls          string
}

// params are the case's tensors in forward order.
func (c callCase) params(t *testing.T) []trainer.Param {
	t.Helper()
	if c.Model != "" {
		m, err := trainer.Preset(c.Model)
		require.NoError(t, err)
		return m.Params
	}
	params := make([]trainer.Param, len(c.Tensors))
	for i, n := range c.Tensors {
		params[i] = trainer.Param{Elements: n, Expert: slices.Contains(c.Experts, i)}
	}
	return params
}

// DeepSpeed's own code, run by scripts/trainer-layouts.py, makes the same calls of the same
// sizes by the same ranks, at the same places of backward, and waits for them there.
func TestDeepSpeedsOwnCalls(t *testing.T) {
	var all struct{ Cases []callCase }
	require.NoError(t, json.Unmarshal(deepSpeedCalls, &all))
	require.NotEmpty(t, all.Cases)
	deepSpeed, err := trainer.ByName("deepspeed")
	require.NoError(t, err)
	for _, c := range all.Cases {
		run := trainer.Run{
			DP: c.DP, EP: c.EP, Zero: c.Stage, NoOverlap: !c.Overlap, OwnerReduce: !c.MultiRank && c.Stage < 3,
			GradDtype: "bfloat16", ParamDtype: "bfloat16",
		}
		require.NoError(t, deepSpeed.Check(run))
		p := deepSpeed.Plan(c.params(t), c.Size, run)
		var calls []any
		var sizes []int64
		for _, m := range p.Backward {
			if m.Collective == "all_gather" {
				continue // stage 3's parameters, which the size does not change
			}
			calls = append(calls, m.Collective, m.Bytes/2, m.Ranks, m.Launch, m.Wait)
			sizes = append(sizes, m.Bytes/2)
		}
		slices.Sort(sizes)
		require.Equal(t, c.Sizes, runsOf(sizes), "%+v", c)
		require.Equal(t, c.Calls, digest(calls), "%+v\n%v", c, calls)
	}
}

// The configurations for which DeepSpeed's engine takes an optimizer without buckets are
// refused, and no others.
func TestDeepSpeedsOtherOptimizersAreRefused(t *testing.T) {
	type bucketless struct {
		Model, Accumulated string
		Stage              int
		Offload            bool
	}
	var all struct{ Bucketless []bucketless }
	require.NoError(t, json.Unmarshal(deepSpeedCalls, &all))
	require.NotEmpty(t, all.Bucketless)
	for _, model := range []string{"fp32", "fp16", "bf16"} {
		for _, accumulated := range []string{"", "fp32", "bf16"} {
			for stage := 1; stage <= 3; stage++ {
				for _, offload := range []bool{false, true} {
					text := fmt.Sprintf(`{"%s": {"enabled": true}, "zero_optimization": {"stage": %d`, model, stage)
					if offload {
						text += `, "offload_optimizer": {"device": "cpu"}`
					}
					text += "}"
					if accumulated != "" {
						text += fmt.Sprintf(`, "data_types": {"grad_accum_dtype": %q}`, accumulated)
					}
					_, err := trainer.ReadConfig(text+"}", "")
					if slices.Contains(all.Bucketless, bucketless{model, accumulated, stage, offload}) {
						require.ErrorContains(t, err, "reduce_bucket_size has no effect there", text)
						continue
					}
					require.NoError(t, err, text)
				}
			}
		}
	}
}
