package muon

import (
	"errors"
	"fmt"

	"zbench/bench/base/stat"
	"zbench/bench/base/unit"
	"zbench/bench/run/plan"
	"zbench/bench/run/record"
	method "zbench/bench/work/muon"
	"zbench/hbm"
	"zbench/internal/native"
)

// mostBatch is how many equal matrices of a model are measured at once. The time of more matrices
// is proportional. A layer has 16 experts.
const mostBatch = 16

// target is a requested shape and the shape that runs. The shape that runs has fewer matrices if a
// model has too many matrices, and smaller sides if the kernels are emulated.
type target struct{ of, runs method.Shape }

// entry is one row of a shape. Its figures are per matrix.
type entry struct {
	kernel, role, library string
	// bytes is the minimum traffic of a launch; `set` is the size of its data, in bytes.
	effective, executed, bytes, set float64
	steps                           func(*Work) []native.Step
	// If `fresh` is true, every launch of the entry runs on the result of Before, because its own
	// output is no valid input. If `unscaled` is true, the entry works in place, so every round
	// must scale by one.
	fresh, unscaled bool
}

// counting states how Muon's rows count bytes.
const counting = "least, each operand read once, each result written once"

// entries() lists the rows of a shape: the products, the passes over memory, and the whole of
// Newton–Schulz.
func (d *Driver) entries(s method.Shape) []entry {
	prepare, orient, apply := method.StepTraffic(s, 4)
	all := append(
		d.products(s),
		entry{kernel: method.Prepare, role: record.Pass, bytes: prepare.Moved, set: prepare.Touched, fresh: true, steps: func(w *Work) []native.Step { return w.Before()[:2] }},
		entry{kernel: transpose, role: record.Pass, bytes: orient.Moved, set: orient.Touched, fresh: true, unscaled: true, steps: func(w *Work) []native.Step { return w.Before()[2:] }},
	)
	return append(
		append(all, d.iterations(s)...),
		entry{kernel: weightUpdate, role: record.Pass, bytes: apply.Moved, set: apply.Touched, fresh: true, steps: func(w *Work) []native.Step { return []native.Step{w.After()} }},
	)
}

// vendors() reports whether there are rows for the vendor's products.
func (d *Driver) vendors() bool { return d.Vendor() == nil && !d.Emulated() }

// products() lists the rows of each product: by our own kernel; for symmetric products also by our
// own full kernel; and by the vendor's product if there is one. Rows that only compare times are
// left out if nothing is timed.
func (d *Driver) products(s method.Shape) []entry {
	var all []entry
	for _, p := range method.Products() {
		product := func(role string, full bool) entry {
			return entry{
				kernel: p.String(), role: role, effective: p.Effective(s), executed: p.Executed(s, p.Tile(s, d.info.Units), full), bytes: p.Traffic(s), set: p.Traffic(s),
				steps: func(w *Work) []native.Step { return w.Product(p, 0, full) },
			}
		}
		all = append(all, product(record.Own, false))
		if p.Symmetric() && !d.Emulated() {
			all = append(all, product(record.Full, true))
		}
		if d.vendors() {
			v := product(record.Vendor, true)
			v.library, v.executed = d.blas.Library.Name, v.effective
			v.steps = func(w *Work) []native.Step { return []native.Step{w.vendorProduct(p)} }
			all = append(all, v)
		}
	}
	return all
}

// iterations() lists the rows of a whole Newton–Schulz: by our products, by the vendor's, and by
// our symmetric products with the vendor's B·X.
func (d *Driver) iterations(s method.Shape) []entry {
	own := entry{kernel: method.Iteration, role: record.Sequence, fresh: true, set: method.IterationSet(s, true), steps: (*Work).Iterate}
	steps, panelled, mixed := float64(len(d.cfg.Coefficients.Steps)), 0.0, 0.0
	for _, p := range method.Products() {
		own.effective += steps * p.Effective(s)
		own.executed += steps * p.Executed(s, p.Tile(s, d.info.Units), false)
		own.bytes += steps * p.Traffic(s)
		panelled += steps * p.Panelled(s, method.PanelRows)
		mixed += steps * p.Executed(s, p.Tile(s, d.info.Units), !p.Symmetric())
	}
	if !d.vendors() || s.Short() < vendorSide {
		return []entry{own}
	}
	v := own
	v.role, v.library, v.steps = record.Vendor, d.blas.Library.Name, func(w *Work) []native.Step { return w.VendorIterate(false) }
	v.executed, v.bytes, v.set = panelled, steps*method.VendorTraffic(s), method.IterationSet(s, false)
	h := v
	h.role, h.executed, h.steps = record.Hybrid, mixed, func(w *Work) []native.Step { return w.VendorIterate(true) }
	return []entry{own, v, h}
}

// The passes over memory other than method.Prepare.
const (
	transpose    = "scale, transpose"
	weightUpdate = "weight update"
)

