package memory

// Ratio is a fused kernel against what it replaces and what bounds it, all of
// the same run, device, type and shape.
type Ratio struct {
	// Fused points into the record.
	Fused *Result
	// Speedup is the time kernel by kernel over the fused time, OfCopy the fused
	// kernel's rate by its least bytes over a copy's; null without both times.
	Speedup, OfCopy *float64
}

// Ratios lists the fused kernels that were timed, in the record's order.
func (rec *Record) Ratios() []Ratio {
	var out []Ratio
	for i := range rec.Results {
		r := &rec.Results[i]
		if r.Role != Fused || r.Rate == nil || r.Timing == nil {
			continue
		}
		ratio := Ratio{Fused: r}
		if u := rec.beside(r, Unfused); u != nil && u.Timing != nil {
			ratio.Speedup = over(u.Timing.Seconds.Median, r.Timing.Seconds.Median)
		}
		if c := rec.beside(r, Copy); c != nil && c.Rate != nil {
			ratio.OfCopy = over(*r.Rate, *c.Rate)
		}
		out = append(out, ratio)
	}
	return out
}

// RatioOf is the ratio of one result; empty where it is not a fused kernel's.
func (rec *Record) RatioOf(r *Result) Ratio {
	for _, ratio := range rec.Ratios() {
		if ratio.Fused.id() == r.id() {
			return ratio
		}
	}
	return Ratio{}
}

// beside is the result of the same shape in another role, nil without one.
func (rec *Record) beside(r *Result, role string) *Result {
	for i := range rec.Results {
		o := &rec.Results[i]
		if o.Role == role && o.Device == r.Device && o.Kernel == r.Kernel && o.Dtype == r.Dtype && o.Rows == r.Rows && o.Hidden == r.Hidden {
			return o
		}
	}
	return nil
}

// over is a quotient of positive numbers, else null.
func over(a, b float64) *float64 {
	if !(a > 0 && b > 0) {
		return nil
	}
	v := a / b
	return &v
}
