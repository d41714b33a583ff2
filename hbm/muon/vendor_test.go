package muon

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	method "zbench/bench/muon"
	"zbench/bench/stat"
	"zbench/internal/native"
)

// vendors builds a library of that name with both vendors' functions and gives
// the driver its products.
func vendors(t *testing.T, d *Driver, backend, name string, flags ...string) {
	dir := t.TempDir()
	args := append(slices.Clip(flags), "-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "testdata/blas.c", "-o", filepath.Join(dir, name))
	out, err := exec.Command("cc", args...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	d.blas, d.noVendor = d.p.FindBLAS(native.Options{Backend: backend, Getenv: func(v string) string {
		return map[string]string{"LD_LIBRARY_PATH": dir}[v]
	}})
	d.startVendor()
}

// The vendors' products, by the signatures of their headers, are ours.
func TestVendorProducts(t *testing.T) {
	d := open(t, "keller-jordan")
	require.ErrorIs(t, d.Vendor(), native.ErrUnavailable, "the loopback has none")
	for backend, name := range map[string]string{"rocm": "librocblas.so", "cuda": "libcublas.so.12"} {
		vendors(t, d, backend, name)
		require.NoError(t, d.Vendor())
		require.Equal(t, name, d.blas.Library.Name)
		require.Equal(t, backend == "rocm", strings.HasSuffix(d.vendorText(), ", ROCBLAS_USE_HIPBLASLT=1"), d.vendorText())
		w := work(t, d, 40, 67, 2)
		_, err := w.Check()
		require.NoError(t, err)
		require.NoError(t, d.run(append(w.Before(), w.Product(method.Gram, 0, false)...)...))
		require.NoError(t, d.run(w.Product(method.Square, 0, false)...))
		read := func(offset int64, rows, cols int) *mat.Dense {
			h, err := w.read(offset+halves(rows, cols), rows, cols) // the second of the batch
			require.NoError(t, err)
			return h.dense()
		}
		gram := read(w.a, 40, 40)
		require.NoError(t, d.run(w.vendorProduct(method.Gram)))
		require.Less(t, method.Compare(read(w.a, 40, 40), gram).Frobenius, 1e-3)
		b, x := read(w.b, 40, 40), read(w.x[0], 40, 67)
		var want mat.Dense
		want.Mul(b, x)
		require.NoError(t, d.run(w.vendorProduct(method.Apply)))
		require.Less(t, method.Compare(read(w.x[1], 40, 67), &want).Frobenius, 4e-3)
		d.blas.Close()
	}
}

// Every row that a report has, with and without a vendor's product. The times
// are the loopback's: what is held is what was launched and what is counted.
func TestMeasureRows(t *testing.T) {
	d := open(t, "keller-jordan")
	d.batch, d.settle = 1e-5, 2e-5 // of the loopback's time
	for _, vendor := range []bool{false, true} {
		if vendor {
			vendors(t, d, "cuda", "libcublas.so.12")
		}
		w := work(t, d, 16, 24, 2)
		require.NoError(t, w.Fill())
		f, err := w.Measure(stat.Fixed(3))
		require.NoError(t, err)
		var names []string
		for _, r := range f.Rows {
			names = append(names, r.What)
			require.Equal(t, 3, r.Samples)
			if !strings.Contains(r.What, "cublas") { // it takes none of the loopback's time
				require.Positive(t, *r.Seconds, r.What)
				require.Positive(t, *r.Rate, r.What)
			}
		}
		want := []string{
			"X·Xᵀ", "X·Xᵀ, every tile", "bA + cA²", "bA + cA², every tile", "aX + BX",
			method.Prepare, "scale, transpose", method.Iteration, "weight update",
		}
		if vendor {
			want = []string{
				"X·Xᵀ", "X·Xᵀ, every tile", "X·Xᵀ, libcublas.so.12", "bA + cA²", "bA + cA², every tile", "bA + cA², libcublas.so.12",
				"aX + BX", "aX + BX, libcublas.so.12", method.Prepare, "scale, transpose", method.Iteration, "weight update",
			}
		}
		require.Equal(t, want, names)
		require.NotNil(t, f.Rows[0].ToFull)
		require.Equal(t, vendor, f.Rows[0].ToVendor != nil)
		seconds := *f.Rows[0].Seconds
		require.InEpsilon(t, 2*2*16*16*24/seconds, *f.Rows[0].Effective, 1e-12)
		require.InEpsilon(t, 2*2*64*64*32/seconds, *f.Rows[0].Executed, 1e-12)
	}
}

// A library that lacks a function says which, one that is not there where it was
// looked for.
func TestVendorMissing(t *testing.T) {
	d := open(t, "you")
	vendors(t, d, "rocm", "librocblas.so", "-Drocblas_set_stream=other")
	require.ErrorContains(t, d.Vendor(), "lacks rocblas_set_stream")
	require.ErrorIs(t, d.Vendor(), native.ErrUnavailable)
	vendors(t, d, "rocm", "libother.so")
	require.ErrorContains(t, d.Vendor(), "library not found: librocblas.so")
}