// Plan lists the rows of the shapes and the jobs that measure them, shape by shape. If `few` is
// true, the batches come from a model, and only as many matrices of a batch are measured as fit
// into memory. A shape that exceeds the device's memory gives ErrMemory.
func (d *Driver) Plan(shapes []method.Shape, few bool, rule stat.Rule) (rows []record.Kernel, jobs []plan.Job, err error) {
	free, err := d.Free()
	if err != nil {
		return nil, nil, err
	}
	for _, s := range shapes {
		t, err := d.target(s, few, free)
		if err != nil {
			return nil, nil, fmt.Errorf("shape %s: %w", s, err)
		}
		for _, e := range d.entries(d.counted(t)) {
			row := d.row(t, e)
			rows = append(rows, row)
			jobs = append(jobs, hbm.KernelJob(d.p, []string{row.Key}, func(pass int) ([]record.Part, error) {
				parts, err := d.take(t, e, plan.PerPass(rule), pass)
				if errors.Is(err, native.ErrVendor) { // skip only this row; the other rows continue
					return []record.Part{{Status: record.Skipped, Reason: err.Error()}}, nil
				}
				return parts, err
			}))
		}
	}
	return rows, jobs, nil
}

// target returns the part of a shape that runs on a device with the given free memory in bytes.
func (d *Driver) target(s method.Shape, few bool, free int64) (target, error) {
	t := target{s, s}
	if d.Emulated() {
		if d.cfg.Reduce > 0 {
			t.runs = s.Reduced(d.cfg.Reduce)
		}
	} else if few {
		t.runs.Batch = min(s.Batch, mostBatch)
		for t.runs.Batch > 1 && d.Bytes(t.runs) > free*9/10 {
			t.runs.Batch--
		}
	}
	if need := d.Bytes(t.runs); need > free {
		return t, fmt.Errorf("%w: it needs %s, and the device has %s free", ErrMemory, unit.Bytes(need), unit.Bytes(free))
	}
	return t, nil
}

// counted() returns the shape whose work a row counts: the measured shape, or the requested shape
// if nothing is timed.
func (d *Driver) counted(t target) method.Shape {
	if d.Emulated() {
		return t.of
	}
	return t.runs
}

// row returns the facts of a row that are known before it runs.
func (d *Driver) row(t target, e entry) record.Kernel {
	s, measured := t.of, d.counted(t).Batch
	k := record.Kernel{
		Kernel: e.kernel, Role: e.role, Library: e.library, Dtype: "bfloat16", Counting: counting,
		Shape: record.Shape{Name: s.Name, Rows: int64(s.Rows), Cols: int64(s.Cols), Batch: int64(s.Batch), Measured: int64(measured)},
	}
	batch := float64(measured)
	k.Moved, k.Effective, k.Executed = int64(e.bytes*batch), e.effective*batch, e.executed*batch
	k.WorkingSet = int64(e.set * batch)
	k.CacheResident = hbm.CacheResident(d.about, k.WorkingSet)
	return hbm.PlannedRow(k, fmt.Sprintf("%s/%s/%s", e.role, e.kernel, s.Title()), d.cfg.Device)
}

// take runs one pass of a row. It loads the shape's work onto the device, checks the work in the
// first pass, and times the row if times are meaningful.
func (d *Driver) take(t target, e entry, rule stat.Rule, pass int) ([]record.Part, error) {
	part := record.Part{Status: record.OK}
	if pass == 0 && d.cfg.Unchecked {
		part.Verified = new(hbm.NotAsked)
	} else if pass == 0 {
		if d.checks[t] == nil && d.cfg.Say != nil {
			d.cfg.Say(t.title())
		}
		checks, err := d.checksOf(t, e)
		if err != nil {
			return nil, err
		}
		part.Verified = verdict(e, checks)
		if part.Verified.State == record.VerifiedWrong {
			part.Status, part.Reason = record.WrongData, part.Verified.Reason
		}
	}
	if d.Emulated() {
		return []record.Part{part}, nil
	}
	w, err := d.enter(t)
	if err != nil {
		return nil, err
	}
	ready := w.Before()
	if !e.fresh {
		ready = append(ready, w.Iterate()...)
	}
	if err := d.run(ready...); err != nil {
		return nil, err
	}
	if e.unscaled {
		if err := w.scaleByOne(); err != nil {
			return nil, err
		}
	}
	if err := d.timer.Load([][]native.Step{e.steps(w)}); err != nil {
		return nil, err
	}
	samples, err := hbm.Time(d.timer, rule, d.batch, d.settle, func(int) record.Conditions { return d.cfg.Sense.Of(d.p, d.about) })
	if err != nil {
		return nil, err
	}
	part.Kernel = &samples[0]
	return []record.Part{part}, nil
}

// title returns the requested shape, and the emulated shape if the two differ.
func (t target) title() string {
	if t.runs.Rows != t.of.Rows || t.runs.Cols != t.of.Cols {
		return t.of.Title() + ", checked as " + t.runs.String()
	}
	return t.of.Title()
}

// enter loads the target's work onto the device, filled with its inputs.
func (d *Driver) enter(t target) (*Work, error) {
	if d.work != nil && d.at == t {
		return d.work, nil
	}
	if err := d.leave(); err != nil {
		return nil, err
	}
	w, err := d.NewWork(t.runs)
	if err != nil {
		return nil, err
	}
	d.work, d.at = w, t
	return w, w.Fill()
}

// leave frees the current work.
func (d *Driver) leave() error {
	w := d.work
	d.work = nil
	if w == nil {
		return nil
	}
	return w.Close()
}
