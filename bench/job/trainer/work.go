package trainer

import (
	"slices"
	"strconv"
	"strings"

	"zbench/bench/base/pattern"
)

// embeddings are parts of the names of tables that are looked up, not multiplied, in Hugging Face
// (embed_tokens, wte, wpe), Megatron (word_embeddings) and torchtitan (tok_embeddings).
var embeddings = []string{"embed_tokens", "wte.", "wpe.", "word_embeddings", "tok_embeddings", "position_embeddings"}

// Work returns the share of each tensor in the computation of a pass, in elements. It is Param.Work
// if that is set, 0 if the tensor's name belongs to a lookup table, and otherwise the tensor's
// elements, frozen or not. A tied embedding needs a value of its own; see Param.Work. Attention's
// own products belong to no tensor and are assumed to be distributed like the rest.
func Work(params []Param) []float64 {
	work := make([]float64, len(params))
	for i, p := range params {
		switch {
		case p.Work != nil:
			work[i] = max(0, *p.Work)
		case !lookedUp(p.Name):
			work[i] = float64(p.Held())
		}
	}
	return work
}

// BackwardWork returns the share of each tensor in the computation of a backward pass: the time
// between the gradients if all times were measured, otherwise a number of elements as in Work.
func BackwardWork(params []Param) []float64 {
	work := make([]float64, len(params))
	before := 0.0
	for i, p := range slices.Backward(params) {
		switch {
		case p.Elements == 0:
		case p.Ready == 0:
			return backwardWork(params)
		case p.Ready > before:
			work[i], before = p.Ready-before, p.Ready
		}
	}
	return work
}

// backwardWork returns shares like Work, but for the backward pass. The pass ends at the first
// trained tensor of the list, and a frozen tensor needs only one of the two products.
func backwardWork(params []Param) []float64 {
	work := Work(params)
	trained := false
	for i, p := range params {
		trained = trained || p.Elements > 0
		switch {
		case !trained:
			work[i] = 0
		case p.Frozen > 0:
			work[i] /= 2
		}
	}
	return work
}

func lookedUp(name string) bool { return contains(strings.ToLower(name)+".", embeddings) }

// numbered matches the number of a transformer block in a tensor's name, such as
// model.layers.12.mlp.up_proj.weight, transformer.h.3.attn or blocks.7.norm.
var numbered = pattern.New(`(?:^|\.)(?:layers|layer|h|blocks|block)\.(\d+)\.`)

// WithBlocks sets missing block numbers from the tensors' names.
func WithBlocks(params []Param) []Param {
	all := make([]Param, len(params))
	copy(all, params)
	for i := range all {
		if m := numbered.FindStringSubmatch(all[i].Name); m != nil && all[i].Block == 0 {
			if n, err := strconv.Atoi(m[1]); err == nil {
				all[i].Block = n + 1
			}
		}
	}
	return all
}
