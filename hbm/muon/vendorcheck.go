package muon

import (
	"errors"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"zbench/bench/run/record"
)

// by() returns the words that name the product's maker in the names of checks.
func by(hybrid bool) string {
	if hybrid {
		return "by own triangles and the vendor's product"
	}
	return "by the vendor's products"
}

// checkVendor compares the vendor's Newton–Schulz with float64 at a small shape, since float64
// takes too long at a large one. It also checks each of the vendor's products at full size.
func (d *Driver) checkVendor(t target, hybrid bool) ([]record.Check, error) {
	s := t.runs.Reduced(checkSide)
	s.Rows, s.Cols = max(s.Rows, vendorSide), max(s.Cols, vendorSide)
	small, err := d.NewWork(s)
	if err != nil {
		return nil, err
	}
	exact, err := small.checkVendor(hybrid)
	if err = errors.Join(err, small.Close()); err != nil {
		return nil, err
	}
	w, err := d.enter(t)
	if err != nil {
		return nil, err
	}
	products, err := w.VendorProducts(hybrid)
	return append([]record.Check{exact}, products...), err
}

// checkVendor checks the first and the last matrix. A panel has one tile, so that a small matrix
// has several panels.
func (w *Work) checkVendor(hybrid bool) (record.Check, error) {
	c := record.Check{Shape: w.shape.String(), What: fmt.Sprintf("update %s against float64", by(hybrid))}
	w.panel = 1
	if err := w.Fill(); err != nil {
		return c, err
	}
	if err := w.d.run(append(w.Before(), w.VendorIterate(hybrid)...)...); err != nil {
		return c, err
	}
	for _, i := range w.ends() {
		x, err := w.read(w.x[w.result()]+int64(i)*halves(w.m, w.n), w.m, w.n)
		if err != nil {
			return c, err
		}
		var got mat.Matrix = x.Dense()
		if w.tall() {
			got = got.T()
		}
		c.Nearest(w.deviation(got, w.input(i), true))
	}
	return c, nil
}
