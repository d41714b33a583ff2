package trainer

import (
	"math"
	"strings"
)

// excluded are parts of names of matrices that Muon leaves to another optimizer:
// the embedding and the output layer (is_embedding_or_output_parameter in
// Megatron-Core's language_module.py) and Mamba's input projection (use_muon in
// ssm/mamba_mixer.py), in the spellings of Hugging Face, Megatron and torchtitan.
// A position table is stepped like any other matrix.
var excluded = []string{
	"embed_tokens.", "wte.", "word_embeddings.", "tok_embeddings.", "embedding.",
	"lm_head.", "output_layer.", "embed_out.", "mixer.in_proj.",
}

// vectors are parts of names of tensors that are no matrices, for lists without
// shapes.
var vectors = []string{"norm", "bias", "ln_1", "ln_2", "ln_f", "scale", "conv", "a_log", "dt_", "temp"}

// Matrix reports whether Muon steps the tensor: it has two dimensions and is not the
// embedding or the output layer. Without a shape its name decides.
// Read in NVIDIA/Megatron-LM at d98e8a64, megatron/core/optimizer/
// layer_wise_optimizer.py, is_managed_by_layer_wise_optimizer.
func Matrix(p Param) bool {
	name := strings.ToLower(p.Name) + "."
	if p.Elements == 0 || contains(name, excluded) || name == "output." || name == "output.weight." {
		return false
	}
	if p.Shape != nil {
		return len(p.Shape) == 2
	}
	return !contains(name, vectors)
}

func contains(name string, parts []string) bool {
	for _, part := range parts {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

// stepCost is the relative cost of Newton–Schulz for a matrix: the long side times the
// square of the short one. An unknown shape counts as a square.
func stepCost(p Param) float64 {
	if len(p.Shape) != 2 {
		return math.Pow(float64(p.Elements), 1.5)
	}
	short, long := min(p.Shape[0], p.Shape[1]), max(p.Shape[0], p.Shape[1])
	return float64(long) * float64(short) * float64(short)
}
