package gate

import (
	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
	"zbench/bench/run/record"
)

// row is a case of collectives or kernels as thresholds see it: its properties by field name.
// Missing fields are absent.
type row struct {
	name, label string
	status      record.Status
	reason      string
	words       map[string]string
	// numbers are the values that match a field: the requested and the moved size belong to the
	// same case.
	numbers map[string][]float64
	metrics map[string]*float64
}

// field is the subject of a condition: a word, a number of the case, or a metric.
type field struct {
	name string
	// parse reads a number; nil if the field is a word. show prints a metric, which can be
	// required; nil for others.
	parse func(string) (float64, error)
	show  func(float64) string
}

// fields are all fields.
var fields = []field{
	{name: "bytes", parse: size},
	{name: "ranks", parse: count},
	{name: "nodes", parse: count},
	{name: "groups", parse: count},
	{name: "dtype"},
	{name: "op"},
	{name: "place"},
	{name: "role"},
	{name: "device", parse: count},
	{name: "busbw", parse: quantity("a rate", "300GB/s", rates), show: unit.Rate},
	{name: "algbw", parse: quantity("a rate", "300GB/s", rates), show: unit.Rate},
	{name: "time", parse: quantity("a time", "39.2us", times), show: unit.Seconds},
	{name: "isolated", parse: quantity("a time", "39.2us", times), show: unit.Seconds},
	{name: "rate", parse: quantity("a rate", "3.5TB/s", rates), show: unit.Rate},
	{name: "of_peak", parse: quantity("a share", "80%", ratios), show: func(v float64) string { return unit.Digits(100*v) + " %" }},
}

// resultRow is a case of collectives.
func resultRow(x *record.Result) *row {
	r := &row{
		name: x.Collective, status: x.Status, reason: x.Reason,
		words: map[string]string{"dtype": x.Dtype, "op": x.Op, "place": "out"},
		numbers: map[string][]float64{
			"bytes": {float64(x.Bytes), float64(x.BytesRequested)}, "ranks": {float64(x.Ranks)}, "nodes": {float64(x.Nodes)}, "groups": {float64(x.Groups)},
		},
		metrics: map[string]*float64{"busbw": x.BusBW, "algbw": x.AlgBW},
	}
	if x.InPlace {
		r.words["place"] = "in"
	}
	if s, ok := x.Seconds(); ok {
		r.metrics["time"] = &s
	}
	if t := x.Isolated; t != nil && t.MaxOfRanks != nil {
		r.metrics["isolated"] = &t.MaxOfRanks.Median
	}
	return r
}

// kernelRow is a case of kernels.
func kernelRow(k *record.Kernel) *row {
	r := &row{
		name: k.Kernel, status: k.Status, reason: k.Reason,
		words:   map[string]string{"dtype": k.Dtype, "role": k.Role},
		numbers: map[string][]float64{"bytes": {float64(k.Moved), float64(k.Shape.Array)}, "device": {float64(k.Device)}},
		metrics: map[string]*float64{"rate": k.Metrics.Rate, "of_peak": k.Metrics.OfPeak},
	}
	if k.Timing != nil && k.Timing.Seconds != nil {
		r.metrics["time"] = &k.Timing.Seconds.Median
	}
	return r
}

// fieldNames returns the metrics, or the fields that select cases.
func fieldNames(metrics bool) []string {
	kind := slice.Where(fields, func(f field) bool { return (f.show != nil) == metrics })
	return slice.Map(kind, func(f field) string { return f.name })
}
