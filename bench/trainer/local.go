package trainer

import (
	"fmt"
	"slices"
	"strconv"

	"zbench/bench/pattern"
)

// Stage is the list of a pipeline's first stage, whose buckets alone a trainer's
// setting cuts: the first of so many equal shares of the blocks, with what lies
// before them. It fails where there are fewer blocks than stages.
func (m *Model) Stage(stages int) error {
	if stages < 2 {
		return nil
	}
	last := 0
	for _, p := range m.Params {
		last = max(last, p.Block)
	}
	if last > 0 && stages > last {
		return fmt.Errorf("%d blocks do not make %d pipeline stages", last, stages)
	}
	keep := max(1, (last+stages-1)/stages)
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
	}
	if slices.ContainsFunc(m.Params, shared) {
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

// AsGiven says of a list that is one rank's already what no list tells.
func (m *Model) AsGiven(stages, ranks int) {
	if ranks > 1 {
		m.Notes = append(m.Notes, fmt.Sprintf("the list is taken as it is, for one of %d tensor-parallel ranks", ranks))
	}
	if stages > 1 {
		m.Notes = append(m.Notes, fmt.Sprintf("the list is taken as it is, for the first of %d pipeline stages'; where the last shares its embedding, %s", stages, sharedLeftOut))
	}
}

// sharedLeftOut is what Megatron does with a tied embedding before a step ends
// (Megatron-Core, distributed/finalize_model_grads.py,
// _allreduce_word_embedding_grads; read 2026-11-21).
const sharedLeftOut = "its gradient is reduced between both stages after the last backward, which no bucket size changes and which is not counted here"

// shared tells an output layer that has no table of its own.
func shared(p Param) bool { return p.Elements == 0 && p.Work != nil }

// expertNumber finds which of a block's experts a tensor belongs to.
var expertNumber = pattern.New(`(?:local_experts|experts)\.(\d{1,6})\.`)

// Local keeps the experts that one rank holds when they are spread over so many
// groups. The tokens of all groups come to it, so that it computes as much.
func (m *Model) Local(groups int) error {
	if groups < 2 || m.ExpertTotal() == 0 {
		return nil
	}
	most := 0
	number := func(p Param) int {
		if match := expertNumber.FindStringSubmatch(p.Name); match != nil && p.Expert {
			n, _ := strconv.Atoi(match[1]) // six digits at most
			return n
		}
		return -1
	}
	for _, p := range m.Params {
		most = max(most, number(p)+1)
	}
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
			work := *p.Work * float64(groups)
			p.Work = &work
		}
		kept = append(kept, p)
	}
	m.Params = kept
	m.Notes = append(m.Notes, fmt.Sprintf("one rank of %d expert-parallel groups holds %d of %d experts a block", groups, keep, most))
	return nil
}
