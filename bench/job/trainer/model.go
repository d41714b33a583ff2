// A model describes a run's gradients: parameter tensors in forward order, and the seconds of a
// microbatch's forward and backward pass. [ReadModel] reads one, [Preset] makes a published one,
// [SyntheticModel] makes one up from a total.
//
// Order matters because a trainer fills its buckets from the last tensor to the first, and sizes
// because no trainer splits a tensor.

package trainer

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
)

// Bounds of a parameter list. A list beyond them is a mistake: the largest publicly trained model
// has under 100,000 tensors and 1e13 elements.
const (
	// MaxParams is the largest number of tensors.
	MaxParams = 1 << 20
	// MaxElements is the largest number of elements of all tensors together; a float64 is exact up
	// to it, too.
	MaxElements = 1 << 53
	// maxReady is longer than any backward pass, in seconds.
	maxReady = 3600
)

// ErrParams is wrapped by every error about a parameter list.
var ErrParams = errors.New("not a parameter list")

// Model is a parameter list with its source.
type Model struct {
	// Name is the preset's or the file's, for people.
	Name string `json:"name"`
	// Source is the origin of the list; for a preset with URL and date.
	Source string `json:"source"`
	// Params are the tensors in forward order.
	Params []Param `json:"params"`
	// Listed is true for the tensors of a real model, false for a list made up from a total.
	Listed bool `json:"listed"`
	// ActiveParams is the number of parameters in a token's matrix products, including the output
	// layer's and excluding lookup tables; 0 if unknown. It is the sum of the tensors' work
	// (trainer.Work), so that the time of a pass and its shares per tensor come from the same
	// numbers.
	ActiveParams int64 `json:"active_params"`
	// Dtypes are the element types of the trained tensors in rccl-tests' names; absent if the list
	// lacks them.
	Dtypes []string `json:"dtypes,omitempty"`
	// Notes are warnings about the list, a sentence each.
	Notes []string `json:"notes,omitempty"`
}

// ModelOf returns the model of these tensors, in forward order; source is their origin.
func ModelOf(name, source string, params []Param) (*Model, error) {
	m := &Model{Name: name, Source: source, Params: params, Listed: true}
	if err := m.Check(); err != nil {
		return nil, err
	}
	m.ActiveParams = m.work()
	return m, nil
}

// Check refuses a list that [ReadModel] does not make: too long, or with invalid sizes.
func (m *Model) Check() error {
	if len(m.Params) > MaxParams {
		return fmt.Errorf("%w: %d tensors are more than %d", ErrParams, len(m.Params), MaxParams)
	}
	var all int64
	for _, p := range m.Params {
		if p.Elements < 0 || p.Frozen < 0 || p.Elements > MaxElements || p.Frozen > MaxElements || p.Held() > MaxElements-all {
			return fmt.Errorf("%w: %q has %d elements", ErrParams, p.Name, p.Held())
		}
		if p.Work != nil && !(*p.Work >= 0 && *p.Work <= MaxElements) {
			return fmt.Errorf("%w: %q computes with %g elements", ErrParams, p.Name, *p.Work)
		}
		if !(p.Ready >= 0 && p.Ready <= maxReady) {
			return fmt.Errorf("%w: the gradient of %q is ready after %g s", ErrParams, p.Name, p.Ready)
		}
		all += p.Held()
	}
	if m.ActiveParams < 0 {
		return fmt.Errorf("%w: %d active parameters", ErrParams, m.ActiveParams)
	}
	return nil
}

// Total returns the number of elements of all tensors.
func (m *Model) Total() int64 { return elements(m.Params) }

// ExpertTotal returns the number of elements of routed experts.
func (m *Model) ExpertTotal() int64 {
	return ofExperts(m.Params, func(p Param) int64 { return p.Elements })
}

// ofExperts sums one number over the routed experts' tensors.
func ofExperts(params []Param, of func(Param) int64) int64 {
	return slice.Sum(params, func(p Param) int64 {
		if p.Expert {
			return of(p)
		}
		return 0
	})
}

// work returns the sum of the tensors' work: the parameters that compute for a token.
func (m *Model) work() int64 {
	return int64(math.Round(slice.Sum(Work(m.Params), itself)))
}

// Spared returns the share of a backward's products that frozen tensors spare.
func (m *Model) Spared() float64 {
	all, left := slice.Sum(Work(m.Params), itself), slice.Sum(backwardWork(m.Params), itself)
	if all == 0 || !slices.ContainsFunc(m.Params, isFrozen) {
		return 0
	}
	return 1 - left/all
}

func itself(x float64) float64 { return x }

func isFrozen(p Param) bool { return p.Frozen > 0 }

// freeze marks a tensor as not trained.
func freeze(p *Param, frozen bool) {
	if frozen {
		p.Frozen, p.Elements = p.Elements, 0
	}
}

