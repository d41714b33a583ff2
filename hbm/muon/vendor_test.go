package muon

import (
	"context"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"zbench/bench/base/stat"
	"zbench/bench/run/plan"
	"zbench/bench/run/record"
	method "zbench/bench/work/muon"
	"zbench/internal/native"
	"zbench/test/longtest"
)

// vendors builds a library of that name with both vendors' functions and gives
// the driver its products.
func vendors(t *testing.T, d *Driver, backend, name string, flags ...string) {
	dir := t.TempDir()
	args := append(slices.Clip(flags), "-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "testdata/blas.c", "-o", filepath.Join(dir, name))
	out, err := exec.Command("cc", args...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	d.blas, d.noVendor = d.p.FindBLAS(native.Choice{Backend: backend, Getenv: func(v string) string {
		return map[string]string{"LD_LIBRARY_PATH": dir}[v]
	}})
	d.startVendor()
	if d.blas != nil && d.kernels["zb_mirror"] == (native.Function{}) {
		require.NoError(t, d.load(mirrorFile))
	}
}

// The vendors' products, by the signatures of their headers, are ours.
func TestVendorProducts(t *testing.T) {
	d := open(t, "keller-jordan")
	require.ErrorIs(t, d.Vendor(), native.ErrUnavailable, "the loopback has none")
	for backend, name := range map[string]string{"rocm": "librocblas.so", "cuda": "libcublas.so.12"} {
		vendors(t, d, backend, name)
		require.NoError(t, d.Vendor())
		require.Equal(t, name, d.blas.Library.Name)
		require.Equal(t, backend == "rocm", strings.HasSuffix(d.vendorName(), ", ROCBLAS_USE_HIPBLASLT=1"), d.vendorName())
		w := work(t, d, 40, 67, 2)
		_, err := w.Check()
		require.NoError(t, err)
		require.NoError(t, d.run(append(w.Before(), w.Product(method.Gram, 0, false)...)...))
		require.NoError(t, d.run(w.Product(method.Square, 0, false)...))
		read := func(offset int64, rows, cols int) *mat.Dense {
			h, err := w.read(offset+halves(rows, cols), rows, cols) // the second of the batch
			require.NoError(t, err)
			return h.Dense()
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

// Newton–Schulz by a vendor's products, all or B·X alone, is float64's, and ours, and its A and B are
// symmetric to the last bit: of both orientations, with edges, in panels of one tile, and
// in launches of two matrices.
func TestLongVendorIteration(t *testing.T) {
	longtest.OnlyOrDetected(t)
	shapes := []method.Shape{{Rows: 128, Cols: 128, Batch: 3}, {Rows: 67, Cols: 70, Batch: 2}, {Rows: 190, Cols: 131, Batch: 1}}
	for backend, name := range map[string]string{"rocm": "librocblas.so", "cuda": "libcublas.so.12"} {
		t.Run(backend, func(t *testing.T) {
			d := open(t, "polar-express")
			d.timed, d.most = true, 2
			vendors(t, d, backend, name)
			for _, s := range shapes {
				w := work(t, d, s.Rows, s.Cols, s.Batch)
				checks, err := w.Check()
				passes(t, checks, err)
				for _, hybrid := range []bool{false, true} {
					v := work(t, d, s.Rows, s.Cols, s.Batch) // with nothing of ours in it
					c, err := v.checkVendor(hybrid)
					passes(t, []record.Check{c}, err)
					v.panel = 1
					products, err := v.VendorProducts(hybrid)
					passes(t, products, err)
					require.Len(t, products, 4, "three products, symmetry")
					t.Logf("%s, hybrid %v: %.2g of %.2g against float64 (ours %.2g of %.2g)", s, hybrid, c.Found.Frobenius, c.Bar.Frobenius,
						checks[0].Found.Frobenius, checks[0].Bar.Frobenius)
				}
			}
		})
	}
}

// What a row says that is executed are the operations of the panels.
func TestPanelledOperations(t *testing.T) {
	d := open(t, "you")
	for _, m := range []int{64, 100, 192, 640} {
		w := work(t, d, m, 700, 1)
		for _, least := range []int{1, 512} {
			w.panel = least
			for _, p := range []method.Product{method.Gram, method.Square} {
				_, _, k := p.Dims(w.shape)
				sum, begin := 0.0, 0
				for _, g := range w.panels(w.matrix(w.a, m, m, 0), w.matrix(w.x[0], m, w.n, 0), k, 1, 1) {
					sum += 2 * float64(g.M) * float64(g.N) * float64(g.K)
					require.Equal(t, begin+g.M, g.N, "as far as the diagonal")
					begin += g.M
				}
				require.Equal(t, m, begin)
				require.InEpsilon(t, p.Panelled(w.shape, least), sum, 1e-15)
			}
		}
	}
}

// rowsOf takes the passes of the shapes' jobs and returns their rows.
func rowsOf(t *testing.T, d *Driver, few bool, shapes ...method.Shape) []record.Kernel {
	t.Helper()
	rows, jobs, err := d.Plan(shapes, few, stat.Fixed(6))
	require.NoError(t, err)
	taken := plan.NewTaken(nil)
	require.NoError(t, taken.Run(context.Background(), jobs, nil, func(int) {}))
	for i, k := range rows {
		rows[i] = record.AssembleKernel(k, taken.Parts[k.Key], nil)
		require.Equal(t, record.OK, rows[i].Status, "%s: %s", k.Key, rows[i].Reason)
	}
	return rows
}

// Every row of a shape, with and without a vendor's product. The times are the
// loopback's, as of a device that is none: what is held is what was launched and what
// is counted.
func TestRows(t *testing.T) {
	d := open(t, "keller-jordan")
	d.batch, d.settle = 0, 0 // one round each: the vendor's takes none of the loopback's time
	d.timed = true
	for _, vendor := range []bool{false, true} {
		if vendor {
			vendors(t, d, "cuda", "libcublas.so.12")
			clear(d.checks) // they were made without
		}
		rows := rowsOf(t, d, false, method.Shape{Rows: 64, Cols: 72, Batch: 2})
		var names []string
		for _, k := range rows {
			names = append(names, method.What(&k))
			require.Equal(t, 6, k.Timing.Seconds.N, "of two passes")
			require.Equal(t, int64(2), k.Shape.Measured)
			alone := k.Role == record.Vendor && k.Kernel != method.Iteration
			require.Equal(t, alone, k.Verified.State == record.NotVerified, k.Key)
			require.Equal(t, !alone, len(k.Verified.Checks) > 0, k.Key)
			if k.Role != record.Vendor { // it takes none of the loopback's time
				require.Positive(t, *k.Metrics.Rate, k.Key)
			}
		}
		want := []string{
			"X·Xᵀ", "X·Xᵀ, every tile", "bA + cA²", "bA + cA², every tile", "aX + BX",
			method.Prepare, "scale, transpose", method.Iteration, "weight update",
		}
		if vendor {
			want = []string{
				"X·Xᵀ", "X·Xᵀ, every tile", "X·Xᵀ, libcublas.so.12", "bA + cA²", "bA + cA², every tile", "bA + cA², libcublas.so.12",
				"aX + BX", "aX + BX, libcublas.so.12", method.Prepare, "scale, transpose", method.Iteration,
				method.Iteration + ", libcublas.so.12", method.Iteration + ", own triangles and libcublas.so.12", "weight update",
			}
		}
		require.Equal(t, want, names)
		seconds := rows[0].Timing.Seconds.Median
		require.InEpsilon(t, 2*2*64*64*72/seconds, *rows[0].Metrics.Effective, 1e-12)
		require.InEpsilon(t, 2*2*64*64*96/seconds, *rows[0].Metrics.Executed, 1e-12)
	}
}

// A library that refuses products costs the row that is made of them, and no other.
func TestVendorFails(t *testing.T) {
	d := open(t, "keller-jordan")
	d.batch, d.settle, d.timed = 0, 0, true
	vendors(t, d, "cuda", "libcublas.so.12", "-DFAILS")
	rows, jobs, err := d.Plan([]method.Shape{{Rows: 64, Cols: 72, Batch: 2}}, false, stat.Fixed(6))
	require.NoError(t, err)
	taken := plan.NewTaken(nil)
	require.NoError(t, taken.Run(context.Background(), jobs, nil, func(int) {}))
	for _, k := range rows {
		k = record.AssembleKernel(k, taken.Parts[k.Key], nil)
		if k.Kernel == method.Iteration && k.Role == record.Vendor {
			require.Equal(t, record.Skipped, k.Status)
			require.Equal(t, "the vendor's matrix product failed on device 0: status 7", k.Reason)
			continue
		}
		require.Equal(t, record.OK, k.Status, "%s: %s", k.Key, k.Reason)
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
