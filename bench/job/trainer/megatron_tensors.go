package trainer

import (
	"slices"
	"strings"
)

// Megatron-Core joins some projections in one matrix, and registers the output of attention before
// its input. Buffers follow that order. Read in NVIDIA/Megatron-LM at d98e8a64,
// megatron/core/transformer: attention.py (Attention makes linear_proj, then SelfAttention makes
// linear_qkv, whose layer_norm_weight is the first norm of the block), multi_latent_attention.py
// (likewise, after that norm), mlp.py (linear_fc1 is gate and up).

// family is a group of projections that Megatron joins in one matrix. parts are Hugging Face's
// names in the order of the rows.
type family struct {
	parts []string
	whole string
}

var families = []family{
	{[]string{"q_proj", "k_proj", "v_proj"}, "linear_qkv"},
	{[]string{"gate_proj", "up_proj"}, "linear_fc1"},
}

// megatronTensors converts a list with Hugging Face's names to Megatron's tensors.
func megatronTensors(params []Param) []Param {
	at := make(map[string]int, len(params))
	for i, p := range params {
		at[p.Name] = i
	}
	all := make([]Param, 0, len(params))
	taken := map[int]bool{}
	for i, p := range params {
		if taken[i] {
			continue
		}
		if f, members := fusedWith(p.Name, at); members != nil {
			p = fuse(params, members, p.Name, f)
			for _, m := range members {
				taken[m] = true
			}
		}
		all = append(all, p)
	}
	return outputFirst(all)
}

// fusedWith returns the family of a tensor and the indices of the tensors in it, or nil if there is
// none.
func fusedWith(name string, at map[string]int) (family, []int) {
	for _, f := range families {
		for _, part := range f.parts {
			module, kind, is := cutLast(name, part)
			if !is {
				continue
			}
			var members []int
			for _, other := range f.parts {
				if i, has := at[module+other+kind]; has {
					members = append(members, i)
				}
			}
			if len(members) == len(f.parts) {
				return f, members
			}
		}
	}
	return family{}, nil
}

// cutLast cuts a name in front of a part. Behind the part only a kind (.weight or .bias) may
// follow.
func cutLast(name, part string) (module, kind string, is bool) {
	for _, kind := range []string{".weight", ".bias", ""} {
		if module, is := strings.CutSuffix(name, part+kind); is && (module == "" || strings.HasSuffix(module, ".")) {
			return module, kind, true
		}
	}
	return "", "", false
}

// fuse joins the rows of several tensors in one tensor.
func fuse(params []Param, members []int, name string, f family) Param {
	whole := params[members[0]]
	for _, part := range f.parts {
		if module, kind, is := cutLast(name, part); is {
			whole.Name = module + f.whole + kind
		}
	}
	whole.Shape = slices.Clone(whole.Shape)
	for _, m := range members[1:] {
		p := params[m]
		whole.Elements += p.Elements
		if len(whole.Shape) > 0 && len(p.Shape) == len(whole.Shape) && slices.Equal(p.Shape[1:], whole.Shape[1:]) {
			whole.Shape[0] += p.Shape[0]
		} else {
			whole.Shape = nil
		}
		if whole.Work != nil && p.Work != nil {
			whole.Work = new(*whole.Work + *p.Work)
		}
	}
	return whole
}

// outputFirst moves the output of each attention before its other tensors, and before the norm that
// Megatron includes in linear_qkv. It does not change other kinds of attention.
func outputFirst(params []Param) []Param {
	first, known := map[string]int{}, map[string]bool{} // the keys of both maps are the part of the name before the attention
	for i, p := range params {
		if module, rest, is := strings.Cut(p.Name, "self_attn."); is {
			if _, has := first[module]; !has {
				first[module] = i
			}
			known[module] = known[module] || strings.HasPrefix(rest, "linear_qkv.") || strings.HasPrefix(rest, "kv_a_proj_with_mqa.")
		}
	}
	for i, p := range params {
		module, rest, is := strings.Cut(p.Name, "self_attn.")
		if !is || !known[module] || !strings.HasPrefix(rest, "o_proj.") {
			continue
		}
		to := first[module]
		if to > 0 && params[to-1].Name == module+"input_layernorm.weight" && strings.HasPrefix(params[to].Name, module+"self_attn.linear_qkv.") {
			to--
		}
		copy(params[to+1:i+1], params[to:i])
		params[to] = p
		first[module] = to + 1 // the next tensor, such as the output's bias, follows this one
	}
	return params
}
