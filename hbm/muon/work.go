package muon

import (
	"fmt"
	"slices"

	method "zbench/bench/work/muon"
	"zbench/internal/native"
)

// The hyperparameters of a step: Muon's own defaults.
const (
	Momentum = 0.95
	Rate     = 0.02
	Decay    = 0.01
)

// Work is a batch of equal weight matrices on the device, with all other arrays of a step. Close it
// when done.
type Work struct {
	d     *Driver
	shape method.Shape
	// m is the short side and n is the long side.
	m, n  int
	arena native.Buffer
	// Offsets in the arena in bytes. The matrices x have m rows and n columns; t are their
	// transposes. x[0] and t[0] are the input; the steps write x[1] and x[2] in turn.
	gradient, momentum, weight int64
	x, t                       [3]int64
	a, b                       int64
	tensors, partial, inverse  int64
	list                       []native.MuonTensor
	chunks, tiles              int
	// panel is the approximate number of rows in a panel of VendorIterate.
	panel int
}

// Bytes returns the device memory that a shape needs, in bytes.
func (d *Driver) Bytes(s method.Shape) int64 {
	w := &Work{d: d, shape: s, m: s.Short(), n: s.Long()}
	return w.layout()
}

func aligned(bytes int64) int64 { return (bytes + 255) / 256 * 256 }

// layout assigns an offset to each array and returns the total bytes.
func (w *Work) layout() int64 {
	var at int64
	batch := int64(w.shape.Batch)
	take := func(each int64) int64 {
		from := at
		at = aligned(at + each*batch)
		return from
	}
	w.gradient, w.momentum, w.weight = take(w.floats()), take(w.floats()), take(w.floats())
	for i := range w.x {
		w.x[i], w.t[i] = take(halves(w.m, w.n)), take(halves(w.n, w.m))
	}
	w.a, w.b = take(halves(w.m, w.m)), take(halves(w.m, w.m))
	w.tensors, w.inverse = take(tensorBytes), take(4)
	w.partial = take(4 * int64(native.MuonChunks(w.shape.Rows, w.shape.Cols)))
	return at
}

// tensorBytes is the size of a native.MuonTensor.
const tensorBytes = 72

// floats() returns the bytes of one float32 matrix. halves() returns the bytes of one bf16 matrix.
func (w *Work) floats() int64 {
	return (4*int64(w.shape.Rows)*int64(w.shape.Cols) + 15) / 16 * 16
}

func halves(rows, cols int) int64 { return 2 * int64(rows) * int64(native.MuonPadded(cols)) }

// tall() reports whether the weights have more rows than columns, so that they are stored as t.
func (w *Work) tall() bool { return w.shape.Rows > w.shape.Cols }

// result returns the index of the x and t that the last step writes.
func (w *Work) result() int { return turn(len(w.d.cfg.Coefficients.Steps)) }

// turn returns the index of the x and t that step i reads: 0 for the first step, then 1 and 2 in
// turn.
func turn(i int) int {
	if i == 0 {
		return 0
	}
	return 2 - i%2
}

// NewWork allocates the memory of a shape and lays out its arrays.
func (d *Driver) NewWork(s method.Shape) (*Work, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	w := &Work{d: d, shape: s, m: s.Short(), n: s.Long(), panel: method.PanelRows}
	bytes := w.layout()
	var err error
	if w.arena, err = d.p.Alloc(d.cfg.Device, bytes); err != nil {
		return nil, err
	}
	w.list = make([]native.MuonTensor, s.Batch)
	for i := range w.list {
		k := int64(i)
		out := w.result()
		as, turned, update := w.x[0], w.t[0], w.x[out]
		if w.tall() {
			as, turned, update = turned, as, w.t[out]
		}
		half, flipped := halves(s.Rows, s.Cols), halves(s.Cols, s.Rows)
		//nolint:gosec // offsets are not negative, counts are below 2^32
		w.list[i] = native.MuonTensor{
			Gradient: uint64(w.gradient + k*w.floats()), Momentum: uint64(w.momentum + k*w.floats()),
			Weight: uint64(w.weight + k*w.floats()), Cast: uint64(as + k*half), Flipped: uint64(turned + k*flipped),
			Update: uint64(update + k*half), Rows: uint32(s.Rows), Cols: uint32(s.Cols),
			Chunk: uint32(w.chunks), Tile: uint32(w.tiles), Scale: float32(s.Scale()),
		}
		w.chunks += native.MuonChunks(s.Rows, s.Cols)
		w.tiles += native.MuonTiles(s.Rows, s.Cols)
	}
	return w, nil
}

// Close frees the memory.
func (w *Work) Close() error { return w.d.p.Free(w.arena) }

