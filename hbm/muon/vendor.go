package muon

import (
	method "zbench/bench/muon"
	"zbench/internal/native"
)

// Vendor is the reason why there is no vendor's product to compare with; nil if there is
// one.
func (d *Driver) Vendor() error { return d.noVendor }

// startVendor makes the vendor's library ready for the stream. That there is none,
// or that it does not start, is no error.
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

// vendorProduct is the vendor's product of the operands of Newton–Schulz step 0,
// without what our epilogue adds. It overwrites what ours would.
func (w *Work) vendorProduct(p method.Product) native.Step {
	m, n, k := p.Dims(w.shape)
	g := native.Gemm{M: m, N: n, K: k, Batch: w.shape.Batch}
	switch p {
	case method.Gram:
		g.C, g.A, g.B = w.at(w.a), w.at(w.x[0]), w.at(w.x[0])
	case method.Square:
		g.C, g.A, g.B = w.at(w.b), w.at(w.a), w.at(w.a)
	default:
		g.C, g.A, g.B = w.at(w.x[1]), w.at(w.b), w.at(w.t[0])
	}
	return w.d.blas.Product(g)
}
