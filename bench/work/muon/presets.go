package muon

import (
	"cmp"
	"slices"
	"strings"

	"zbench/bench/base/slice"
	"zbench/bench/job/trainer"
)

// PresetShapes returns the weight matrices of a model that Muon steps, by shape. A batch is the
// number of such matrices in the model (bench/job/trainer). The shape with the most elements comes
// first. The error about an unknown name lists the valid names.
func PresetShapes(name string) ([]Shape, error) {
	m, err := trainer.Preset(name)
	if err != nil {
		return nil, err
	}
	return shapes(m.Params), nil
}

// shapes groups the matrices of a model by their sides and by their part of the block.
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
