package gemm

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"zbench/bench/base/slice"
	"zbench/bench/base/stat"
	"zbench/bench/base/unit"
	"zbench/bench/run/plan"
	"zbench/bench/run/record"
	method "zbench/bench/work/gemm"
	"zbench/hbm"
	"zbench/internal/native"
)

// entry is one way to compute a product.
type entry struct {
	role, library string
	// choice is the position among the heuristics' choices; workspace is the requested size in
	// bytes.
	choice    int
	workspace int64
}

// plan queries a device's heuristics for a shape.
func (d *Driver) plan(u *gpu, t target, s method.Shape, workspace int64, most int) (*native.LTPlan, error) {
	k := d.kindOf(t.dtype)
	return u.lt.Plan(native.LTShape{
		M: int(s.M), N: int(s.N), K: int(s.K), Batch: int(s.Batch), TurnA: s.Layout == method.NT, TurnB: s.Layout == method.TN,
		Type: k.element, Out: k.result, Workspace: workspace, Most: most,
	})
}

// entries() returns the ways to compute a target: the heuristics' choices, PyTorch's call, and the
// plain product.
func (d *Driver) entries(t target, most int) ([]entry, error) {
	p, err := d.plan(d.units[0], t, d.runs(t), workspaceBytes, most)
	if err != nil {
		return nil, err
	}
	p.Close()
	var all []entry
	lt, torch := d.units[0].lt.Library.Name, d.vendor().Torch
	for i := range p.Found {
		all = append(all, entry{record.Choice, lt, i, workspaceBytes})
	}
	plain := d.noBLAS == nil && t.dtype != method.FP8
	switch {
	case torch.LT:
		all = append(all, entry{record.Torch, lt, 0, torch.Workspace})
	case plain:
		all = append(all, entry{record.Torch, d.units[0].blas.Library.Name, 0, torch.Workspace})
	}
	if plain {
		all = append(all, entry{record.Vendor, d.units[0].blas.Library.Name, 0, 0})
	}
	return all, nil
}

// Plan lists the rows for each shape and type, and the jobs that measure them. At most `most`
// choices per shape are measured. A shape without a kernel becomes a skipped row.
func (d *Driver) Plan(shapes []method.Shape, dtypes []string, most int, rule stat.Rule) (rows []record.Kernel, jobs []plan.Job, err error) {
	for _, dtype := range dtypes {
		for _, s := range shapes {
			t := target{s, dtype}
			p, err := d.place(d.runs(t), d.kindOf(dtype))
			if d.p.Simulated && errors.Is(err, ErrMemory) { // timed launches of the loopback need no memory
				p.sets, err = 1, nil
			}
			if err != nil {
				return nil, nil, fmt.Errorf("shape %s: %w", s, err)
			}
			entries, err := d.entries(t, most)
			if errors.Is(err, native.ErrVendor) {
				reason := err.Error()
				none := d.planned(t, entry{record.Choice, d.units[0].lt.Library.Name, 0, workspaceBytes}, p)
				rows = append(rows, none...)
				jobs = append(jobs, hbm.KernelJob(d.p, keys(none), func(int) ([]record.Part, error) {
					return slices.Repeat([]record.Part{{Status: record.Skipped, Reason: reason}}, len(none)), nil
				}))
				continue
			}
			if err != nil {
				return nil, nil, err
			}
			for _, e := range entries {
				some := d.planned(t, e, p)
				rows = append(rows, some...)
				jobs = append(jobs, hbm.KernelJob(d.p, keys(some), func(pass int) ([]record.Part, error) { return d.take(t, e, plan.PerPass(rule), pass) }))
			}
		}
	}
	return rows, jobs, nil
}

func keys(rows []record.Kernel) []string {
	return slice.Map(rows, func(r record.Kernel) string { return r.Key })
}

// planned() returns the rows of an entry, one per device.
func (d *Driver) planned(t target, e entry, p places) []record.Kernel {
	name := e.role
	if e.role == record.Choice {
		name = fmt.Sprint(e.role, e.choice+1)
	}
	var rows []record.Kernel
	for _, u := range d.units {
		k := d.row(t, e, p)
		of := fmt.Sprintf("%s/%s/%s", name, t.dtype, t.shape)
		if t.shape.Pass != "" {
			of += "/" + t.shape.Pass
		}
		k = hbm.PlannedRow(k, of, u.info.Index)
		if n, elements := t.shape.Turned(); n > 0 && d.transposed(t.dtype) {
			k.Warnings = append(k.Warnings, record.Warning{
				Code:    "transposed",
				Message: fmt.Sprintf("the library takes fp8 as TN alone: before this product %d operands of %s together are transposed, which is not in the time and moves at least %s", n, unit.Bytes(elements), unit.Bytes(2*elements)),
				Hint:    "keep a transposed copy of matrices that are used again, such as the weights",
			})
		}
		rows = append(rows, k)
	}
	return rows
}

