package muon

import (
	"cmp"
	"slices"
	"strings"

	"zbench/bench/trainer"
)

// Preset is a model's weight matrices that Muon steps: those of the preset of the
// same name in bench/trainer, by shape.
type Preset struct {
	Name, Title, Source string
	// Shapes have the number of a model's matrices as their batch, the most
	// elements first.
	Shapes []Shape
}

// PresetByName finds a model by its name or an alias; an unknown name is an error
// that lists the valid.
func PresetByName(name string) (Preset, error) {
	name, err := trainer.PresetName(name)
	if err != nil {
		return Preset{}, err
	}
	m, err := trainer.Preset(name)
	if err != nil {
		return Preset{}, err
	}
	return Preset{name, m.Name, m.Source, shapes(m.Params)}, nil
}

// shapes groups a model's matrices by their sides and by the part of the block
// they are in.
func shapes(params []trainer.Param) []Shape {
	type key struct {
		part       string
		rows, cols int64
	}
	var order []key
	names, count := map[key][]string{}, map[key]int{}
	for _, p := range params {
		if !trainer.Matrix(p) {
			continue
		}
		role := p.Role()
		part, name := "", role
		if i := strings.LastIndex(role, "."); i >= 0 {
			part, name = role[:i+1], role[i+1:]
		}
		k := key{part, p.Shape[0], p.Shape[1]}
		if count[k] == 0 {
			order = append(order, k)
		}
		if !slices.Contains(names[k], name) {
			names[k] = append(names[k], name)
		}
		count[k]++
	}
	all := make([]Shape, len(order))
	for i, k := range order {
		all[i] = Shape{Name: k.part + strings.Join(names[k], ", "), Rows: int(k.rows), Cols: int(k.cols), Batch: count[k]}
	}
	slices.SortStableFunc(all, func(a, b Shape) int { return cmp.Compare(b.elements(), a.elements()) })
	return all
}

func (s Shape) elements() int64 { return int64(s.Rows) * int64(s.Cols) * int64(s.Batch) }