func (w *Work) at(offset int64) native.Address {
	return native.Address{Buffer: w.arena, Offset: offset}
}

// step returns a launch of a kernel.
func (w *Work) step(kernel string, grid, batch, threads int, args ...any) native.Step {
	return native.Step{
		Function: w.d.kernels[kernel],
		//nolint:gosec // far below 2^31
		Launch: native.Launch{Grid: [3]uint32{uint32(grid), uint32(batch), 1}, Block: [3]uint32{uint32(threads), 1, 1}},
		Args:   args,
	}
}

// Before returns the launches that turn gradient and momentum into the input of Newton–Schulz: the
// pass over all tensors, their norms, and the scaling with the transpose.
func (w *Work) Before() []native.Step {
	tensors, n := w.at(w.tensors), uint32(len(w.list)) //nolint:gosec // the batch
	c := w.d.cfg.Coefficients
	return []native.Step{
		w.step("zb_muon_prepare", w.chunks, 1, native.MuonThreads, w.arena, tensors, n, float32(Momentum), int32(1), int32(0), w.at(w.partial)),
		w.step("zb_muon_norm", len(w.list), 1, native.MuonThreads, tensors, n, uint32(w.chunks), w.at(w.partial), //nolint:gosec // below 2^32
			float32(c.Safety), float32(method.Epsilon), w.at(w.inverse)),
		w.step("zb_muon_orient", w.tiles, 1, 4*w.d.wave, w.arena, tensors, n, w.at(w.inverse)),
	}
}

// scaleByOne sets all scale factors to 1 until the norms are computed again. Repeated scaling in
// place would shrink the matrices to zero.
func (w *Work) scaleByOne() error {
	return w.d.p.Write(w.at(w.inverse), encode(slices.Repeat([]float32{1}, len(w.list))))
}

// After returns the launch that subtracts the update from the weight.
func (w *Work) After() native.Step {
	return w.step("zb_muon_apply", w.chunks, 1, native.MuonThreads, w.arena, w.at(w.tensors), uint32(len(w.list)), float32(Rate), float32(Decay)) //nolint:gosec // the batch
}

// Product returns the launches of one product in Newton–Schulz step i. If `full` is true, every
// tile of a symmetric product is computed. A batch larger than a grid takes several launches.
func (w *Work) Product(p method.Product, i int, full bool) []native.Step {
	return w.product(p, i, w.d.cfg.Coefficients.Steps[i], full)
}

// product does the same as Product, with other factors than the coefficients of step i.
func (w *Work) product(p method.Product, i int, factors [3]float64, full bool) []native.Step {
	tile := p.Tile(w.shape, w.d.info.Units)
	kind := "product"
	if p.Symmetric() && !full {
		kind = "triangle"
	}
	m, n, k := p.Dims(w.shape)
	var steps []native.Step
	for first := 0; first < w.shape.Batch; first += w.d.most {
		args := append(w.operands(p, i, factors, first), uint32(m), uint32(n), uint32(k)) //nolint:gosec // sides are at most MaxSide
		steps = append(steps, w.step(fmt.Sprintf("zb_%s_%d", kind, tile), p.Blocks(w.shape, tile, full), min(w.d.most, w.shape.Batch-first), 4*w.d.wave, args...))
	}
	return steps
}

// operands returns a product's arguments without its sizes, for the matrices from `first` on.
func (w *Work) operands(p method.Product, i int, step [3]float64, first int) []any {
	from, to := turn(i), turn(i+1)
	none := uint64(0)
	of := func(offset int64, rows, cols int) native.Address {
		return w.at(offset + int64(first)*halves(rows, cols))
	}
	a, b := of(w.a, w.m, w.m), of(w.b, w.m, w.m)
	switch p {
	case method.Gram:
		x := of(w.x[from], w.m, w.n)
		return []any{a, none, x, x, none, float32(1), float32(0)}
	case method.Square:
		return []any{b, none, a, a, a, float32(step[2]), float32(step[1])}
	default:
		return []any{of(w.x[to], w.m, w.n), of(w.t[to], w.n, w.m), b, of(w.t[from], w.n, w.m), of(w.x[from], w.m, w.n), float32(1), float32(step[0])}
	}
}

// Iterate returns the launches of all steps of Newton–Schulz.
func (w *Work) Iterate() []native.Step {
	var steps []native.Step
	for i := range w.d.cfg.Coefficients.Steps {
		for _, p := range method.Products() {
			steps = append(steps, w.Product(p, i, false)...)
		}
	}
	return steps
}

// Step returns the launches of a whole step of the optimiser.
func (w *Work) Step() []native.Step {
	return append(append(w.Before(), w.Iterate()...), w.After())
}
