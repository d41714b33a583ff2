package trainer

import (
	"fmt"
)

// tensorShares are the shares of a block's parameters by tensor, as in a dense transformer with
// grouped queries and a gated feed-forward part (the shares of Llama 3 8B).
var tensorShares = []struct {
	name  string
	share float64
}{
	{"self_attn.qkv", 0.115},
	{"self_attn.out", 0.077},
	{"mlp.gate_up", 0.539},
	{"mlp.down", 0.269},
}

// SyntheticModel makes up a list from a total number of elements: an embedding, equal blocks, and
// an output layer. largest is the number of elements of the embedding, and also of the output
// layer. If largest is 0, the list has neither of the two, and the blocks share all elements.
// layers is the number of blocks; 0 means 32. It fails if the parts do not fit into the total.
func SyntheticModel(total int64, layers int, largest int64) (*Model, error) {
	const usual = 32
	if layers == 0 {
		layers = usual
	}
	if total < 1 || total > MaxElements || layers < 1 || layers > MaxParams/len(tensorShares)-2 || largest < 0 {
		return nil, fmt.Errorf("%w: %d elements in %d layers with a largest tensor of %d", ErrParams, total, layers, largest)
	}
	m := &Model{
		Name: fmt.Sprintf("%d elements", total), Source: "made up from a total", ActiveParams: total - largest,
		Notes: []string{"the parameter list is made up from a total: real tensors decide where buckets end"},
	}
	body := total - 2*largest
	if largest > total/2 {
		return nil, fmt.Errorf("%w: two tensors of %d (embedding and output) do not fit into %d", ErrParams, largest, total)
	}
	if largest > 0 {
		m.Params = append(m.Params, Param{Name: "embedding", Elements: largest, Work: new(float64)}) // looked up, not multiplied
	}
	for b := range int64(layers) {
		// A block's size is the difference of two running totals, so that nothing is lost to
		// rounding.
		m.block(int(b), body*(b+1)/int64(layers)-body*b/int64(layers))
	}
	if largest > 0 {
		m.Params = append(m.Params, Param{Name: "output", Elements: largest})
	}
	if l := m.Largest(); largest > 0 && l > largest {
		return nil, fmt.Errorf("%w: with %d layers a block has a tensor of %d, more than the largest (%d)", ErrParams, layers, l, largest)
	}
	return m, nil
}

// block appends the tensors of one block, given its number of elements.
func (m *Model) block(b int, elements int64) {
	left := elements
	for i, s := range tensorShares {
		n := int64(float64(elements) * s.share)
		if i == len(tensorShares)-1 {
			n = left
		}
		left -= n
		if n > 0 {
			m.Params = append(m.Params, Param{Name: fmt.Sprintf("layers.%d.%s", b, s.name), Elements: n, Block: b + 1})
		}
	}
}
