package muon

import (
	"encoding/binary"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	method "zbench/bench/muon"
	"zbench/bench/record"
)

// inputs of one matrix, as they lie on the device before a step.
type inputs struct{ gradient, momentum, weight []float32 }

// different is how many matrices have inputs of their own. Past these they repeat: random
// numbers for a whole model take longer than all else.
const different = 4

// input makes the inputs of the i-th matrix: normal numbers, the same for the
// same seed. Zeros would draw less power and time better than training does.
func (w *Work) input(i int) inputs {
	rng := rand.New(rand.NewPCG(w.d.cfg.Seed, uint64(i%different))) //nolint:gosec // test data
	n := w.shape.Rows * w.shape.Cols
	in := inputs{make([]float32, n), make([]float32, n), make([]float32, n)}
	for _, p := range [][]float32{in.gradient, in.momentum, in.weight} {
		for k := range p {
			p[k] = float32(rng.NormFloat64())
		}
	}
	return in
}

// Fill writes the inputs of every matrix.
func (w *Work) Fill() error {
	var made [different][3][]byte
	for i, t := range w.list {
		k := i % different
		if made[k][0] == nil {
			in := w.input(k)
			made[k] = [3][]byte{encode(in.gradient), encode(in.momentum), encode(in.weight)}
		}
		for j, at := range []uint64{t.Gradient, t.Momentum, t.Weight} {
			if err := w.d.p.Write(w.at(int64(at)), made[k][j]); err != nil { //nolint:gosec // an offset
				return err
			}
		}
	}
	var list []byte
	for i := range w.list {
		var err error
		if list, err = binary.Append(list, binary.LittleEndian, w.list[i]); err != nil {
			return err
		}
	}
	return w.d.p.Write(w.at(w.tensors), list)
}

func encode(v []float32) []byte {
	out := make([]byte, 0, 4*len(v))
	for _, f := range v {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(f))
	}
	return out
}

// floatsAt reads floats, dense a padded matrix of bf16.
func (w *Work) floatsAt(offset uint64, n int) ([]float32, error) {
	raw := make([]byte, 4*n)
	if err := w.d.p.Read(w.at(int64(offset)), raw); err != nil { //nolint:gosec // an offset
		return nil, err
	}
	out := make([]float32, n)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	return out, nil
}

// halfMatrix is a matrix of bf16 as it was read from the device.
type halfMatrix struct {
	rows, cols, ld int
	raw            []byte
}

func (w *Work) read(offset int64, rows, cols int) (halfMatrix, error) {
	h := halfMatrix{rows, cols, int(halves(1, cols) / 2), make([]byte, halves(rows, cols))}
	return h, w.d.p.Read(w.at(offset), h.raw)
}

func (h halfMatrix) bits(i, j int) uint16 {
	return binary.LittleEndian.Uint16(h.raw[2*(i*h.ld+j):])
}

func (h halfMatrix) at(i, j int) float64 { return float64(method.FromBF16(h.bits(i, j))) }

func (h halfMatrix) dense() *mat.Dense {
	d := mat.NewDense(h.rows, h.cols, nil)
	d.Apply(func(i, j int, _ float64) float64 { return h.at(i, j) }, d)
	return d
}

// Result is the update of the i-th matrix, in the weight's orientation.
func (w *Work) Result(i int) (*mat.Dense, error) {
	h, err := w.read(int64(w.list[i].Update), w.shape.Rows, w.shape.Cols) //nolint:gosec // an offset
	return h.dense(), err
}

// Check makes one step and holds it against float64: the update of the first and
// the last matrix, their weights, and the symmetry of the last products.
func (w *Work) Check() ([]record.Check, error) {
	if err := w.Fill(); err != nil {
		return nil, err
	}
	if err := w.d.run(w.Step()...); err != nil {
		return nil, err
	}
	update := record.Check{Shape: w.shape.String(), What: checkedUpdate, Bar: method.Tolerance}
	weight := record.Check{Shape: w.shape.String(), What: checkedWeight, Bar: record.Deviation{Frobenius: 1e-5, Max: 1e-5}}
	for _, i := range []int{0, w.shape.Batch - 1} {
		got, err := w.Result(i)
		if err != nil {
			return nil, err
		}
		in := w.input(i)
		update.Worst(w.deviation(got, in))
		after, err := w.floatsAt(w.list[i].Weight, w.shape.Rows*w.shape.Cols)
		if err != nil {
			return nil, err
		}
		weight.Worst(in.weightError(after, got, w.shape))
	}
	checks, err := w.symmetry()
	return append([]record.Check{update, weight}, checks...), err
}

// deviation holds an update against what float64 makes of the inputs.
func (w *Work) deviation(update mat.Matrix, of inputs) record.Deviation {
	return method.Compare(update, method.NewtonSchulz(of.nesterov(w.shape), w.d.cfg.Coefficients))
}

// nesterov is what is to be made orthogonal, in float64.
func (in inputs) nesterov(s method.Shape) *mat.Dense {
	u := mat.NewDense(s.Rows, s.Cols, nil)
	for i, g := range in.gradient {
		m := float64(in.momentum[i])
		m += (1 - Momentum) * (float64(g) - m)
		u.Set(i/s.Cols, i%s.Cols, float64(g)+Momentum*(m-float64(g)))
	}
	return u
}

