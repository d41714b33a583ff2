package muon

import (
	"errors"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	method "zbench/bench/muon"
	"zbench/bench/record"
)

// checkVendor holds Newton–Schulz by the vendor's products against float64, at a shape
// that float64 can follow and that it is offered for, and against ours.
func (d *Driver) checkVendor(t target) ([]record.Check, error) {
	s := t.runs.Reduced(checkSide)
	s.Rows, s.Cols = max(s.Rows, vendorSide), max(s.Cols, vendorSide)
	small, err := d.NewWork(s)
	if err != nil {
		return nil, err
	}
	exact, err := small.checkVendor()
	if err = errors.Join(err, small.Close()); err != nil {
		return nil, err
	}
	w, err := d.enter(t)
	if err != nil {
		return nil, err
	}
	ours, err := w.checkVendorAgainstOurs()
	return []record.Check{exact, ours}, err
}

// checkVendor is of the first and the last matrix. The panels are of one tile, so that
// there are several.
func (w *Work) checkVendor() (record.Check, error) {
	c := record.Check{Shape: w.shape.String(), What: checkedVendor, Bar: method.Tolerance}
	w.panel = 1
	if err := w.Fill(); err != nil {
		return c, err
	}
	if err := w.d.run(append(w.Before(), w.VendorIterate()...)...); err != nil {
		return c, err
	}
	for _, i := range []int{0, w.shape.Batch - 1} {
		x, err := w.read(w.x[w.result()]+int64(i)*halves(w.m, w.n), w.m, w.n)
		if err != nil {
			return c, err
		}
		var got mat.Matrix = x.dense()
		if w.tall() {
			got = got.T()
		}
		c.Worst(w.deviation(got, w.input(i)))
	}
	return c, nil
}

// checkVendorAgainstOurs holds it against our own result where float64 would take too
// long: random rows of the first and the last matrix. Each may be off by the tolerance.
func (w *Work) checkVendorAgainstOurs() (record.Check, error) {
	c := record.Check{
		Shape: w.shape.String(), What: checkedOurs,
		Bar: record.Deviation{Frobenius: 2 * method.Tolerance.Frobenius, Max: 2 * method.Tolerance.Max},
	}
	if err := w.d.run(append(w.Before(), w.Iterate()...)...); err != nil {
		return c, err
	}
	ours, err := w.someRows()
	if err != nil {
		return c, err
	}
	if err := w.d.run(w.VendorIterate()...); err != nil {
		return c, err
	}
	theirs, err := w.someRows()
	if err != nil {
		return c, err
	}
	for i := range ours {
		c.Worst(method.Compare(theirs[i], ours[i]))
	}
	return c, nil
}

// someRows takes up to checkElements rows of the first and of the last result, the same
// each time, and leaves zeros there: what is not made again differs.
func (w *Work) someRows() ([]*mat.Dense, error) {
	var out []*mat.Dense
	rng := rand.New(rand.NewPCG(w.d.cfg.Seed, 98)) //nolint:gosec // test data
	rows := rng.Perm(w.m)[:min(w.m, checkElements)]
	for _, i := range []int{0, w.shape.Batch - 1} {
		some := mat.NewDense(len(rows), w.n, nil)
		for k, row := range rows {
			at := w.x[w.result()] + int64(i)*halves(w.m, w.n) + int64(row)*halves(1, w.n)
			h, err := w.read(at, 1, w.n)
			if err != nil {
				return nil, err
			}
			some.SetRow(k, h.dense().RawRowView(0))
			if err := w.d.p.Write(w.at(at), make([]byte, len(h.raw))); err != nil {
				return nil, err
			}
		}
		out = append(out, some)
	}
	return out, nil
}
