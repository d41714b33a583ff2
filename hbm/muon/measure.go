package muon

import (
	"math"

	method "zbench/bench/muon"
	"zbench/bench/stat"
	"zbench/internal/native"
)

const (
	// batchSeconds is the least a batch between two events takes, so that what an
	// event costs and how fine it counts do not matter.
	batchSeconds = 2e-3
	// warmSeconds of the same work come before the first sample: clocks settle.
	warmSeconds = 0.2
)

// time returns seconds of one round of a sequence, a sample a batch.
func (d *Driver) time(rule stat.Rule, steps ...native.Step) ([]float64, error) {
	if err := d.timer.Load([][]native.Step{steps}); err != nil {
		return nil, err
	}
	rounds, err := d.warm()
	if err != nil {
		return nil, err
	}
	var samples []float64
	for spent := 0.0; ; {
		next := rule.Decide(samples, spent)
		if next.Stop {
			return samples, nil
		}
		for range next.Next {
			s, err := d.timer.Run(rounds, deadline)
			if err != nil {
				return nil, err
			}
			spent += s[0]
			samples = append(samples, s[0]/float64(rounds))
		}
	}
}

// warm runs what is loaded for warmSeconds and finds how many rounds a batch
// takes.
func (d *Driver) warm() (int, error) {
	return stat.Rounds(d.batch, d.settle, func(rounds int) (float64, error) {
		seconds, err := d.timer.Run(rounds, deadline)
		if err != nil {
			return 0, err
		}
		return seconds[0], nil
	})
}

// row times a sequence. The figures of operations and bytes are of one matrix.
func (w *Work) row(rule stat.Rule, what string, effective, executed, bytes float64, steps ...native.Step) (method.Row, error) {
	r := method.Row{What: what, Bytes: bytes * float64(w.shape.Batch)}
	samples, err := w.d.time(rule, steps...)
	if err != nil {
		return r, err
	}
	median := stat.Quantile(samples, 0.5)
	r.Seconds, r.Samples = &median, len(samples)
	per := func(amount float64) *float64 {
		v := amount * float64(w.shape.Batch) / median
		if amount == 0 || math.IsInf(v, 0) {
			return nil
		}
		return &v
	}
	r.Effective, r.Executed, r.Rate = per(effective), per(executed), per(bytes)
	return r, nil
}

// Measure times what a step is made of: each product, those that are symmetric
// also by our own full kernel and the vendor's where it is there, the passes
// over memory, and Newton–Schulz whole. The work must have been filled.
func (w *Work) Measure(rule stat.Rule) (method.ShapeFacts, error) {
	f := method.ShapeFacts{Shape: w.shape, Measured: w.shape.Batch}
	if err := w.d.run(append(w.Before(), w.Iterate()...)...); err != nil {
		return f, err
	}
	effective, executed, bytes := 0.0, 0.0, 0.0
	for _, p := range method.Products() {
		rows, err := w.products(rule, p)
		if err != nil {
			return f, err
		}
		f.Rows = append(f.Rows, rows...)
		tile := p.Tile(w.shape, w.d.info.Units)
		steps := float64(len(w.d.cfg.Coefficients.Steps))
		effective += steps * p.Effective(w.shape)
		executed += steps * p.Executed(w.shape, tile, false)
		bytes += steps * p.Traffic(w.shape)
	}
	prepare, orient, apply := method.StepTraffic(w.shape, 4)
	before := w.Before()
	for _, r := range []struct {
		what                       string
		effective, executed, bytes float64
		steps                      []native.Step
	}{
		{method.Prepare, 0, 0, prepare, before[:2]},
		{"scale, transpose", 0, 0, orient, before[2:]},
		{method.Iteration, effective, executed, bytes, w.Iterate()},
		{"weight update", 0, 0, apply, []native.Step{w.After()}},
	} {
		// scaled again and again the input would become zeros
		if err := w.d.run(w.Before()...); err != nil {
			return f, err
		}
		row, err := w.row(rule, r.what, r.effective, r.executed, r.bytes, r.steps...)
		if err != nil {
			return f, err
		}
		f.Rows = append(f.Rows, row)
	}
	return f, nil
}

// products are the rows of one product: ours, our full one, the vendor's.
func (w *Work) products(rule stat.Rule, p method.Product) ([]method.Row, error) {
	tile := p.Tile(w.shape, w.d.info.Units)
	ours, err := w.row(rule, p.String(), p.Effective(w.shape), p.Executed(w.shape, tile, false), p.Traffic(w.shape), w.Product(p, 0, false)...)
	if err != nil {
		return nil, err
	}
	rows := []method.Row{ours}
	if p.Symmetric() {
		full, err := w.row(rule, p.String()+method.EveryTile, p.Effective(w.shape), p.Executed(w.shape, tile, true), p.Traffic(w.shape), w.Product(p, 0, true)...)
		if err != nil {
			return nil, err
		}
		rows[0].ToFull = over(full, ours)
		rows = append(rows, full)
	}
	if w.d.Vendor() == nil {
		vendor, err := w.vendorRow(rule, p)
		if err != nil {
			return nil, err
		}
		for i := range rows {
			rows[i].ToVendor = over(vendor, rows[i])
		}
		rows = append(rows, vendor)
	}
	return rows, nil
}

// over is how many times the first takes of the second's time.
func over(a, b method.Row) *float64 {
	v := *a.Seconds / *b.Seconds
	return &v
}
