package trainer

import (
	"fmt"

	"zbench/bench/base/slice"
	"zbench/bench/base/spell"
)

// preset is a published model: its configuration as data, and a function that makes the tensors
// from it.
type preset struct {
	name, title string
	// aliases are other names, in lower case.
	aliases []string
	// source says where and when the configuration and the counts were read.
	source string
	shape  shape
	build  func(*builder)
}

// shape holds the values of a configuration file.
type shape struct {
	hidden, layers, ffn        int64
	heads, kvHeads, headDim    int64
	vocab                      int64
	tied                       bool
	experts, shared, expertFFN int64
	chosen                     int64 // experts per token
	dense                      int   // leading blocks without experts
	// These are the sizes of multi-head latent attention (DeepSeek-V3).
	kvRank, ropeDim, nopeDim, vDim int64
	// These are the sizes of ZAYA's router and convolution.
	routerDim, kernel int64
}

// presets is the table of published models, one row each.
var presets = []preset{
	{
		name: "llama3-8b", title: "Llama 3 8B",
		source: "config.json of meta-llama/Meta-Llama-3-8B, https://huggingface.co/meta-llama/Meta-Llama-3-8B (8.03 B parameters), read 2026-11-21",
		shape:  shape{hidden: 4096, layers: 32, ffn: 14336, heads: 32, kvHeads: 8, headDim: 128, vocab: 128256},
		build:  (*builder).llama,
	},
	{
		name: "llama3-70b", title: "Llama 3 70B",
		source: "config.json of meta-llama/Meta-Llama-3-70B, https://huggingface.co/meta-llama/Meta-Llama-3-70B (70.6 B parameters), read 2026-11-21",
		shape:  shape{hidden: 8192, layers: 80, ffn: 28672, heads: 64, kvHeads: 8, headDim: 128, vocab: 128256},
		build:  (*builder).llama,
	},
	{
		name: "zaya1-base", title: "ZAYA1-base", aliases: []string{"zaya1", "zaya1-8b"},
		source: "configuration and checkpoint of Zyphra/ZAYA1-base, https://huggingface.co/Zyphra/ZAYA1-base; 8.3 B without the embedding and 760 M active: arXiv 2511.17127; 17.7 GB of bf16: the files of ZAYA1-8B; read 2026-11-21",
		shape: shape{
			hidden: 2048, layers: 40, ffn: 4096, heads: 8, kvHeads: 2, headDim: 128, vocab: 262272, tied: true,
			experts: 16, chosen: 1, routerDim: 256, kernel: 2,
		},
		build: (*builder).zaya,
	},
	{
		name: "moonlight-16b", title: "Moonlight-16B-A3B", aliases: []string{"moonlight", "moonlight-16b-a3b"},
		source: "config.json of moonshotai/Moonlight-16B-A3B, https://huggingface.co/moonshotai/Moonlight-16B-A3B; 15.29 B and 2.24 B active without embeddings: arXiv 2502.16982; read 2026-11-21",
		shape: shape{
			hidden: 2048, layers: 27, ffn: 11264, heads: 16, vocab: 163840,
			experts: 64, chosen: 6, shared: 2, expertFFN: 1408, dense: 1,
			kvRank: 512, ropeDim: 64, nopeDim: 128, vDim: 128,
		},
		build: (*builder).deepseek,
	},
}

// PresetNames lists the names of the presets.
func PresetNames() []string {
	return slice.Map(presets, func(p preset) string { return p.name })
}

// PresetName returns the table's name of a preset, given its name or alias in any spelling. All
// commands accept the same spellings. The error is a [spell.Unknown].
func PresetName(name string) (string, error) {
	p, err := presetOf(name)
	return p.name, err
}

func presetOf(name string) (preset, error) {
	return spell.Find("preset", presets, name, func(p preset) (string, []string) { return p.name, p.aliases })
}

// Preset makes the parameter list of a published model.
func Preset(name string) (*Model, error) { return PresetAt(name, 0) }

// PresetAt makes the list with another hidden size and all other sizes unchanged. A hidden size of
// 0 means the published one.
func PresetAt(name string, hidden int64) (*Model, error) {
	p, err := presetOf(name)
	if err != nil {
		return nil, err
	}
	b := &builder{shape: p.shape}
	if hidden > 0 {
		b.hidden = hidden
	}
	p.build(b)
	m := &Model{Name: p.title, Source: p.source, Params: b.params, Listed: true}
	m.ActiveParams = m.work()
	return m, nil
}

// builder makes tensors with the names of the published checkpoints.
type builder struct {
	shape
	params []Param
}

// add appends a tensor of this shape.
func (b *builder) add(name string, sides ...int64) {
	p := named(name, dims(sides), sides)
	if p.Expert {
		p.Work = new(float64(p.Elements) * float64(b.chosen) / float64(b.experts))
	}
	b.params = append(b.params, p)
}

// linear appends a weight and, if requested, its bias.
func (b *builder) linear(name string, out, in int64, bias bool) {
	b.add(name+".weight", out, in)
	if bias {
		b.add(name+".bias", out)
	}
}

// gated appends the three matrices of a gated feed-forward part.
func (b *builder) gated(name string, ffn int64) {
	b.linear(name+".gate_proj", ffn, b.hidden, false)
	b.linear(name+".up_proj", ffn, b.hidden, false)
	b.linear(name+".down_proj", b.hidden, ffn, false)
}

