package trainer

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"zbench/bench/base/pattern"
	"zbench/bench/base/slice"
)

// Stage reduces the list to the first stage of a pipeline, the only stage whose buckets the setting
// cuts. It keeps the tensors before the blocks and the first share of the blocks. first is the
// number of these blocks; 0 means an equal share. It fails if there are fewer blocks than stages.
func (m *Model) Stage(stages, first int) error {
	if stages < 2 {
		return nil
	}
	last := slice.Most(m.Params, func(p Param) int { return p.Block })
	if last > 0 && stages > last {
		return fmt.Errorf("%d blocks do not make %d pipeline stages", last, stages)
	}
	keep := max(1, (last+stages-1)/stages)
	if first > 0 {
		keep = min(first, last)
	}
	var kept []Param
	inside := false
	for _, p := range m.Params {
		inside = inside || p.Block > 0
		if p.Block > 0 && p.Block <= keep || !inside {
			kept = append(kept, p)
		}
	}
	if last == 0 {
		m.Notes = append(m.Notes, "no tensor says which block it is of: the list was taken to be the first pipeline stage's")
		return nil
	}
	m.Notes = append(m.Notes, fmt.Sprintf("the first of %d pipeline stages: %d of %d blocks; data-parallel ranks are those of one stage", stages, keep, last))
	if slices.ContainsFunc(m.Params, shared) {
		m.Notes = append(m.Notes, "the last stage shares the embedding: "+sharedLeftOut)
		for i, p := range kept {
			kept[i].Alone = p.Block == 0 && p.Elements == m.Largest()
		}
	}
	m.Params = kept
	if m.ActiveParams > 0 {
		m.ActiveParams = m.work()
	}
	return nil
}

// AsGiven adds notes to a list that already has only the tensors of one rank, because the list
// itself cannot say so.
func (m *Model) AsGiven(stages, ranks int) {
	if ranks > 1 {
		m.Notes = append(m.Notes, fmt.Sprintf("the list is taken as it is, for one of %d tensor-parallel ranks", ranks))
	}
	if stages > 1 {
		m.Notes = append(m.Notes, fmt.Sprintf("the list is taken as it is, for the first of %d pipeline stages'; where the last shares its embedding, %s", stages, sharedLeftOut))
	}
}

// sharedLeftOut says what Megatron does with a tied embedding before a step ends (Megatron-Core,
// distributed/finalize_model_grads.py, _allreduce_word_embedding_grads; read 2026-11-21).
const sharedLeftOut = "its gradient is reduced between both stages after the last backward, which no bucket size changes and which is not counted here"

// shared reports whether a tensor is an output layer without a table of its own.
func shared(p Param) bool { return p.Elements == 0 && p.Work != nil }

// expertNumber matches the number of an expert within its block.
var expertNumber = pattern.New(`(?:local_experts|experts)\.(\d{1,6})\.`)

// Local keeps the experts of one rank, if the experts are distributed over groups. Tokens from all
// groups come to these experts, so the rank computes as much as before.
func (m *Model) Local(groups int) error {
	if groups < 2 || m.ExpertTotal() == 0 {
		return nil
	}
	number := func(p Param) int {
		if match := expertNumber.FindStringSubmatch(p.Name); match != nil && p.Expert {
			n, _ := strconv.Atoi(match[1]) // at most six digits
			return n
		}
		return -1
	}
	most := slice.Most(m.Params, func(p Param) int { return number(p) + 1 })
	if most%groups != 0 {
		return fmt.Errorf("%s has %d experts a block, which do not divide into %d expert-parallel groups", m.Name, most, groups)
	}
	keep := most / groups
	var kept []Param
	for _, p := range m.Params {
		if number(p) >= keep {
			continue
		}
		if p.Expert && p.Work != nil {
			p.Work = new(*p.Work * float64(groups))
		}
		kept = append(kept, p)
	}
	m.Params = kept
	m.Notes = append(m.Notes, fmt.Sprintf("one rank of %d expert-parallel groups holds %d of %d experts a block", groups, keep, most))
	return nil
}

// cut says how tensor parallelism divides a tensor.
type cut int

const (
	unknownCut cut = iota
	wholeCut
	rowsCut
	colsCut
	vocabCut
)

// cuts are parts of the names of matrices, and how tensor parallelism divides them
// (NVIDIA/Megatron-LM at d98e8a64: megatron/core/transformer/attention.py, mlp.py,
// multi_latent_attention.py, moe/router.py, tensor_parallel/layers.py). A column-parallel matrix is
// divided by rows, as torch stores it. Its bias is divided in the same way. The bias of a
// row-parallel matrix stays whole.
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

// cutOf returns how a tensor is divided.
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

// Tensor reduces the list to one of several tensor-parallel ranks. Matrices are divided, and norms
// stay whole. The matrices of routed experts are divided by experts instead of ranks. The rows of
// the embedding and the output layer are first padded to a multiple of vocab per rank. It fails if
// no rule covers a tensor.
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
			p.Work = new(*p.Work / float64(max(1, ranks)))
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

// divide reduces a tensor to one of n parts.
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
	case len(p.Shape) == 0: // tensors of a made-up list have no shapes
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
	shape := slices.Clone(p.Shape)
	shape[side] = all / n
	p.Shape, p.Elements = shape, dims(shape)
	return nil
}
