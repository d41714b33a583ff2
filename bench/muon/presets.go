package muon

import (
	"fmt"
	"strings"
)

// Preset is a model's weight matrices that Muon steps.
type Preset struct {
	Name, Title, Source string
	// Shapes have the number of a model's matrices as their batch.
	Shapes []Shape
}

// presets lists the models. Embedding and output head are left to another
// optimiser, as Muon's authors do.
var presets = []Preset{
	{
		"zaya1", "ZAYA1-8B: 40 layers of 16 experts, hidden size 2048",
		"vLLM's configuration of the model; which projections exist a layer is our reading of it",
		[]Shape{
			{"expert gate and up", 2048, 4096, 640},
			{"expert down", 2048, 2048, 640},
			{"attention q and o", 1024, 2048, 80},
			{"attention k and v", 256, 2048, 80},
		},
	},
	{
		"moonlight", "Moonlight-16B-A3B: 27 layers, 26 of them of 64 experts, hidden size 2048",
		"config.json of moonshotai/Moonlight-16B-A3B",
		[]Shape{
			{"expert gate and up", 1408, 2048, 26 * 64 * 2},
			{"expert down", 2048, 1408, 26 * 64},
			{"shared expert gate and up", 2816, 2048, 26 * 2},
			{"shared expert down", 2048, 2816, 26},
			{"dense gate and up", 11264, 2048, 2},
			{"dense down", 2048, 11264, 1},
			{"attention q", 3072, 2048, 27},
			{"attention kv_a", 576, 2048, 27},
			{"attention kv_b", 4096, 512, 27},
			{"attention o", 2048, 2048, 27},
			{"router", 64, 2048, 26},
		},
	},
	{
		"llama3-8b", "Llama 3 8B: 32 layers, hidden size 4096",
		"config.json of meta-llama/Meta-Llama-3-8B",
		[]Shape{
			{"attention q and o", 4096, 4096, 64},
			{"attention k and v", 1024, 4096, 64},
			{"gate and up", 14336, 4096, 64},
			{"down", 4096, 14336, 32},
		},
	},
}

// Presets lists the models.
func Presets() []Preset { return presets }

// PresetByName finds a model; an unknown name is an error that lists the valid.
func PresetByName(name string) (Preset, error) {
	names := make([]string, len(presets))
	for i, p := range presets {
		if p.Name == name {
			return p, nil
		}
		names[i] = p.Name
	}
	return Preset{}, fmt.Errorf("unknown preset %q: valid are %s", name, strings.Join(names, ", "))
}

// Elements is the number of a preset's weights.
func (p Preset) Elements() int64 {
	var n int64
	for _, s := range p.Shapes {
		n += int64(s.Rows) * int64(s.Cols) * int64(s.Batch)
	}
	return n
}