// ends appends the embedding, the blocks, and the norm and the output layer after them.
func (b *builder) ends(block func(at string, i int)) {
	b.add("model.embed_tokens.weight", b.vocab, b.hidden)
	for i := range int(b.layers) {
		block(fmt.Sprintf("model.layers.%d.", i), i)
	}
	b.add("model.norm.weight", b.hidden)
	if !b.tied {
		b.linear("lm_head", b.vocab, b.hidden, false)
		return
	}
	// The gradient of the shared table is complete when the embedding's gradient is, but the
	// product of the output layer is computed here.
	b.params = append(b.params, Param{Name: "lm_head (shares the embedding)", Work: new(float64(b.vocab * b.hidden))})
}

// llama makes a dense transformer with grouped queries.
func (b *builder) llama() {
	b.ends(func(at string, _ int) {
		b.add(at+"input_layernorm.weight", b.hidden)
		b.linear(at+"self_attn.q_proj", b.heads*b.headDim, b.hidden, false)
		b.linear(at+"self_attn.k_proj", b.kvHeads*b.headDim, b.hidden, false)
		b.linear(at+"self_attn.v_proj", b.kvHeads*b.headDim, b.hidden, false)
		b.linear(at+"self_attn.o_proj", b.hidden, b.heads*b.headDim, false)
		b.add(at+"post_attention_layernorm.weight", b.hidden)
		b.gated(at+"mlp", b.ffn)
	})
}

// deepseek makes DeepSeek-V3's architecture without the low-rank queries: latent attention, and
// routed and shared experts after the dense blocks. The router's correction bias has no gradient
// and is left out.
func (b *builder) deepseek() {
	b.ends(func(at string, i int) {
		b.add(at+"input_layernorm.weight", b.hidden)
		b.linear(at+"self_attn.q_proj", b.heads*(b.nopeDim+b.ropeDim), b.hidden, false)
		b.linear(at+"self_attn.kv_a_proj_with_mqa", b.kvRank+b.ropeDim, b.hidden, false)
		b.add(at+"self_attn.kv_a_layernorm.weight", b.kvRank)
		b.linear(at+"self_attn.kv_b_proj", b.heads*(b.nopeDim+b.vDim), b.kvRank, false)
		b.linear(at+"self_attn.o_proj", b.hidden, b.heads*b.vDim, false)
		b.add(at+"post_attention_layernorm.weight", b.hidden)
		if i < b.dense {
			b.gated(at+"mlp", b.ffn)
			return
		}
		b.linear(at+"mlp.gate", b.experts, b.hidden, false)
		for e := range b.experts {
			b.gated(fmt.Sprintf("%smlp.experts.%d", at, e), b.expertFFN)
		}
		b.gated(at+"mlp.shared_experts", b.shared*b.expertFFN)
	})
}

// zaya makes ZAYA1's architecture: attention in a compressed space after two convolutions, a router
// with a feed-forward part of its own, and scaled residuals. It has 40 layers of attention and 40
// layers of experts. Here each pair of layers is one block. The router's balancing biases have no
// gradient and are left out.
func (b *builder) zaya() {
	b.ends(func(at string, i int) {
		b.scales(at + "attention.residual")
		b.add(at+"input_norm.weight", b.hidden)
		b.zayaAttention(at + "self_attn.")
		b.scales(at + "mlp.residual")
		b.add(at+"mlp_norm.weight", b.hidden)
		b.zayaRouter(at+"router.", i > 0)
		for e := range b.experts {
			expert := fmt.Sprintf("%sexperts.local_experts.%d", at, e)
			b.linear(expert+".linear_fc1", b.ffn, b.hidden, false)
			b.linear(expert+".linear_fc2", b.hidden, b.ffn/2, false) // the gate halves the width
		}
	})
}

// scales appends the learned scales and shifts of a block's output and residual.
func (b *builder) scales(at string) {
	for _, what := range []string{"hidden_states_scale", "hidden_states_bias", "residual_scale", "residual_bias"} {
		b.add(at+"."+what, b.hidden)
	}
}

func (b *builder) zayaAttention(at string) {
	query, kv := b.heads*b.headDim, b.kvHeads*b.headDim
	b.linear(at+"linear_q", query, b.hidden, false)
	b.linear(at+"linear_k", kv, b.hidden, false)
	b.linear(at+"val_proj1", kv/2, b.hidden, false)
	b.linear(at+"val_proj2", kv/2, b.hidden, false)
	b.add(at+"conv_qk.0.weight", query+kv, 1, b.kernel)
	b.add(at+"conv_qk.0.bias", query+kv)
	b.add(at+"conv_qk.1.weight", query+kv, b.headDim, b.kernel)
	b.add(at+"conv_qk.1.bias", query+kv)
	b.add(at+"temp", b.kvHeads)
	b.linear(at+"o_proj", b.hidden, query, false)
}

// zayaRouter appends the router, which chooses among the experts or skips them. Every router except
// the first averages over the depth.
func (b *builder) zayaRouter(at string, averages bool) {
	b.linear(at+"down_proj", b.routerDim, b.hidden, true)
	if averages {
		b.add(at+"router_states_scale", b.routerDim)
	}
	b.add(at+"router_norm.weight", b.routerDim)
	b.linear(at+"router_mlp.0", b.routerDim, b.routerDim, true)
	b.linear(at+"router_mlp.2", b.routerDim, b.routerDim, true)
	b.linear(at+"router_mlp.4", b.experts+1, b.routerDim, false)
}
