package trainer

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"zbench/bench/pattern"
	"zbench/bench/plain"
)

// maxShards bounds the files an index may name.
const maxShards = 4096

// shard is one safetensors file whose header is to be read.
type shard struct {
	name string
	size int64
	r    io.Reader
}

// isIndex tells a safetensors index from a parameter list.
func isIndex(text []byte) bool {
	var index struct {
		Map json.RawMessage `json:"weight_map"`
	}
	return text[0] == '{' && json.Unmarshal(text, &index) == nil && len(index.Map) > 0 && index.Map[0] == '{'
}

// index reads the headers of the files that an index names: the index itself has
// no shapes.
func (m *Model) index(name string, text []byte, open Open) error {
	var index struct {
		Map map[string]string `json:"weight_map"`
	}
	if err := json.Unmarshal(text, &index); err != nil {
		return fmt.Errorf("%w: %s: weight_map: %w", ErrParams, name, err)
	}
	files := slices.Compact(slices.Sorted(maps.Values(index.Map)))
	if len(files) > maxShards {
		return fmt.Errorf("%w: %s names %d files, more than %d", ErrParams, name, len(files), maxShards)
	}
	var shards []shard
	for _, file := range files {
		if strings.ContainsAny(file, `/\`) || file == ".." {
			return fmt.Errorf("%w: %s names a file elsewhere: %s", ErrParams, name, short(file))
		}
		head, size, err := beside(file, open)
		if err != nil {
			return fmt.Errorf("%w: %s has names but no shapes, and %s beside it cannot be read: %w (only its header is needed; or write a CSV of name,elements)",
				ErrParams, name, short(file), err)
		}
		shards = append(shards, shard{file, size, bytes.NewReader(head)})
	}
	return m.shards(name, shards)
}

// beside reads length and header of a file.
func beside(file string, open Open) ([]byte, int64, error) {
	if open == nil {
		return nil, 0, fmt.Errorf("%s is not at hand", file)
	}
	f, err := open(file)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close() //nolint:errcheck // it was read only
	b := bufio.NewReader(f)
	size, is := safetensors(b)
	if !is {
		return nil, 0, fmt.Errorf("%s is not a safetensors file", file)
	}
	text, err := header(b, size)
	return append(make([]byte, 8), text...), size, err
}

// shards takes all tensors of the files, in the order a forward pass is likely to
// use them: the files have them by name.
func (m *Model) shards(name string, shards []shard) error {
	var l list
	for _, s := range shards {
		text, err := header(s.r, s.size)
		if err != nil {
			return fmt.Errorf("%w: %s: %w", ErrParams, s.name, err)
		}
		var tensors map[string]json.RawMessage
		if err := json.Unmarshal(text, &tensors); err != nil {
			return fmt.Errorf("%w: %s: header: %w", ErrParams, s.name, err)
		}
		for _, tensor := range slices.Sorted(maps.Keys(tensors)) {
			if tensor == "__metadata__" {
				continue
			}
			var e entry
			if err := json.Unmarshal(tensors[tensor], &e); err != nil || e.Shape == nil {
				return fmt.Errorf("%w: %s: %s has no shape", ErrParams, s.name, short(tensor))
			}
			if err := l.add(s.name, named(tensor, dims(e.Shape), e.Shape)); err != nil {
				return err
			}
		}
	}
	params, err := l.done()
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	slices.SortStableFunc(params, forward)
	m.Params = params
	m.Notes = append(m.Notes, "a checkpoint does not say in which order its tensors are used: the order is guessed from their names")
	return nil
}

// places order a tensor within the model and within its block by its name. The
// first that matches counts.
var tensorPlaces = []*pattern.Pattern{
	pattern.New(`embed|wte|wpe|tok_`),
	pattern.New(`layers|blocks|\bh\.`), // numbered blocks come here
	pattern.New(`input_?(layer)?norm|ln_1|attention_norm`),
	pattern.New(`attn|attention`),
	pattern.New(`post_attention|ln_2|ffn_norm|mlp_norm|pre_mlp`),
	pattern.New(`router|\.gate\.`),
	pattern.New(`gate_proj|gate_up|linear_fc1|up_proj|c_fc|w1|w3`),
	pattern.New(`down_proj|linear_fc2|c_proj|w2`),
	pattern.New(`shared_expert`),
	pattern.New(`norm|ln_f`),
	pattern.New(`lm_head|output`),
}

// forward compares two tensors by their likely place in the forward pass.
func forward(a, b Param) int {
	return cmp.Or(
		cmp.Compare(section(a), section(b)),
		cmp.Compare(a.Block, b.Block),
		cmp.Compare(within(a), within(b)),
		plain.Natural(a.Name, b.Name),
	)
}

// section is 0 before the blocks, 1 in them, 2 behind them.
func section(p Param) int {
	switch {
	case p.Block > 0:
		return 1
	case tensorPlaces[0].MatchString(p.Name):
		return 0
	}
	return 2
}

// within is the place inside a block, or behind the blocks. Experts count by
// their number first: plain.Natural does that.
func within(p Param) int {
	for i, place := range tensorPlaces {
		if i < 2 {
			continue
		}
		if i == 3 && tensorPlaces[4].MatchString(p.Name) && !strings.Contains(p.Name, "self_attn") {
			continue // post_attention_layernorm is no attention
		}
		if p.Expert && i < 6 {
			continue
		}
		if place.MatchString(p.Name) {
			if p.Expert {
				return 6
			}
			return i
		}
	}
	return len(tensorPlaces)
}
