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

	"zbench/bench/answers/recommend"
	"zbench/bench/base/stat"
	"zbench/bench/job/trainer"
	"zbench/bench/run/record"
)

var (
	//go:embed testdata/torch-layouts.json
	torchLayouts []byte
	//go:embed testdata/torch-lists.json
	torchLists []byte
)

// torchCase is what PyTorch's own DDP or FSDP2 called.
type torchCase struct {
	// Tensors are block, frozen, and sides.
	Tensors       [][]int64
	Tied          bool
	Dtype         string
	FindUnused    bool      `json:"find_unused"`
	StaticGraph   bool      `json:"static_graph"`
	Cap           *float64  // MiB
	Caps          []float64 // MiB, of a bucket each
	Calls         [][2]int64
	Logged        []int64 // the buckets in the reducer's logging data, in bytes
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
		m, err := trainer.Preset(c.Model)
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
func torchCases[T any](t *testing.T, text []byte, of string) []T {
	t.Helper()
	var file map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(text, &file))
	var all []T
	require.NoError(t, json.Unmarshal(file[of], &all))
	require.NotEmpty(t, all)
	return all
}

// PyTorch's own DDP, run by scripts/torch-layouts.py, makes the same calls at the same
// places: with its default, other caps and a cap for each bucket, with and without find_unused_parameters and a
// static graph, with frozen and tied parameters.
func TestDDPsOwnCalls(t *testing.T) {
	all, lists := torchCases[torchCase](t, torchLayouts, "ddp"), torchCases[torchCase](t, torchLists, "ddp_lists")
	require.GreaterOrEqual(t, len(all), 100)
	require.GreaterOrEqual(t, len(lists), 50)
	ddp, err := trainer.ByName("ddp")
	require.NoError(t, err)
	for _, c := range slices.Concat(all, lists) {
		text := fmt.Sprintf("find_unused_parameters=%t static_graph=%t\n", c.FindUnused, c.StaticGraph)
		if c.Cap != nil {
			text += fmt.Sprintf("bucket_cap_mb=%.9f\n", *c.Cap)
		}
		if c.Caps != nil {
			text += "bucket_cap_mb_list=" + strings.ReplaceAll(fmt.Sprintf("%.9f\n", c.Caps), " ", ", ")
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
		var buckets []int64
		for _, b := range p.Buckets {
			buckets = append(buckets, b.Elements*run.GradBytes())
		}
		if !c.StaticGraph { // its logging data stay those of the first step, which has one bucket
			require.Equal(t, c.Logged, buckets, "%+v", c)
		}
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
		all := torchCases[fsdp2Case](t, torchLayouts, of)
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

// Moonlight's experts have 1,408 rows: at 512 ranks 128 of padding, at 1,024 more.
func TestPaddingOfMoonlight(t *testing.T) {
	m, err := trainer.Preset("moonlight-16b")
	require.NoError(t, err)
	x, err := trainer.ByName("fsdp2")
	require.NoError(t, err)
	for ranks, want := range map[int]float64{8: 0, 512: 0.06, 1024: 0.28} {
		padding := int64(0)
		for _, b := range x.Plan(m.Params, 0, trainer.Run{DP: ranks, Zero: 3, GradDtype: "float", ParamDtype: "bfloat16"}).Buckets {
			padding += b.Padding
		}
		require.InDelta(t, want, float64(padding)/float64(m.Total()), 0.005, "%d ranks", ranks)
	}
}

// The time of gloo's all_reduce of four processes over links of 400 Mbit/s, measured by
// PyTorch 2.6 on an idle machine; a real step of its DDP was 1.9 % shorter with 0.5 MiB than
// with 1 MiB.
var gloo = []struct {
	bytes   int64
	seconds float64
}{
	{4096, 0.00608},
	{8192, 0.00547},
	{16384, 0.00614},
	{32768, 0.00647},
	{65536, 0.00583},
	{131072, 0.00650},
	{262144, 0.00771},
	{524288, 0.01581},
	{1 << 20, 0.03196},
	{2 << 20, 0.06520},
	{4 << 20, 0.13313},
	{8 << 20, 0.26296},
	{16 << 20, 0.57981},
	{32 << 20, 1.06233},
	{64 << 20, 2.11108},
}

// layersOf45MiB are that experiment's tensors, in thousands of elements.
var layersOf45MiB = []int64{
	260, 500, 120, 770, 770, 260, 120, 120, 120, 770, 500, 120, 260, 500, 500, 260, 120, 500, 260, 120, 500, 500, 260, 260, 500, 500, 500, 120, 500, 770, 260, 260,
}

// A fraction of a MiB is proposed where it is better.
func TestFractionsOfAMiB(t *testing.T) {
	rec := &record.Record{Schema: record.Schema, Source: record.Source{Kind: record.Measured}}
	for _, g := range gloo {
		samples := make([]float64, 12)
		for i := range samples {
			samples[i] = g.seconds * (1 + 0.002*float64(i%3))
		}
		rec.Results = append(rec.Results, record.Result{
			Case: record.Case{Key: record.Key("all_reduce", "float", "sum", g.bytes, 4, 1, true), Status: record.OK}, Collective: "all_reduce", Dtype: "float", Op: "sum", InPlace: true,
			Bytes: g.bytes, BytesRequested: g.bytes, Ranks: 4, Nodes: 4, GPUsPerProcess: 1, Groups: 1,
			Isolated: &record.Timing{Iterations: 1, MaxOfRanks: stat.Summarize(samples)},
		})
	}
	m := &trainer.Model{Name: "small", Listed: true}
	for i, n := range layersOf45MiB {
		m.Params = append(m.Params, trainer.Param{Name: fmt.Sprintf("layer%d.w", i), Elements: n * 1000})
	}
	c, err := trainer.ReadConfig("bucket_cap_mb=1", "")
	require.NoError(t, err)
	in := Input{Sources: []recommend.Source{{Record: rec}}, Framework: "ddp", Model: m, Run: trainer.Run{DP: 4, GradDtype: "float", ParamDtype: "float"}, Config: c, ConfigFile: "train.py"}
	in.Compute, err = trainer.ComputeTimed(1.5, 1e-3)
	require.NoError(t, err)
	d, err := Recommend(in)
	require.NoError(t, err)
	least := d.Answer.Least
	require.Less(t, least.Elements*4, int64(1<<20))
	require.Greater(t, d.Answer.Current.Step/least.Step, 1.005)
	require.Regexp(t, `bucket_cap_mb=0\.\d+,`, d.Snippets[0].Text, d.Sentence)
}
