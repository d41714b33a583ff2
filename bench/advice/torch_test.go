package advice

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/model"
	"zbench/bench/trainer"
)

//go:embed testdata/torch-layouts.json
var torchLayouts []byte

// torchCase is what PyTorch's own DDP or FSDP2 called.
type torchCase struct {
	// Tensors are block, frozen, and sides.
	Tensors       [][]int64
	Tied          bool
	Dtype         string
	FindUnused    bool     `json:"find_unused"`
	StaticGraph   bool     `json:"static_graph"`
	Cap           *float64 // MiB
	Calls         [][2]int64
	Model         string
	DP, Blocks    int
	Keep, Root    bool
	Param, Reduce string
}

var torchTypes = map[string]string{"float32": "float", "bfloat16": "bfloat16"}

// params is the list as a user gives it.
func (c torchCase) params(t *testing.T) []trainer.Param {
	t.Helper()
	if c.Model != "" {
		m, err := model.Preset(c.Model)
		require.NoError(t, err)
		return m.Params
	}
	var all []trainer.Param
	inside := false
	for i, x := range c.Tensors {
		p := trainer.Param{Name: fmt.Sprintf("layers.%d.w%d", x[0]-1, i), Elements: 1, Shape: x[2:], Block: int(x[0])}
		inside = inside || p.Block > 0
		if p.Block == 0 {
			p.Name = fmt.Sprintf("before.w%d", i)
			if inside {
				p.Name = fmt.Sprintf("after.w%d", i)
			}
		}
		for _, side := range p.Shape {
			p.Elements *= side
		}
		if x[1] != 0 {
			p.Frozen, p.Elements = p.Elements, 0
		}
		all = append(all, p)
	}
	if c.Tied {
		work := float64(all[0].Elements)
		all = append(all, trainer.Param{Name: "lm_head (shares the embedding)", Work: &work})
	}
	return all
}

// cases are those of one trainer.
func torchCases[T any](t *testing.T, of string) []T {
	t.Helper()
	var file map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(torchLayouts, &file))
	var all []T
	require.NoError(t, json.Unmarshal(file[of], &all))
	require.NotEmpty(t, all)
	return all
}

// PyTorch's own DDP, run by scripts/torch-layouts.py, makes the same calls at the same
// places: with its default and other caps, with and without find_unused_parameters and a
// static graph, with frozen and tied parameters.
func TestDDPsOwnCalls(t *testing.T) {
	all := torchCases[torchCase](t, "ddp")
	require.GreaterOrEqual(t, len(all), 100)
	ddp, err := trainer.ByName("ddp")
	require.NoError(t, err)
	for _, c := range all {
		text := fmt.Sprintf("find_unused_parameters=%t static_graph=%t\n", c.FindUnused, c.StaticGraph)
		if c.Cap != nil {
			text += fmt.Sprintf("bucket_cap_mb=%.9f\n", *c.Cap)
		}
		config, err := trainer.ReadConfig(text, "")
		require.NoError(t, err)
		run := trainer.Run{DP: 2, GradDtype: torchTypes[c.Dtype], ParamDtype: "bfloat16"}
		config.Apply(&run)
		params := c.params(t)
		setting, _ := config.Setting(params, run)
		p := ddp.Plan(params, setting, run)
		var calls [][2]int64
		for _, m := range p.Backward {
			require.Equal(t, "all_reduce", m.Collective)
			calls = append(calls, [2]int64{m.Bytes, int64(m.Launch)})
		}
		for _, m := range p.After { // in the last call's place
			calls = append(calls, [2]int64{m.Bytes, calls[len(calls)-1][1]})
		}
		require.Equal(t, c.Calls, calls, "%+v", c)
	}
}

// torchCall is a collective, its bytes, and the boundaries where it begins and where
// computation waits for it.
type torchCall [4]any

// callsOf are a pass's messages; no boundary is below that where the pass ends.
func callsOf(messages []trainer.Message, ends int) []torchCall {
	all := []torchCall{}
	for _, m := range messages { // trainer.Never is below it too
		all = append(all, torchCall{m.Collective, m.Bytes, max(ends, m.Launch), max(ends, m.Wait)})
	}
	return all
}

// PyTorch's own FSDP2, run by scripts/torch-layouts.py, makes the same calls: bytes with
// padding, order, when each can begin, and what computation waits for.
func TestFSDP2sOwnCalls(t *testing.T) {
	type fsdp2Case struct {
		torchCase
		Forward, Backward json.RawMessage
	}
	for _, of := range []string{"fsdp2", "models"} {
		all := torchCases[fsdp2Case](t, of)
		require.True(t, of == "models" || len(all) >= 100)
		x, err := trainer.ByName("fsdp2")
		require.NoError(t, err)
		for _, c := range all {
			params := c.params(t)
			run := trainer.Run{DP: c.DP, Zero: 3, GradDtype: torchTypes[c.Reduce], ParamDtype: torchTypes[c.Param], KeepParams: c.Keep, RootUnit: c.Root}
			p := x.Plan(params, int64(c.Blocks)*x.Default(params, run), run)
			trained := slices.IndexFunc(params, func(p trainer.Param) bool { return p.Elements > 0 })
			for _, pass := range []struct {
				want     json.RawMessage
				messages []trainer.Message
				ends     int
			}{{c.Forward, p.Forward, 0}, {c.Backward, p.Backward, trained}} {
				got, err := json.Marshal(callsOf(pass.messages, pass.ends))
				require.NoError(t, err)
				if of == "models" {
					sum := sha256.Sum256(got)
					got = fmt.Appendf(nil, "%q", hex.EncodeToString(sum[:])[:16])
				}
				require.Equal(t, string(pass.want), string(got), "%+v", c.torchCase)
			}
		}
	}
}
