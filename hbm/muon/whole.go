package muon

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"

	"zbench/bench/hardware/matrix"
	"zbench/bench/run/record"
	method "zbench/bench/work/muon"
	"zbench/internal/native"
)

// maker is one implementation of Newton–Schulz. The function `launches` returns the launches of a
// product in a step. The function `name` returns the name of the product's checks.
type maker struct {
	launches func(p method.Product, step int) []native.Step
	name     func(p method.Product) string
	vendor   bool
	// elements is the number of elements that are checked one by one in each product of the first
	// step; 0 checks none.
	elements int
}

// Products runs the steps of Newton–Schulz product by product at the measured size. It checks the
// inputs first, then compares each whole product of the first and the last matrix with its
// operands.
func (w *Work) Products(elements int) ([]record.Check, error) {
	before, err := w.before()
	if err != nil {
		return nil, err
	}
	products, err := w.wholes(maker{
		launches: func(p method.Product, i int) []native.Step { return w.Product(p, i, false) },
		name:     method.Product.String, elements: elements,
	}, len(w.d.cfg.Coefficients.Steps), method.Products())
	return append(before, products...), err
}

// EveryTile does the same as Products for the first step, with our own kernel that ignores
// symmetry. The other kernels are compared with it.
func (w *Work) EveryTile(elements int) ([]record.Check, error) {
	if err := w.d.run(w.Before()...); err != nil {
		return nil, err
	}
	return w.wholes(maker{
		launches: func(p method.Product, i int) []native.Step { return w.Product(p, i, true) },
		name:     func(p method.Product) string { return p.String() + method.EveryTile }, elements: elements,
	}, 1, []method.Product{method.Gram, method.Square})
}

// VendorProducts does the same as Products for the vendor's products.
func (w *Work) VendorProducts(hybrid bool) ([]record.Check, error) {
	if err := w.d.run(w.Before()...); err != nil {
		return nil, err
	}
	return w.wholes(maker{
		launches: func(p method.Product, i int) []native.Step { return w.vendorMake(p, i, hybrid) }, vendor: true,
		name: func(p method.Product) string { return p.String() + " " + by(hybrid) },
	}, len(w.d.cfg.Coefficients.Steps), method.Products())
}

func (w *Work) wholes(m maker, steps int, products []method.Product) ([]record.Check, error) {
	var checks []record.Check
	rng := rand.New(rand.NewPCG(w.d.cfg.Seed, 99)) //nolint:gosec // test data
	for i := range steps {
		for _, p := range products {
			found, err := w.whole(m, p, i, rng)
			if err != nil {
				return nil, err
			}
			checks = append(checks, found...)
		}
	}
	return mergeRepeats(checks), nil
}

// whole() makes one product and checks it. It overwrites the old content first, so that a part that
// was not written is found.
func (w *Work) whole(m maker, p method.Product, step int, rng *rand.Rand) ([]record.Check, error) {
	check := func(what string, most record.Deviation) record.Check {
		return record.Check{Shape: w.shape.String(), What: what, Bar: most}
	}
	all := check(whole(m.name(p)), record.Deviation{Frobenius: 1, Max: 1})
	mirrored := check(checkedSymmetry, record.Deviation{})
	if !p.Symmetric() {
		mirrored.What = checkedTranspose
	}
	some := check(sampled(m.name(p), m.elements), record.Deviation{Max: 0x1p-8})
	if err := w.spoil(p, step, m.vendor); err != nil {
		return nil, err
	}
	if err := w.d.run(m.launches(p, step)...); err != nil {
		return nil, err
	}
	for _, k := range w.ends() {
		c, differ, err := w.claim(p, step, k, m.vendor)
		if err != nil {
			return nil, err
		}
		mirrored.Worst(record.Deviation{Max: float64(differ)})
		if found := c.Check(rng); found.RMS > all.Found.Frobenius || found.Max > all.Found.Max {
			all.Worst(record.Deviation{Frobenius: found.RMS, Max: found.Max})
			if err := w.explain(&all, m, p, step, k, c, found); err != nil {
				return nil, err
			}
		}
		if m.elements > 0 {
			some.Worst(record.Deviation{Max: c.Sample(rng, m.elements)})
		}
	}
	checks := []record.Check{all}
	if !m.vendor || p.Symmetric() {
		checks = append(checks, mirrored)
	}
	if step == 0 && m.elements > 0 {
		checks = append(checks, some)
	}
	return checks, nil
}

