package muon

import (
	"cmp"
	"slices"
	"strings"

	"zbench/bench/slice"
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
	split := func(p trainer.Param) (part, name string) {
		role := p.Role()
		at := strings.LastIndex(role, ".") + 1
		return role[:at], role[at:]
	}
	order, of := slice.Group(slice.Where(params, trainer.Matrix), func(p trainer.Param) key {
		part, _ := split(p)
		return key{part, p.Shape[0], p.Shape[1]}
	})
	all := slice.Map(order, func(k key) Shape {
		names := slice.Distinct(slice.Map(of[k], func(p trainer.Param) string {
			_, name := split(p)
			return name
		}))
		return Shape{Name: k.part + strings.Join(names, ", "), Rows: int(k.rows), Cols: int(k.cols), Batch: len(of[k])}
	})
	slices.SortStableFunc(all, func(a, b Shape) int { return cmp.Compare(b.elements(), a.elements()) })
	return all
}

func (s Shape) elements() int64 { return int64(s.Rows) * int64(s.Cols) * int64(s.Batch) }
