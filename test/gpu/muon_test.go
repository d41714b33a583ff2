package gpu

import (
	"fmt"
	"testing"

	"zbench/bench/muon"
)

// collect runs zbench's Muon and torch by turns; of takes what matters of the rows.
func collect(t *testing.T, n int, shapes, cases []string, of func(map[string][]muon.Row)) map[string]*turns {
	t.Helper()
	ctx := within(t)
	return alternate(
		ctx, n,
		side{ourName, func(map[string]string) (figures, error) {
			rows, err := muonRows(ctx, t, shapes...)
			if err != nil {
				return nil, err
			}
			of(rows)
			f := figures{}
			for s, list := range rows {
				for _, r := range list {
					if r.Seconds != nil {
						f[r.What+" "+s] = *r.Seconds
					}
				}
			}
			return f, nil
		}},
		torch(ctx, t, cases...),
	)
}

// The symmetric product: our full kernel against the vendor's, the symmetric one
// against our full one, and against the vendor's and torch's.
func TestGPUProducts(t *testing.T) {
	zbenchHere(t)
	shapes, cases := []string{"4096x4096", "8192x8192"}, []string{"product:4096", "product:8192"}
	full, triangle, vendor := map[string][]float64{}, map[string][]float64{}, map[string][]float64{}
	gram := muon.Gram.String()
	all := collect(t, min(3, alternations(t)), shapes, cases, func(rows map[string][]muon.Row) {
		for s, list := range rows {
			keep(full, s, row(list, gram+", every tile").ToVendor)
			keep(triangle, s, row(list, gram).ToFull)
			keep(vendor, s, row(list, gram).ToVendor)
		}
	})
	ours := all[ourName]
	for i, s := range shapes {
		name, work := "product bf16 "+s, 2*cube([]float64{4096, 8192}[i])
		for _, f := range []finding{
			ratios(name, "our full kernel to the vendor's", ours, gram+", every tile "+s, full[s], 0.45, 0),
			ratios(name, "symmetric to our full kernel", ours, gram+" "+s, triangle[s], 1.6, 0),
			ratios(name, "symmetric to the vendor's", ours, gram+" "+s, vendor[s], 0, 1),
			against(name, "torch mm", ours, all["torch"], gram+" "+s, "mm "+cases[i], 0, 1),
		} {
			add(t, f.doing(work, "FLOP/s"))
		}
	}
}

// Newton–Schulz of batches, against the same products by torch's bmm alone, and
// with the sums that make an iteration of them.
func TestGPUNewtonSchulz(t *testing.T) {
	zbenchHere(t)
	shapes := []string{"2048x2048x16", "2048x2048x32", "2048x2048x64"}
	cases := []string{"products:16x2048x2048", "products:32x2048x2048", "products:64x2048x2048"}
	all := collect(t, min(3, alternations(t)), shapes, cases, func(map[string][]muon.Row) {})
	for i, s := range shapes {
		for _, p := range []struct {
			peer        string
			bar, target float64
		}{{"bmm", 0.9, 1.3}, {"iteration", 0, 1}} {
			f := against(muon.Iteration+" "+s, "torch "+p.peer, all[ourName], all["torch"], muon.Iteration+" "+s, p.peer+" "+cases[i], p.bar, p.target)
			add(t, f.doing(float64(int(16)<<i)*5*3*2*cube(2048), "FLOP/s"))
		}
	}
}

// The pass over memory before it, over many tensors: against a copy and foreach.
func TestGPUPrepare(t *testing.T) {
	zbenchHere(t)
	const shape, pass, many = "1024x2048x208", muon.Prepare, "prepare:208x1024x2048"
	ctx := within(t)
	var ofCopy []float64
	all := collect(t, min(3, alternations(t)), []string{shape}, []string{many}, func(rows map[string][]muon.Row) {
		s, err := streams(ctx, t, sizeOfArray(t), "copy")
		if r := row(rows[shape], pass); err == nil && r.Rate != nil {
			ofCopy = append(ofCopy, *r.Rate/s.copy)
		}
	})
	ours := all[ourName]
	const bytes = 208 * 1024 * 2048 * 14
	add(t, ratios(pass+" of 208 tensors", "of our copy's rate", ours, pass+" "+shape, ofCopy, 0.85, 0).doing(bytes, "B/s"))
	add(t, against(pass+" of 208 tensors", "torch foreach", ours, all["torch"], pass+" "+shape, "foreach "+many, 1.5, 0).doing(bytes, "B/s"))
}

func cube(n float64) float64 { return n * n * n }

func keep(m map[string][]float64, s string, v *float64) {
	if v != nil {
		m[s] = append(m[s], *v)
	}
}

// ratios is a finding of ratios that zbench's own records have, one a turn.
func ratios(name, what string, ours *turns, ourCase string, v []float64, bar, target float64) finding {
	f := against(name, what, ours, ours, ourCase, ourCase, bar, target)
	f.peer, f.ratios, f.missing = 0, v, ""
	if len(v) < ours.asked {
		f.missing = fmt.Sprintf("%d of %d turns have what it is compared with", len(v), ours.asked)
	}
	return f
}
