package advice

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/model"
	"zbench/bench/spec"
	"zbench/bench/trainer"
)

//go:embed testdata/megatron-layouts.json
var layouts []byte

// layoutCase is what Megatron's own code laid out.
type layoutCase struct {
	Model             string
	TP, PP, DP        int
	FP8, Sharded, Pad bool
	BucketSize        int64 `json:"bucket_size"`
	Sizes             [][2]int64
	Reduced, Gathered string
}

// Megatron's own layout code, run by scripts/trainer-layouts.py, has the same buckets in
// the same order for one rank's tensors: fused, cut, padded, with 8-bit parameters, and
// with an embedding that another stage shares.
func TestMegatronsOwnLayouts(t *testing.T) {
	var all struct{ Cases []layoutCase }
	require.NoError(t, json.Unmarshal(layouts, &all))
	require.NotEmpty(t, all.Cases)
	megatron, err := trainer.ByName("megatron")
	require.NoError(t, err)
	for _, c := range all.Cases {
		m := firstStage(t, c, megatron)
		run := trainer.Run{DP: c.DP, TP: c.TP, PadBuckets: c.Pad, FP8Gather: c.FP8, GradDtype: "float", ParamDtype: "bfloat16"}
		if c.Sharded {
			run.Zero = 1
		}
		p := megatron.Plan(m.Params, c.BucketSize, run)
		var reduced, gathered, sorted []int64
		for _, b := range p.Buckets {
			reduced = append(reduced, b.Elements)
			gathered = append(gathered, 2*(b.Elements-b.Quantized)+b.Quantized)
		}
		sorted = slices.Sorted(slices.Values(reduced))
		require.Equal(t, c.Sizes, runsOf(sorted), "%+v", c)
		require.Equal(t, c.Reduced, digest(reduced), "%+v", c)
		require.Equal(t, c.Gathered, digest(gathered), "%+v", c)
	}
}

// firstStage is the list that a question makes, of a model that may have a tied embedding.
func firstStage(t *testing.T, c layoutCase, megatron trainer.Trainer) *model.Model {
	t.Helper()
	name := c.Model
	if name == "tied" {
		name = "llama3-8b"
	}
	m, err := model.Preset(name)
	require.NoError(t, err)
	if c.Model == "tied" {
		last := &m.Params[len(m.Params)-1]
		work := float64(last.Elements)
		*last = trainer.Param{Name: "lm_head (shares the embedding)", Work: &work}
	}
	q := &Question{want: spec.Advice{TP: c.TP, PP: c.PP}}
	require.NoError(t, m.Stage(c.PP))
	require.NoError(t, q.divide(m, megatron))
	m.Params = megatron.Tensors(m.Params)
	return m
}

func runsOf(sorted []int64) [][2]int64 {
	var runs [][2]int64
	for _, n := range sorted {
		if k := len(runs); k > 0 && runs[k-1][0] == n {
			runs[k-1][1]++
			continue
		}
		runs = append(runs, [2]int64{n, 1})
	}
	return runs
}

func digest[T any](sizes []T) string {
	sum := sha256.Sum256([]byte(strings.ReplaceAll(strings.Trim(fmt.Sprint(sizes), "[]"), " ", ",")))
	return hex.EncodeToString(sum[:])[:16]
}
