package muon

import "zbench/bench/run/record"

// Kernels that others look up by name: the pass over memory that begins a step, and the whole
// iteration.
const (
	Prepare   = "momentum, cast, norm"
	Iteration = "Newton–Schulz"
)

// EveryTile follows the name of a symmetric product that was computed without using the symmetry.
const EveryTile = ", every tile"

// What is the part of a row's name in a record: its kernel, and its difference from our own.
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

// ShapeOf returns the shape of a record's row.
func ShapeOf(k *record.Kernel) Shape {
	return Shape{Name: k.Shape.Name, Rows: int(k.Shape.Rows), Cols: int(k.Shape.Cols), Batch: int(k.Shape.Batch)}
}

// Reduced returns the shape with its long side reduced to at most side, and the ratio kept as far
// as whole numbers allow. float64 can follow it in a second.
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
