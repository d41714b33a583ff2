package gpu

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"zbench/bench/run/record"
	"zbench/bench/work/muon"
)

// collect runs zbench's Muon and torch by turns; of takes what matters of the rows.
func collect(t *testing.T, n int, shapes, cases []string, of func(map[string][]record.Kernel)) map[string]*turns {
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
			return muonFigures(rows), nil
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
	all := collect(t, alternations(t), shapes, cases, func(rows map[string][]record.Kernel) {
		for s, list := range rows {
			keep(full, s, row(list, gram+muon.EveryTile).Metrics.ToVendor)
			keep(triangle, s, row(list, gram).Metrics.ToFull)
			keep(vendor, s, row(list, gram).Metrics.ToVendor)
		}
	})
	ours := all[ourName]
	for i, s := range shapes {
		name, work := "product bf16 "+s, muon.Gram.Effective(shape(t, s))
		for _, f := range []finding{
			ratios(name, "our full kernel to the vendor's", ours, gram+muon.EveryTile+" "+s, full[s], 0.45, 0),
			ratios(name, "symmetric to our full kernel", ours, gram+" "+s, triangle[s], 1.6, 0),
			ratios(name, "symmetric to the vendor's", ours, gram+" "+s, vendor[s], 0, 1),
			against(name, "torch mm", ours, all["torch"], gram+" "+s, "mm "+cases[i], 0, 1),
		} {
			add(t, f.doing(work, "FLOP/s"))
		}
	}
}

// How Newton–Schulz is made: by our products, by the vendor's, and the better of both.
const (
	byVendor = muon.Iteration + " by the vendor's products"
	better   = muon.Iteration + ", the better way"
)

// muonFigures are the seconds of rows by what they are of and the shape.
func muonFigures(rows map[string][]record.Kernel) figures {
	f := figures{}
	for s, list := range rows {
		for _, r := range list {
			if r.Timing == nil {
				continue
			}
			what, seconds := muon.What(&r), r.Timing.Seconds.Median
			if r.Kernel == muon.Iteration {
				if r.Role == record.Vendor {
					what = byVendor
				}
				if best, ok := f[better+" "+s]; !ok || seconds < best {
					f[better+" "+s] = seconds
				}
			}
			f[what+" "+s] = seconds
		}
	}
	return f
}

// Newton–Schulz of batches, by our products and by the vendor's, against the same products
// by torch's bmm alone, and with the sums that make an iteration of them.
func TestGPUNewtonSchulz(t *testing.T) {
	zbenchHere(t)
	shapes, cases := []string{"2048x2048x16"}, []string{"products:16x2048x2048"}
	all := collect(t, alternations(t), shapes, cases, func(map[string][]record.Kernel) {})
	steps := float64(len(muon.Sets()[0].Steps)) // as many as zbench makes by default, and peers.py
	for i, s := range shapes {
		of, work := shape(t, s), 0.0
		for _, p := range muon.Products() {
			work += steps * p.Effective(of) * float64(of.Batch)
		}
		for _, p := range []struct {
			way, peer   string
			bar, target float64
		}{{better, "bmm", 1, 1.3}, {better, "iteration", 0, 1}, {muon.Iteration, "bmm", 0, 0}, {byVendor, "bmm", 0, 0}} {
			f := against(p.way+" "+s, "torch "+p.peer, all[ourName], all["torch"], p.way+" "+s, p.peer+" "+cases[i], p.bar, p.target)
			if _, ours := all[ourName].have(muon.Iteration + " " + s); p.way == byVendor && ours == "" && f.failed != "" {
				f.missing, f.failed = "no product of a vendor's library", ""
			}
			add(t, f.doing(work, "FLOP/s"))
		}
	}
}

// The pass over memory before it, over many tensors: against a copy and foreach.
func TestGPUPrepare(t *testing.T) {
	zbenchHere(t)
	const tensors, pass, many = "1024x2048x208", muon.Prepare, "prepare:208x1024x2048"
	ctx := within(t)
	var ofCopy []float64
	all := collect(t, alternations(t), []string{tensors}, []string{many}, func(rows map[string][]record.Kernel) {
		s, err := streams(ctx, t, sizeOfArray(t), "copy")
		if r := row(rows[tensors], pass); err == nil && r.Metrics.Rate != nil {
			ofCopy = append(ofCopy, *r.Metrics.Rate/s.copy)
		}
	})
	ours := all[ourName]
	of := shape(t, tensors)
	prepare, _, _ := muon.StepTraffic(of, 4)
	bytes := prepare.Moved * float64(of.Batch)
	add(t, ratios(pass+" of 208 tensors", "of our copy's rate", ours, pass+" "+tensors, ofCopy, 0.85, 0).doing(bytes, "B/s"))
	add(t, against(pass+" of 208 tensors", "torch foreach", ours, all["torch"], pass+" "+tensors, "foreach "+many, 1.5, 0).doing(bytes, "B/s"))
}

// shape is one that was written here.
func shape(t *testing.T, text string) muon.Shape {
	t.Helper()
	s, err := muon.ParseShape(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func keep(m map[string][]float64, s string, v *float64) {
	if v != nil {
		m[s] = append(m[s], *v)
	}
}

// ratios is a finding of ratios that zbench's own records have, one a turn.
func ratios(name, what string, ours *turns, ourCase string, v []float64, bar, target float64) finding {
	f := against(name, what, ours, ours, ourCase, ourCase, bar, target)
	f.peer, f.ratios, f.missing = 0, v, ""
	if len(v) == 0 {
		f.missing = "no turn has what it is compared with"
	}
	return f
}

// muonRows are a shape's rows, seconds by what they are of; a check that failed is
// an error.
func muonRows(ctx context.Context, t *testing.T, shapes ...string) (map[string][]record.Kernel, error) {
	t.Helper()
	args := []string{"kernels", "muon", "--max-time", "0.1"}
	for _, s := range shapes {
		args = append(args, "--shape", s)
	}
	rec, err := measured(ctx, t, args...)
	if err != nil {
		return nil, err
	}
	ranWith(rec.Source.Vendor)
	rows := map[string][]record.Kernel{}
	for _, k := range rec.Kernels {
		if k.Role == record.Vendor && k.Status == record.Skipped {
			continue // its library has no such product: what lacks it says so
		}
		if k.Status != record.OK {
			return nil, fmt.Errorf("%s: %s: %s", k.Key, k.Status, k.Reason)
		}
		s := muon.ShapeOf(&k).String()
		rows[s] = append(rows[s], k)
	}
	if len(rows) != len(shapes) {
		return nil, fmt.Errorf("%d of %d shapes", len(rows), len(shapes))
	}
	return rows, nil
}

// row is a shape's row by what it begins with.
func row(rows []record.Kernel, what string) record.Kernel {
	for _, r := range rows {
		if strings.HasPrefix(muon.What(&r), what) && r.Timing != nil {
			return r
		}
	}
	return record.Kernel{}
}
