package record

import (
	"slices"

	"zbench/bench/base/slice"
	"zbench/bench/base/stat"
)

// Row is a case of any benchmark in one form, for thresholds and comparisons.
type Row struct {
	*Case
	// Name of the collective or of the kernel.
	Name string
	// Bytes that a launch moves. For a collective this is the larger of the moved and the requested size.
	Bytes int64
	// Flop is the floating-point operations of a launch by definition; 0 if none are counted.
	Flop float64
	// Axes are the properties that select cases.
	Axes []Axis
	// Metrics are the figures to judge.
	Metrics []Figure
	// Times has a summary for each of TimeNames, in seconds; nil for none.
	Times [len(timeNames)]*stat.Summary
}

// timeNames are the kinds of time of a case, the preferred one first.
var timeNames = [...]string{"burst", "burst_slowest", "isolated", "isolated_mean", "kernel"}

// TimeNames returns the kinds of time of a row, the preferred one first. Different kinds are never compared.
func TimeNames() []string { return slices.Clone(timeNames[:]) }

// Axis is a property of a case: a word, or numbers. A condition on numbers is met if at least one of the
// numbers fits. For example, bytes=1024 selects a case whose requested or moved size is 1,024 bytes.
type Axis struct {
	Name, Word string
	Numbers    []float64
}

// Figure is a metric of a case; its value is nil if the case has none.
type Figure struct {
	Name  string
	Value *float64
}

// Axis returns the property of that name; empty if the case has none.
func (r *Row) Axis(name string) Axis {
	return slice.First(r.Axes, func(a Axis) bool { return a.Name == name })
}

// Metric returns the value of a metric; nil if the case has none.
func (r *Row) Metric(name string) *float64 {
	return slice.First(r.Metrics, func(m Figure) bool { return m.Name == name }).Value
}

// Row returns the result as a row.
func (r *Result) Row() Row {
	place := "out"
	if r.InPlace {
		place = "in"
	}
	row := Row{
		Case: &r.Case, Name: r.Collective, Bytes: max(r.Bytes, r.BytesRequested),
		Axes: []Axis{
			word("dtype", r.Dtype), word("op", r.Op), word("place", place),
			numbers("bytes", r.Bytes, r.BytesRequested), numbers("ranks", r.Ranks), numbers("nodes", r.Nodes), numbers("groups", r.Groups),
		},
	}
	if t := r.Burst; t != nil {
		row.Times[0], row.Times[1] = t.MeanOfRanks, t.MaxOfRanks
	}
	if t := r.Isolated; t != nil {
		row.Times[2], row.Times[3] = t.MaxOfRanks, t.MeanOfRanks
	}
	row.Metrics = []Figure{{"busbw", r.BusBW}, {"algbw", r.AlgBW}, {"time", median(row.Times[0])}, {"isolated", median(row.Times[2])}}
	return row
}

// Row returns the kernel as a row.
func (k *Kernel) Row() Row {
	row := Row{
		Case: &k.Case, Name: k.Kernel, Bytes: k.Moved, Flop: k.Effective,
		Axes: []Axis{
			word("dtype", k.Dtype), word("role", k.Role), word("shape", k.Shape.Size()),
			numbers("bytes", k.Moved, k.Shape.Array), numbers("device", k.Device),
		},
	}
	if k.Timing != nil {
		row.Times[len(timeNames)-1] = k.Timing.Seconds
	}
	row.Metrics = []Figure{{"time", median(row.Times[len(timeNames)-1])}}
	for _, m := range KernelMetrics {
		row.Metrics = append(row.Metrics, Figure{m.Name, m.Of(&k.Metrics)})
	}
	return row
}

func median(s *stat.Summary) *float64 {
	if s == nil {
		return nil
	}
	return &s.Median
}

func word(name, word string) Axis { return Axis{Name: name, Word: word} }

func numbers[N int | int64](name string, values ...N) Axis {
	a := Axis{Name: name}
	for _, v := range values {
		a.Numbers = append(a.Numbers, float64(v))
	}
	return a
}
