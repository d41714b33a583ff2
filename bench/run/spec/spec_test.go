package spec_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/job/trainer"
	"zbench/bench/run/spec"
)

func full() spec.Spec {
	zero := 0
	return spec.Spec{
		Schema: spec.Schema, Benchmark: spec.Collectives, Backend: "loopback", Fabric: "mi300x-pollara", Seed: 1<<64 - 1, Faults: []string{"noise:sigma=0.1"},
		World: spec.World{Nodes: 2, GPUsPerNode: 8, GPUsPerProcess: 1, RanksPerGPU: 2},
		Sweep: &spec.Sweep{
			Collectives: []string{"all_reduce"}, MinBytes: 1, MaxBytes: 2, Factor: 2, Dtype: "float", Op: "sum", InPlace: []bool{true},
			Iterations: 20, Precision: 0.01, MaxTime: 0.4, Cache: "cold", Groups: []int{2}, Strides: []int{4}, Scales: []int{1},
		},
		Advice: &spec.Advice{
			Model: &trainer.Model{Name: "p.csv", Params: []trainer.Param{{Name: "w", Elements: 3}}}, Zero: &zero, Backward: 0.1, Flops: 2.5e14, Recompute: true,
			Config: &spec.Config{File: "train.sh", Settings: []trainer.Setting{{Key: "ddp_bucket_size", Value: "40000000"}}},
		},
	}
}

// A request survives the file, and a clone shares nothing that a command changes.
func TestRoundTrip(t *testing.T) {
	want := full()
	text, err := json.Marshal(want)
	require.NoError(t, err)
	got, err := spec.Read(text)
	require.NoError(t, err)
	require.Equal(t, want, *got)
	c := got.Clone()
	c.Faults[0], c.Sweep.Collectives[0], c.Sweep.InPlace[0], c.Sweep.Groups[0], c.Sweep.Strides[0], c.Sweep.Scales[0] = "", "", false, 0, 0, 0
	c.Advice.Framework = "ddp"
	require.Equal(t, want, *got)
}

// The question is shown as the flags that ask it, files by name.
func TestLine(t *testing.T) {
	require.Equal(t, []string{
		"--config", "train.sh", "--params", "p.csv", "--backward-ms", "100", "--tflops", "250", "--recompute", "--zero", "0",
	}, full().Advice.Line())
	require.Empty(t, (*spec.Advice)(nil).Line())
}

func TestReadRefuses(t *testing.T) {
	for text, says := range map[string]string{
		"":                          "not a zbench spec",
		`{"schema":"zbench.run/1"}`: `its schema is "zbench.run/1"`,
		`{"schema":"zbench.results/2","spec":null}`:                                         "the record is an import",
		`{"schema":"zbench.spec/9"}`:                                                        `its version is "zbench.spec/9"`,
		`{"schema":"zbench.spec/1","world":{"nodes":-1}}`:                                   "world",
		`{"schema":"zbench.spec/1","sweep":{"cache":"hot"}}`:                                `cache "hot"`,
		`{"schema":"zbench.spec/1","sweep":{"cache":"warm","in_place":[true,true]}}`:        "in_place",
		`{"schema":"zbench.spec/1","sweep":{"cache":"warm","verify_budget":-1}}`:            "verify_budget",
		`{"schema":"zbench.spec/1","advice":{"model":{"params":[{"elements":-1}]}}}`:        "elements",
		`{"schema":"zbench.journal/3","record":{"spec":{"schema":"zbench.spec/1"}}}` + "\n": "line 1: the line is damaged",
	} {
		_, err := spec.Read([]byte(text))
		require.ErrorContains(t, err, says, text)
	}
}

// Worlds know their ranks and which strides divide them.
func TestWorld(t *testing.T) {
	w := spec.World{Nodes: 4, GPUsPerNode: 8, GPUsPerProcess: 1}
	require.Equal(t, []int{32, 32, 8, 1}, []int{w.GPUs(), w.Size(), w.PerNode(), w.Share()})
	for stride, ok := range map[int]bool{0: false, 2: true, 3: false, 8: true, 16: true, 12: false} {
		require.Equal(t, ok, w.Divides(stride), stride)
	}
	w.RanksPerGPU = 2
	require.Equal(t, 64, w.Size())
}

// Groups divide a node or are whole nodes, so many of which divide the world.
func TestGroupsOfAWorld(t *testing.T) {
	w := spec.World{Nodes: 6, GPUsPerNode: 8}
	for _, g := range []int{2, 4, 8, 16, 24, 48} {
		require.NoError(t, w.CheckSplits([]int{g}, nil, nil))
	}
	for _, g := range []int{-8, 0, 1, 3, 6, 12, 32, 40, 96} {
		require.ErrorContains(t, w.CheckSplits([]int{g}, nil, nil), "a group has 2 ranks or more, and divides the 8 GPUs of a node or is several nodes that divide the 6", "%d", g)
	}
}