// noteFrozen notes the untrained part of a list.
func (m *Model) noteFrozen() {
	if frozen := slice.Where(m.Params, isFrozen); len(frozen) > 0 {
		elements := slice.Sum(frozen, func(p Param) int64 { return p.Frozen })
		m.Notes = append(m.Notes, fmt.Sprintf("%s of %s elements are frozen (requires_grad is false): their gradients are neither computed nor reduced", plain.Count(len(frozen), "tensor"), unit.Number(float64(elements))))
	}
}

// SetActive sets how many parameters a token uses. If the list does not state how much of the
// routed experts computes, that follows: the rest of the active ones, shared equally by all
// experts.
func (m *Model) SetActive(active int64) {
	m.ActiveParams = active
	all, dense := ofExperts(m.Params, Param.Held), 0.0
	if all == 0 {
		return
	}
	for i, w := range Work(m.Params) {
		if !m.Params[i].Expert {
			dense += w
		}
	}
	share := min(max((float64(active)-dense)/float64(all), 0), 1)
	for i := range m.Params {
		if p := &m.Params[i]; p.Expert && p.Work == nil {
			p.Work = new(share * float64(p.Held()))
		}
	}
}

// Largest returns the number of elements of the largest tensor.
func (m *Model) Largest() int64 {
	return slice.Most(m.Params, func(p Param) int64 { return p.Elements })
}

// expertNames are the names of routed experts in the spellings of Megatron-Core,
// Hugging Face and DeepSeek; a shared expert sees every token.
var expertNames = map[string]bool{"local_experts": true, "experts": true}

// blockNames are the names under which a transformer numbers its blocks.
var blockNames = map[string]bool{"layers": true, "h": true, "blocks": true, "block": true, "layer": true, "encoder": true, "decoder": true}

// named makes a tensor and reads the facts in its name. The shape may be nil.
func named(name string, elements int64, shape []int64) Param {
	p := Param{Name: name, Elements: elements, Shape: shape}
	part, rest, more := strings.Cut(name, ".")
	for more {
		p.Expert = p.Expert || expertNames[part]
		before := part
		part, rest, more = strings.Cut(rest, ".")
		if p.Block == 0 && blockNames[before] {
			p.Block = ordinal(part)
		}
	}
	return p
}

// ordinal returns one more than the number in the text, 0 for another text. A block has at most six
// digits.
func ordinal(s string) int {
	n, err := strconv.ParseUint(s, 10, 32)
	if err != nil || len(s) > 6 {
		return 0
	}
	return int(n) + 1
}

// list collects tensors and enforces the bounds.
type list struct {
	params []Param
	// at says where a name was first seen, for the error about a repetition.
	at    map[string]string
	total int64
}

// add takes one tensor. Where is its place in the file, for errors.
func (l *list) add(where string, p Param) error {
	p.Name = strings.TrimSpace(p.Name)
	switch {
	case p.Name == "":
		return fmt.Errorf("%w: %s: a tensor without a name", ErrParams, where)
	case p.Held() < 1:
		return fmt.Errorf("%w: %s: %s has %d elements; at least 1 is needed", ErrParams, where, short(p.Name), p.Held())
	case p.Held() > MaxElements-l.total:
		return fmt.Errorf("%w: %s: more than %d elements in all", ErrParams, where, int64(MaxElements))
	case len(l.params) == MaxParams:
		return fmt.Errorf("%w: %s: more than %d tensors", ErrParams, where, MaxParams)
	}
	if l.at == nil {
		l.at = map[string]string{}
	}
	if before, twice := l.at[p.Name]; twice {
		return fmt.Errorf("%w: %s: %s was listed at %s already", ErrParams, where, short(p.Name), before)
	}
	l.at[p.Name] = where
	l.total += p.Held()
	l.params = append(l.params, p)
	return nil
}

// done ends a list: an empty one is an error.
func (l *list) done() ([]Param, error) {
	if len(l.params) == 0 {
		return nil, fmt.Errorf("%w: no tensors in it", ErrParams)
	}
	if !slices.ContainsFunc(l.params, func(p Param) bool { return p.Elements > 0 }) {
		return nil, fmt.Errorf("%w: requires_grad is false for every tensor, so nothing is trained", ErrParams)
	}
	return l.params, nil
}

// short shortens a foreign name for messages.
func short(name string) string {
	const most = 80
	if r := []rune(name); len(r) > most {
		name = string(r[:most-1]) + "…"
	}
	return strconv.Quote(name)
}

// dims returns the number of elements of a shape; a scalar has one. It returns 0 if a side is not
// positive and MaxElements+1 if the product is larger.
func dims(shape []int64) int64 {
	n := int64(1)
	for _, side := range shape {
		if side < 1 {
			return 0
		}
		if side > MaxElements/n {
			return MaxElements + 1
		}
		n *= side
	}
	return n
}