// explain describes where the errors of a failed product are. It repeats the product to see whether
// the errors recur.
func (w *Work) explain(c *record.Check, m maker, p method.Product, step, k int, claim *matrix.Claim, found matrix.Residuals) error {
	if found.OK() {
		return nil
	}
	wrong := claim.Wrong(found)
	c.Pattern, c.Note = patternOf(wrong), fmt.Sprintf("step %d, matrix %d: %s", step+1, k, wrong.Text())
	if err := w.d.run(m.launches(p, step)...); err != nil {
		return err
	}
	again, _, err := w.claim(p, step, k, m.vendor)
	if err == nil && !bytes.Equal(again.C.Raw, claim.C.Raw) {
		c.Pattern = record.PatternUnstable
		c.Note += "; made again of the same operands, the product has other bits"
	}
	return err
}

func patternOf(w matrix.Wrong) string {
	switch {
	case w.Isolated():
		return record.PatternIsolated
	case w.Elements > 0:
		return record.PatternTiles
	}
	return record.PatternRounding
}

// spoil fills the outputs of a step's product with NaN for the first and the last matrix.
func (w *Work) spoil(p method.Product, step int, vendor bool) error {
	fill := func(array int64, rows, cols int) error {
		for _, k := range w.ends() {
			each := halves(rows, cols)
			if err := w.d.p.Write(w.at(array+int64(k)*each), bytes.Repeat([]byte{0xff}, int(each))); err != nil {
				return err
			}
		}
		return nil
	}
	switch to := turn(step + 1); p {
	case method.Gram:
		return fill(w.a, w.m, w.m)
	case method.Square:
		return fill(w.b, w.m, w.m)
	default:
		if vendor {
			return fill(w.x[to], w.m, w.n)
		}
		return errors.Join(fill(w.x[to], w.m, w.n), fill(w.t[to], w.n, w.m))
	}
}

// claim reads back the product of a step for the k-th matrix, with its operands. The result
// `differ` is the number of elements that differ from their mirror image, or from the separately
// written transpose.
func (w *Work) claim(p method.Product, step, k int, vendor bool) (c *matrix.Claim, differ int, err error) {
	read := func(array int64, rows, cols int) (h matrix.Half) {
		if err == nil {
			h, err = w.read(array+int64(k)*halves(rows, cols), rows, cols)
		}
		return h
	}
	defer func() { c.Split = vendor }()
	factors, from, to := w.d.cfg.Coefficients.Steps[step], turn(step), turn(step+1)
	switch p {
	case method.Gram:
		x := read(w.x[from], w.m, w.n)
		c = &matrix.Claim{C: read(w.a, w.m, w.m), A: x, B: x, Alpha: 1}
	case method.Square:
		a := read(w.a, w.m, w.m)
		c = &matrix.Claim{C: read(w.b, w.m, w.m), A: a, B: a, S: &a, Alpha: factors[2], Beta: factors[1]}
		if vendor {
			c.Shift, c.Parted = factors[0], true
		}
	default:
		x := read(w.x[from], w.m, w.n)
		c = &matrix.Claim{C: read(w.x[to], w.m, w.n), A: read(w.b, w.m, w.m), Alpha: 1}
		if vendor {
			c.B = x.Transposed()
			return c, 0, err
		}
		c.B, c.S, c.Beta = read(w.t[from], w.n, w.m), &x, factors[0]
		return c, c.C.NotTransposeOf(read(w.t[to], w.n, w.m)), err
	}
	return c, c.C.NotTransposeOf(c.C) / 2, err
}
