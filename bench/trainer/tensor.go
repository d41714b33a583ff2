package trainer

import (
	"fmt"
	"strings"
)

// cut is how tensor parallelism divides a tensor.
type cut int

const (
	unknownCut cut = iota
	wholeCut
	rowsCut
	colsCut
	vocabCut
)

// cuts are parts of names of matrices and what is divided of them (NVIDIA/Megatron-LM at
// d98e8a64: megatron/core/transformer/attention.py, mlp.py, multi_latent_attention.py,
// moe/router.py, tensor_parallel/layers.py). A column-parallel matrix is divided by its
// rows, as torch stores it, and so is its bias; the bias of a row-parallel one is whole.
var cuts = []struct {
	part string
	how  cut
}{
	{"kv_a_proj_with_mqa", wholeCut},
	{"q_a_proj", wholeCut},
	{"mlp.gate.", wholeCut},
	{"q_proj", rowsCut},
	{"k_proj", rowsCut},
	{"v_proj", rowsCut},
	{"q_b_proj", rowsCut},
	{"kv_b_proj", rowsCut},
	{"self_attn.qkv", rowsCut},
	{"gate_proj", rowsCut},
	{"up_proj", rowsCut},
	{"mlp.gate_up", rowsCut},
	{"self_attn.o_proj", colsCut},
	{"self_attn.out", colsCut},
	{"down_proj", colsCut},
	{"mlp.down", colsCut},
	{"embed_tokens", vocabCut},
	{"lm_head", vocabCut},
	{"embedding", vocabCut},
	{"output", vocabCut},
}

// cutOf is how a tensor is divided.
func cutOf(p Param) cut {
	if strings.Contains(p.Name, "norm") && len(p.Shape) == 1 {
		return wholeCut
	}
	for _, c := range cuts {
		if !strings.Contains(p.Name+".", c.part) {
			continue
		}
		if c.how == colsCut && len(p.Shape) == 1 {
			return wholeCut
		}
		return c.how
	}
	return unknownCut
}

// Tensor is the list of one of so many tensor-parallel ranks: matrices are divided, norms
// are whole. A routed expert's matrices are divided by experts. The rows of the embedding
// and of the output layer are first padded to a multiple of so many a rank. It fails where
// no rule says how a tensor is divided.
func (m *Model) Tensor(ranks, experts int, vocab int64) error {
	if ranks < 2 && experts < 2 {
		return nil
	}
	kept := make([]Param, len(m.Params))
	for i, p := range m.Params {
		n := int64(max(1, ranks))
		if p.Expert {
			n = int64(max(1, experts))
		}
		if p.Work != nil { // experts get the tokens of all ranks that share them
			work := *p.Work / float64(max(1, ranks))
			p.Work = &work
		}
		if err := divide(&p, n, max(1, vocab)); err != nil {
			return fmt.Errorf("%s over %d tensor-parallel ranks: %w", m.Name, n, err)
		}
		kept[i] = p
	}
	m.Params = kept
	note := fmt.Sprintf("one of %d tensor-parallel ranks: matrices are divided, norms are whole", max(1, ranks))
	if m.ExpertTotal() > 0 && experts != ranks {
		note += fmt.Sprintf("; an expert is divided over %d", max(1, experts))
	}
	m.Notes = append(m.Notes, note)
	if m.ActiveParams > 0 {
		m.ActiveParams = m.work()
	}
	return nil
}

// divide makes a tensor one of n parts.
func divide(p *Param, n, vocab int64) error {
	how := cutOf(*p)
	if how == wholeCut || n == 1 || p.Elements == 0 {
		return nil
	}
	side := 0
	switch {
	case how == unknownCut:
		return fmt.Errorf("no rule says how %s is divided", short(p.Name))
	case how == colsCut && len(p.Shape) > 1:
		side = 1
	case len(p.Shape) == 0: // of a list that was made up
		p.Elements = (p.Elements + n - 1) / n
		return nil
	}
	all := p.Shape[side]
	if how == vocabCut {
		all = (all + vocab*n - 1) / (vocab * n) * (vocab * n)
	}
	if all%n != 0 {
		return fmt.Errorf("%s has %d rows or columns, which do not divide", short(p.Name), all)
	}
	shape := append([]int64{}, p.Shape...)
	shape[side] = all / n
	p.Shape, p.Elements = shape, dims(shape)
	return nil
}
