package muon

import (
	"zbench/bench/base/slice"
	method "zbench/bench/work/muon"
	"zbench/internal/native"
)

// Vendor returns the reason why there is no vendor's product for comparison, or nil if there is
// one.
func (d *Driver) Vendor() error { return d.noVendor }

// startVendor prepares the vendor's library for the stream. A library that is missing, or does
// not start, is no error.
func (d *Driver) startVendor() {
	if d.blas == nil {
		return
	}
	if d.noVendor = d.blas.Start(d.stream); d.noVendor != nil {
		d.blas.Close()
		d.blas = nil
	}
}

// VendorText names the library, or the reason why there is none.
func (d *Driver) VendorText() string {
	if d.Emulated() {
		return "none: emulated"
	}
	return d.vendorName()
}

func (d *Driver) vendorName() string {
	if d.noVendor != nil {
		return d.noVendor.Error()
	}
	if setting := d.blas.Setting(); setting != "" {
		return d.blas.Library.Path + ", " + setting
	}
	return d.blas.Library.Path
}

// vendorSide is the shortest side of a matrix for VendorIterate. VendorIterate adds the coefficient
// `a` to the diagonal before the rounding to bf16. That makes the rounding coarser: the result is
// off by 2.2 % at 64 rows, and by 5 % at 9 rows.
const vendorSide = 64

// matrix returns a batch of bf16 matrices, without the matrices before `first`.
func (w *Work) matrix(offset int64, rows, cols, first int) native.Matrix {
	each := halves(rows, cols)
	return native.Matrix{At: w.at(offset + int64(first)*each), Row: native.MuonPadded(cols), Each: int(each / 2)}
}

// from() returns the matrices without their rows before `row`.
func from(m native.Matrix, row int) native.Matrix {
	m.At.Offset += 2 * int64(row) * int64(m.Row)
	return m
}

// vendorProduct returns the vendor's product of the operands of Newton–Schulz step 0, without
// the additions of our own kernel. It overwrites the result of our own product.
func (w *Work) vendorProduct(p method.Product) native.Step {
	m, n, k := p.Dims(w.shape)
	g := native.Gemm{M: m, N: n, K: k, Batch: w.shape.Batch, Alpha: 1}
	a, b, x := w.matrix(w.a, m, w.m, 0), w.matrix(w.b, m, w.m, 0), w.matrix(w.x[0], w.m, w.n, 0)
	switch p {
	case method.Gram:
		g.C, g.A, g.B = a, x, x
	case method.Square:
		g.C, g.A, g.B = b, a, a
	default:
		g.C, g.A, g.B = w.matrix(w.x[1], w.m, w.n, 0), b, w.matrix(w.t[0], w.n, w.m, 0)
	}
	return w.d.blas.Product(g)
}

// VendorIterate runs all of Newton–Schulz by the vendor's products, which do not use symmetry. X·Xᵀ
// and c·A² are computed in panels of rows up to the diagonal, and zb_mirror fills in the other
// half. zb_mirror also adds b·A and a·I to c·A², so that X = (aI + bA + cA²)·X needs no other sum.
// The result is wide; a caller that needs a tall matrix transposes it. If hybrid is true, our own
// triangle kernels compute X·Xᵀ and c·A².
func (w *Work) VendorIterate(hybrid bool) []native.Step {
	var steps []native.Step
	for i := range w.d.cfg.Coefficients.Steps {
		for _, p := range method.Products() {
			steps = append(steps, w.vendorMake(p, i, hybrid)...)
		}
	}
	return steps
}

// vendorMake returns the launches of one product in step i of VendorIterate.
func (w *Work) vendorMake(p method.Product, i int, hybrid bool) []native.Step {
	var steps []native.Step
	multiply := func(all ...native.Gemm) { steps = append(steps, slice.Map(all, w.d.blas.Product)...) }
	c := w.d.cfg.Coefficients.Steps[i]
	if hybrid && p.Symmetric() {
		steps = w.product(p, i, [3]float64{2: c[2]}, false)
	}
	for first := 0; first < w.shape.Batch; first += w.d.most {
		batch := min(w.d.most, w.shape.Batch-first)
		a, b := w.matrix(w.a, w.m, w.m, first), w.matrix(w.b, w.m, w.m, first)
		x := w.matrix(w.x[turn(i)], w.m, w.n, first)
		switch {
		case p == method.Gram && hybrid:
		case p == method.Gram:
			multiply(w.panels(a, x, w.n, batch, 1)...)
			steps = append(steps, w.mirror(a, uint64(0), 0, 0, batch))
		case p == method.Square:
			if !hybrid {
				multiply(w.panels(b, a, w.m, batch, c[2])...)
			}
			steps = append(steps, w.mirror(b, a.At, c[1], c[0], batch))
		default:
			to := w.matrix(w.x[turn(i+1)], w.m, w.n, first)
			n := w.n
			if hybrid { // Our kernels read the zeros that pad each row. Multiplying the padding too pads the result with zeros.
				n = x.Row
			}
			multiply(native.Gemm{C: to, A: b, B: x, M: w.m, N: n, K: w.m, Batch: batch, Alpha: 1, Plain: true})
		}
	}
	return steps
}

// panels returns the products that compute c = alpha·y·yᵀ on and below the diagonal.
func (w *Work) panels(c, y native.Matrix, depth, batch int, alpha float64) []native.Gemm {
	var all []native.Gemm
	begin := 0
	for _, end := range method.Panels(w.m, w.panel) {
		all = append(all, native.Gemm{
			C: from(c, begin), A: from(y, begin), B: y, M: end - begin, N: end, K: depth, Batch: batch, Alpha: float32(alpha),
		})
		begin = end
	}
	return all
}

// mirror computes the symmetric matrix c + beta·s + shift·I from the lower half of c. The matrix s
// is not used if beta and shift are 0.
func (w *Work) mirror(c native.Matrix, s any, beta, shift float64, batch int) native.Step {
	blocks := method.Gram.Blocks(w.shape, native.MuonTile, false)
	return w.step("zb_mirror", blocks, batch, 4*w.d.wave, c.At, s, float32(beta), float32(shift), uint32(w.m)) //nolint:gosec // a side
}
