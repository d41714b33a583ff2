package muon

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"zbench/bench/hardware/matrix"
	"zbench/bench/run/record"
	method "zbench/bench/work/muon"
	"zbench/internal/native"
)

// inputs are one matrix's gradient, momentum and weight before a step.
type inputs struct{ gradient, momentum, weight []float32 }

// The constant `different` is the number of matrices with different inputs. The other matrices
// repeat them, because drawing random numbers for a whole model would take longer than everything
// else.
const different = 4

// input() makes the inputs of the i-th matrix: normally distributed numbers, equal for equal seeds.
// They are not zeros, which would draw less power and run faster than training data.
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
	list, err := binary.Append(nil, binary.LittleEndian, w.list)
	if err != nil {
		return err
	}
	return w.d.p.Write(w.at(w.tensors), list)
}

func encode(v []float32) []byte {
	out, _ := binary.Append(nil, binary.LittleEndian, v) // encoding numbers cannot fail
	return out
}

// floatsAt reads n floats at an offset of the arena in bytes.
func (w *Work) floatsAt(offset uint64, n int) ([]float32, error) {
	raw, out := make([]byte, 4*n), make([]float32, n)
	if err := w.d.p.Read(w.at(int64(offset)), raw); err != nil { //nolint:gosec // an offset
		return nil, err
	}
	_, err := binary.Decode(raw, binary.LittleEndian, out)
	return out, err
}

// read reads a bf16 matrix from the device.
func (w *Work) read(offset int64, rows, cols int) (matrix.Half, error) {
	h := matrix.Half{Rows: rows, Cols: cols, Stride: native.MuonPadded(cols), Raw: make([]byte, halves(rows, cols))}
	return h, w.d.p.Read(w.at(offset), h.Raw)
}

// Result returns the update of the i-th matrix, in the weight's orientation.
func (w *Work) Result(i int) (*mat.Dense, error) {
	h, err := w.read(int64(w.list[i].Update), w.shape.Rows, w.shape.Cols) //nolint:gosec // an offset
	return h.Dense(), err
}

// Check runs one step and compares the updates and the weights of the first and the last matrix
// with float64.
func (w *Work) Check() ([]record.Check, error) {
	if err := w.Fill(); err != nil {
		return nil, err
	}
	if err := w.d.run(w.Step()...); err != nil {
		return nil, err
	}
	update := record.Check{Shape: w.shape.String(), What: checkedUpdate}
	weight := record.Check{Shape: w.shape.String(), What: checkedWeight, Bar: record.Deviation{Frobenius: 1e-5, Max: 1e-5}}
	for _, i := range w.ends() {
		got, err := w.Result(i)
		if err != nil {
			return nil, err
		}
		in := w.input(i)
		update.Nearest(w.deviation(got, in, false))
		after, err := w.floatsAt(w.list[i].Weight, w.shape.Rows*w.shape.Cols)
		if err != nil {
			return nil, err
		}
		weight.Worst(in.weightError(after, got, w.shape))
	}
	return []record.Check{update, weight}, nil
}

// ends() returns the first and the last matrix.
func (w *Work) ends() []int { return slices.Compact([]int{0, w.shape.Batch - 1}) }

// deviation compares an update with float64 on the same inputs. It returns the deviation and the
// tolerance.
func (w *Work) deviation(update mat.Matrix, of inputs, folded bool) (found, bar record.Deviation) {
	exact, bar := method.Expect(of.nesterov(w.shape), w.d.cfg.Coefficients, folded)
	return method.Compare(update, exact), bar
}

// nesterov returns the matrix to orthogonalise, in float64.
func (in inputs) nesterov(s method.Shape) *mat.Dense {
	u := mat.NewDense(s.Rows, s.Cols, nil)
	for i, g := range in.gradient {
		m := float64(in.momentum[i])
		m += (1 - Momentum) * (float64(g) - m)
		u.Set(i/s.Cols, i%s.Cols, float64(g)+Momentum*(m-float64(g)))
	}
	return u
}

// weightError returns the deviation of the new weights from float64, given the update.
func (in inputs) weightError(after []float32, update *mat.Dense, s method.Shape) record.Deviation {
	got, want := mat.NewDense(s.Rows, s.Cols, nil), mat.NewDense(s.Rows, s.Cols, nil)
	for i, v := range after {
		got.Set(i/s.Cols, i%s.Cols, float64(v))
		want.Set(i/s.Cols, i%s.Cols, (1-Rate*Decay)*float64(in.weight[i])-Rate*s.Scale()*update.At(i/s.Cols, i%s.Cols))
	}
	return method.Compare(got, want)
}
