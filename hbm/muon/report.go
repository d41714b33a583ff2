package muon

import (
	"fmt"
	"slices"

	method "zbench/bench/muon"
	"zbench/bench/stat"
	"zbench/bench/unit"
)

// mostBatch is how many matrices of a preset's shape are measured at once; the
// rest of a model's takes as long again. 16 experts are what a layer has.
const mostBatch = 16

// checkSide is the side of what is followed whole in float64, and checkElements
// how many elements of a product of the real size.
const (
	checkSide     = 192
	checkElements = 256
)

// Report measures the shapes and checks their results. A preset's batch is what
// the model has; a few of it are measured, as many as fit, and the sum is of all.
// say is told what comes next, keep what there is after each shape.
func (d *Driver) Report(shapes []method.Shape, preset string, rule stat.Rule, say func(string), keep func(*method.Report) error) (*method.Report, error) {
	r := &method.Report{
		Schema: method.Schema, Device: d.info.Name, Backend: d.p.Backend, Emulated: d.Emulated(),
		Coefficients: d.cfg.Coefficients.Name, Preset: preset, Seed: d.cfg.Seed, Shapes: []method.ShapeFacts{}, Vendor: "none: emulated",
	}
	if !r.Emulated {
		r.Vendor = d.vendorText()
	}
	for _, s := range shapes {
		r.Asked = append(r.Asked, s.Title())
	}
	total := 0.0
	for _, s := range shapes {
		say(s.Title() + d.standIn(s))
		before := len(r.Checks)
		var facts method.ShapeFacts
		var err error
		if r.Emulated {
			err = d.checkWhole(r, d.reduced(s))
		} else {
			facts, err = d.measure(r, s, preset != "", rule)
		}
		r.Checks = append(r.Checks[:before], once(r.Checks[before:], s.Title())...)
		if err != nil {
			return r, fmt.Errorf("shape %s: %w", s, err)
		}
		for _, row := range facts.Rows {
			if row.What == method.Iteration {
				total += *row.Seconds * float64(s.Batch) / float64(facts.Measured)
			}
		}
		if !r.Emulated {
			r.Shapes = append(r.Shapes, facts)
		}
		if r.Done++; r.Done == len(shapes) && !r.Emulated {
			r.Step = &total
		}
		if err := keep(r); err != nil {
			return r, err
		}
	}
	return r, nil
}

// once are the checks of a shape, named after it, what was checked more than once
// as one with the worst finding: symmetry is held after a whole step, and after the
// products of the first.
func once(checks []method.Check, of string) []method.Check {
	var out []method.Check
	for _, c := range checks {
		c.Of = of
		same := func(o method.Check) bool { return o.Shape == c.Shape && o.What == c.What && o.Bar == c.Bar }
		if i := slices.IndexFunc(out, same); i >= 0 {
			out[i].Worst(c.Found)
			continue
		}
		out = append(out, c)
	}
	return out
}

// reduced is what is emulated of a shape.
func (d *Driver) reduced(s method.Shape) method.Shape {
	if d.cfg.Reduce == 0 {
		return s
	}
	return s.Reduced(d.cfg.Reduce)
}

// standIn names what is emulated instead of a shape, if it is another.
func (d *Driver) standIn(s method.Shape) string {
	if r := d.reduced(s); d.Emulated() && r != s {
		return ", checked as " + r.String()
	}
	return ""
}

// checkWhole checks a whole step on the shape as it is.
func (d *Driver) checkWhole(r *method.Report, s method.Shape) (err error) {
	w, err := d.NewWork(s)
	if err != nil {
		return err
	}
	defer func() {
		if e := w.Close(); err == nil {
			err = e
		}
	}()
	checks, err := w.Check()
	if err != nil {
		return err
	}
	r.Checks = append(r.Checks, checks...)
	checks, err = w.Sample(checkElements)
	r.Checks = append(r.Checks, checks...)
	return err
}

// measure checks a reduced shape whole, times the real one, and checks elements
// of it.
func (d *Driver) measure(r *method.Report, s method.Shape, few bool, rule stat.Rule) (f method.ShapeFacts, err error) {
	if err := d.checkReduced(r, s); err != nil {
		return f, err
	}
	part := s
	if few {
		part.Batch = min(part.Batch, mostBatch)
	}
	free, err := d.Free()
	if err != nil {
		return f, err
	}
	for few && part.Batch > 1 && d.Bytes(part) > free*9/10 {
		part.Batch--
	}
	if need := d.Bytes(part); need > free {
		return f, fmt.Errorf("%w: it needs %s, and the device has %s free", ErrMemory, unit.Bytes(need), unit.Bytes(free))
	}
	w, err := d.NewWork(part)
	if err != nil {
		return f, err
	}
	defer func() {
		if e := w.Close(); err == nil {
			err = e
		}
	}()
	if err := w.Fill(); err != nil {
		return f, err
	}
	checks, err := w.Sample(checkElements)
	if err != nil {
		return f, err
	}
	r.Checks = append(r.Checks, checks...)
	if checks, err = w.SampleEveryTile(checkElements); err != nil {
		return f, err
	}
	r.Checks = append(r.Checks, checks...)
	f, err = w.Measure(rule)
	f.Shape = s
	return f, err
}

func (d *Driver) checkReduced(r *method.Report, s method.Shape) error {
	w, err := d.NewWork(s.Reduced(checkSide))
	if err != nil {
		return err
	}
	checks, err := w.Check()
	r.Checks = append(r.Checks, checks...)
	if e := w.Close(); err == nil {
		err = e
	}
	return err
}