// take runs one pass of an entry on all devices at once. The first pass also checks the product.
func (d *Driver) take(t target, e entry, rule stat.Rule, pass int) ([]record.Part, error) {
	if pass == 0 && d.cfg.Say != nil && (!d.entered || d.at != t) {
		d.cfg.Say(strings.TrimSpace(fmt.Sprintf("%s %s %s", t.dtype, t.shape, t.shape.Name)))
	}
	p, err := d.enter(t)
	if err != nil {
		return nil, err
	}
	parts := make([]record.Part, len(d.units))
	for i, u := range d.units {
		parts[i].Status = record.OK
		if pass > 0 {
			continue
		}
		if d.cfg.Unchecked {
			parts[i].Verified = new(hbm.NotAsked)
			continue
		}
		v, err := d.verify(u, t, e, p)
		if errors.Is(err, native.ErrVendor) {
			parts[i] = record.Part{Status: record.Skipped, Reason: err.Error()}
			continue
		}
		if err != nil {
			return nil, err
		}
		if parts[i].Verified = &v; v.State == record.VerifiedWrong {
			parts[i].Status, parts[i].Reason = record.WrongData, v.Reason
		}
	}
	samples, err := d.time(t, e, p, rule)
	if errors.Is(err, native.ErrVendor) { // skip only this row; the other rows continue
		return slices.Repeat([]record.Part{{Status: record.Skipped, Reason: err.Error()}}, len(parts)), nil
	}
	if err != nil {
		return nil, err
	}
	for i := range parts {
		if parts[i].Status != record.Skipped {
			parts[i].Kernel = &samples[i]
		}
	}
	return parts, nil
}

// time measures an entry. One round launches the product once on each set of operands.
func (d *Driver) time(t target, e entry, p places, rule stat.Rule) ([]record.KernelSamples, error) {
	steps := make([][]native.Step, len(d.units))
	for i, u := range d.units {
		one, end, err := d.steps(u, t, d.runs(t), e, p, p.sets)
		if err != nil {
			return nil, err
		}
		defer end()
		steps[i] = one
	}
	if err := d.timer.Load(steps); err != nil {
		return nil, err
	}
	samples, err := hbm.Time(d.timer, rule, d.batch, d.warm, func(i int) record.Conditions { return d.cfg.Sense.Of(d.p, d.units[i].info) })
	for i := range samples {
		samples[i].Launches *= p.sets
		for j := range samples[i].Seconds {
			samples[i].Seconds[j] /= float64(p.sets)
		}
	}
	return samples, err
}

// steps returns an entry's launches on a device, one for each of the first `sets` sets of
// operands. end frees their resources.
func (d *Driver) steps(u *gpu, t target, s method.Shape, e entry, p places, sets int) (all []native.Step, end func(), err error) {
	if e.role == record.Vendor || e.role == record.Torch && !d.vendor().Torch.LT {
		w := u.workspace
		w.Bytes = e.workspace // 0 for the plain product, which uses the library's own workspace
		if err := u.blas.UseWorkspace(w); err != nil {
			return nil, nil, err
		}
		a, b, c := s.Sides()
		of := func(operand int, sides [2]int64, set int) native.Matrix {
			return native.Matrix{At: p.at(u, set, operand), Row: int(sides[1]), Each: int(sides[0] * sides[1])}
		}
		for set := range sets {
			all = append(all, u.blas.Product(native.Gemm{
				C: of(2, c, set), A: of(0, a, set), B: of(1, b, set), M: int(s.M), N: int(s.N), K: int(s.K), Batch: int(s.Batch),
				Alpha: 1, Plain: s.Layout != method.TN, TurnA: s.Layout == method.NT, Type: d.kindOf(t.dtype).element,
			}))
		}
		return all, func() {}, nil
	}
	most := e.choice + 1
	choices, err := d.plan(u, t, s, e.workspace, most)
	if err != nil {
		return nil, nil, err
	}
	if choices.Found == 0 {
		choices.Close()
		return nil, nil, fmt.Errorf("%w: the heuristics have no choice", native.ErrVendor)
	}
	for set := range sets {
		all = append(all, native.LTLaunch{
			Plan: choices, Choice: min(e.choice, choices.Found-1), Stream: u.stream,
			C: p.at(u, set, 2), A: p.at(u, set, 0), B: p.at(u, set, 1), Workspace: u.workspace,
		}.Step())
	}
	return all, choices.Close, nil
}
