package muon

import "zbench/bench/run/record"

// Names of kernels that other code looks up: the pass over memory that begins a step, and the whole
// iteration.
const (
	Prepare   = "momentum, cast, norm"
	Iteration = "Newton–Schulz"
)

// EveryTile follows the name of a symmetric product that was computed in full, without use of the
// symmetry.
const EveryTile = ", every tile"

// What returns the name of a row: its kernel, and how it differs from our own kernel.
func What(k *record.Kernel) string {
	switch k.Role {
	case record.Full:
		return k.Kernel + EveryTile
	case record.Vendor:
		return k.Kernel + ", " + k.Library
	case record.Hybrid:
		return k.Kernel + ", own triangles and " + k.Library
	}
	return k.Kernel
}

// ShapeOf returns the shape of a row.
func ShapeOf(k *record.Kernel) Shape {
	return Shape{Name: k.Shape.Name, Rows: int(k.Shape.Rows), Cols: int(k.Shape.Cols), Batch: int(k.Shape.Batch)}
}

// Reduced returns a smaller shape. Its long side is at most the given side, and the ratio of the
// sides stays the same as far as whole numbers allow. float64 can compute such a shape within a
// second.
func (s Shape) Reduced(side int) Shape {
	if s.Long() <= side {
		return s
	}
	short := max(1, s.Short()*side/s.Long())
	r := Shape{Name: s.Name, Rows: short, Cols: side, Batch: min(s.Batch, 2)}
	if s.Rows > s.Cols {
		r.Rows, r.Cols = r.Cols, r.Rows
	}
	return r
}
