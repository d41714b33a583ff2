// A model describes the gradients of a run: its parameter tensors in forward order, and the seconds
// of a microbatch's forward and backward pass. [ReadModel] reads a model. [Preset] makes a
// published model. [SyntheticModel] makes up a model from a total.
//
// The order of the tensors matters, because a trainer fills its buckets from the last tensor to the
// first. Their sizes matter, because no trainer splits a tensor.

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

// Limits for a parameter list. A list above them is a mistake: the largest model known to be
// trained has under 100,000 tensors and 1e13 elements.
const (
	// MaxParams is the largest number of tensors.
	MaxParams = 1 << 20
	// MaxElements is the largest number of elements of all tensors together. A float64 is exact up
	// to this number.
	MaxElements = 1 << 53
	// maxReady is a time, in seconds, that is longer than any backward pass.
	maxReady = 3600
)

// ErrParams is wrapped by every error about a parameter list.
var ErrParams = errors.New("not a parameter list")

// Model is a parameter list with its source.
type Model struct {
	// Name is the name of the preset or of the file, for people.
	Name string `json:"name"`
	// Source says where the list comes from; for a preset it has the URL and the date.
	Source string `json:"source"`
	// Params are the tensors in forward order.
	Params []Param `json:"params"`
	// Listed is true if the tensors are from a real model, and false if the list was made up from a
	// total.
	Listed bool `json:"listed"`
	// ActiveParams is the number of parameters in the matrix products of a token; 0 if unknown. It
	// includes the output layer and excludes lookup tables. It is the sum of the tensors' work
	// (trainer.Work), so that the time of a pass and the shares of its tensors come from the same
	// numbers.
	ActiveParams int64 `json:"active_params"`
	// Dtypes are rccl-tests' names of the element types of the trained tensors; absent if the list
	// lacks them.
	Dtypes []string `json:"dtypes,omitempty"`
	// Notes are warnings about the list, one sentence each.
	Notes []string `json:"notes,omitempty"`
}

// ModelOf returns a model with these tensors, in forward order. source says where they come from.
func ModelOf(name, source string, params []Param) (*Model, error) {
	m := &Model{Name: name, Source: source, Params: params, Listed: true}
	if err := m.Check(); err != nil {
		return nil, err
	}
	m.ActiveParams = m.work()
	return m, nil
}

// Check refuses a list that [ReadModel] would refuse: one that is too long or has invalid sizes.
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

// ExpertTotal returns the number of elements of all routed experts.
func (m *Model) ExpertTotal() int64 {
	return ofExperts(m.Params, func(p Param) int64 { return p.Elements })
}

// ofExperts sums a number over the tensors of routed experts.
func ofExperts(params []Param, of func(Param) int64) int64 {
	return slice.Sum(params, func(p Param) int64 {
		if p.Expert {
			return of(p)
		}
		return 0
	})
}

// work returns the number of parameters that compute for a token: the sum of the tensors' work.
func (m *Model) work() int64 {
	return int64(math.Round(slice.Sum(Work(m.Params), itself)))
}

// Spared returns the share of backward's products that frozen tensors make unnecessary.
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

// noteFrozen adds a note about the tensors that are not trained.
func (m *Model) noteFrozen() {
	if frozen := slice.Where(m.Params, isFrozen); len(frozen) > 0 {
		elements := slice.Sum(frozen, func(p Param) int64 { return p.Frozen })
		m.Notes = append(m.Notes, fmt.Sprintf("%s of %s elements are frozen (requires_grad is false): their gradients are neither computed nor reduced", plain.Count(len(frozen), "tensor"), unit.Number(float64(elements))))
	}
}

// SetActive sets the number of parameters that a token uses. The list may not state which share of
// the routed experts computes for a token. In that case the share follows from this number: the
// active parameters outside the dense tensors are distributed equally over all experts.
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

// expertNames are names of routed experts in Megatron-Core, Hugging Face and DeepSeek. A shared
// expert has another name and sees every token.
var expertNames = map[string]bool{"local_experts": true, "experts": true}

// blockNames are the names below which transformers number their blocks.
var blockNames = map[string]bool{"layers": true, "h": true, "blocks": true, "block": true, "layer": true, "encoder": true, "decoder": true}

// named makes a tensor and sets the fields that follow from its name. The shape may be nil.
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

// ordinal returns one more than the number in the text, or 0 if the text is not a number of at most
// six digits.
func ordinal(s string) int {
	n, err := strconv.ParseUint(s, 10, 32)
	if err != nil || len(s) > 6 {
		return 0
	}
	return int(n) + 1
}

// list collects tensors and enforces the limits.
type list struct {
	params []Param
	// The map `at` says where a name was first seen, for the error about a repeated name.
	at    map[string]string
	total int64
}

// add adds a tensor. Errors use where as its place in the file.
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

// done returns the tensors. An empty list is an error.
func (l *list) done() ([]Param, error) {
	if len(l.params) == 0 {
		return nil, fmt.Errorf("%w: no tensors in it", ErrParams)
	}
	if !slices.ContainsFunc(l.params, func(p Param) bool { return p.Elements > 0 }) {
		return nil, fmt.Errorf("%w: requires_grad is false for every tensor, so nothing is trained", ErrParams)
	}
	return l.params, nil
}

// short shortens a name from a file for messages.
func short(name string) string {
	const most = 80
	if r := []rune(name); len(r) > most {
		name = string(r[:most-1]) + "…"
	}
	return strconv.Quote(name)
}

// dims returns the number of elements of a shape, which is 1 for a scalar. It returns 0 if a side
// is not positive, and MaxElements+1 if the product is larger than MaxElements.
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