// weightError holds the weights against what the update should have made.
func (in inputs) weightError(after []float32, update *mat.Dense, s method.Shape) record.Deviation {
	got, want := mat.NewDense(s.Rows, s.Cols, nil), mat.NewDense(s.Rows, s.Cols, nil)
	for i, v := range after {
		got.Set(i/s.Cols, i%s.Cols, float64(v))
		want.Set(i/s.Cols, i%s.Cols, (1-Rate*Decay)*float64(in.weight[i])-Rate*s.Scale()*update.At(i/s.Cols, i%s.Cols))
	}
	return method.Compare(got, want)
}

// symmetry counts elements of the last A and B that differ from their mirror.
func (w *Work) symmetry() ([]record.Check, error) {
	c := record.Check{Shape: w.shape.String(), What: checkedSymmetry}
	for _, offset := range []int64{w.a, w.b} {
		h, err := w.read(offset+int64(w.shape.Batch-1)*halves(w.m, w.m), w.m, w.m)
		if err != nil {
			return nil, err
		}
		wrong := 0
		for i := range w.m {
			for j := range i {
				if h.bits(i, j) != h.bits(j, i) {
					wrong++
				}
			}
		}
		c.Worst(record.Deviation{Max: float64(wrong)})
	}
	return []record.Check{c}, nil
}

// Sample holds products of the whole size against float64 at random elements of
// the first and the last matrix: what a reduced shape cannot show. The products
// are those of the first Newton–Schulz step.
func (w *Work) Sample(elements int) ([]record.Check, error) {
	checks, err := w.sampleAll(elements, false)
	if err != nil {
		return nil, err
	}
	symmetric, err := w.symmetry()
	return append(checks, symmetric...), err
}

// SampleEveryTile is Sample for our own kernel without symmetry, which the others
// are measured against.
func (w *Work) SampleEveryTile(elements int) ([]record.Check, error) {
	return w.sampleAll(elements, true)
}

func (w *Work) sampleAll(elements int, full bool) ([]record.Check, error) {
	steps := w.Before()
	for _, p := range method.Products() {
		steps = append(steps, w.Product(p, 0, full)...)
	}
	if err := w.d.run(steps...); err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(w.d.cfg.Seed, 99)) //nolint:gosec // test data
	var checks []record.Check
	for _, p := range method.Products() {
		what := p.String()
		if full && !p.Symmetric() {
			continue
		} else if full {
			what += method.EveryTile
		}
		c := record.Check{Shape: w.shape.String(), What: sampled(what, elements), Bar: record.Deviation{Max: 0x1p-8}}
		for _, i := range []int64{0, int64(w.shape.Batch - 1)} {
			e, err := w.sample(p, i, elements, rng)
			if err != nil {
				return nil, err
			}
			c.Worst(record.Deviation{Max: e})
		}
		checks = append(checks, c)
	}
	return checks, nil
}

// sample is the largest relative error of a product's random elements, less what
// adding up in float may be off by.
func (w *Work) sample(p method.Product, i int64, elements int, rng *rand.Rand) (float64, error) {
	x, err := w.read(w.x[0]+i*halves(w.m, w.n), w.m, w.n)
	if err != nil {
		return 0, err
	}
	a, err := w.read(w.a+i*halves(w.m, w.m), w.m, w.m)
	if err != nil {
		return 0, err
	}
	b, err := w.read(w.b+i*halves(w.m, w.m), w.m, w.m)
	if err != nil {
		return 0, err
	}
	out, err := w.read(w.x[1]+i*halves(w.m, w.n), w.m, w.n)
	if err != nil {
		return 0, err
	}
	step, worst := w.d.cfg.Coefficients.Steps[0], 0.0
	for range elements {
		r, c := rng.IntN(w.m), rng.IntN(w.m)
		var o operand
		switch p {
		case method.Gram:
			o = operand{a.at(r, c), 0, 0, 1, w.n, func(k int) (float64, float64) { return x.at(r, k), x.at(c, k) }}
		case method.Square:
			o = operand{b.at(r, c), a.at(r, c), step[1], step[2], w.m, func(k int) (float64, float64) { return a.at(r, k), a.at(k, c) }}
		default:
			c = rng.IntN(w.n)
			o = operand{out.at(r, c), x.at(r, c), step[0], 1, w.m, func(k int) (float64, float64) { return b.at(r, k), x.at(k, c) }}
		}
		worst = math.Max(worst, o.error())
	}
	return worst, nil
}

// operand is one element got = beta·s + alpha·Σ of so many products.
type operand struct {
	got, s, beta, alpha float64
	depth               int
	pair                func(k int) (float64, float64)
}

func (o operand) error() float64 {
	sum, size := 0.0, 0.0
	for k := range o.depth {
		x, y := o.pair(k)
		sum += x * y
		size += math.Abs(x * y)
	}
	want := o.beta*o.s + o.alpha*sum
	slack := math.Abs(o.alpha)*size*float64(o.depth+4)*0x1p-24 + math.Abs(o.beta*o.s)*0x1p-22
	e := math.Abs(o.got-want) - slack
	switch {
	case math.IsNaN(e):
		return math.Inf(1)
	case e <= 0:
		return 0
	}
	return e / math.Abs(want)
}
