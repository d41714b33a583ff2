package gate

import (
	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
	"zbench/bench/run/record"
)

// row is a case with its name for people.
type row struct {
	record.Row
	label string
}

// field is the subject of a condition: a word, a number of the case, or a metric.
type field struct {
	name string
	// parse reads a number; nil if the field is a word. show prints a metric; nil for a field that only
	// selects cases.
	parse func(string) (float64, error)
	show  func(float64) string
}

// fields are all fields: properties of cases, metrics of collectives, metrics of kernels.
var fields = append([]field{
	{name: "bytes", parse: size},
	{name: "ranks", parse: count},
	{name: "nodes", parse: count},
	{name: "groups", parse: count},
	{name: "dtype"},
	{name: "op"},
	{name: "place"},
	{name: "role"},
	{name: "shape"},
	{name: "device", parse: count},
	{name: "busbw", parse: bandwidth, show: unit.Rate},
	{name: "algbw", parse: bandwidth, show: unit.Rate},
	{name: "time", parse: duration, show: unit.Seconds},
	{name: "isolated", parse: duration, show: unit.Seconds},
}, slice.Map(record.KernelMetrics, func(m record.KernelMetric) field {
	f := kinds[m.Kind]
	f.name = m.Name
	return f
})...)

var (
	bandwidth = quantity("a rate", "300GB/s", rates)
	duration  = quantity("a time", "39.2us", times)
)

// kinds defines how each kind of metric of kernels is read and shown.
var kinds = map[record.MetricKind]field{
	record.BytesRate:      {parse: quantity("a rate", "3.5TB/s", rates), show: unit.Rate},
	record.OperationsRate: {parse: quantity("a rate", "600TFLOP/s", operations), show: unit.Flops},
	record.Share:          {parse: quantity("a share", "80%", ratios), show: func(v float64) string { return unit.Digits(100*v) + " %" }},
	record.Times:          {parse: quantity("a factor", "1.5", factors), show: unit.Digits},
}

// fieldNames returns the metrics, or the fields that select cases.
func fieldNames(metrics bool) []string {
	kind := slice.Where(fields, func(f field) bool { return (f.show != nil) == metrics })
	return slice.Map(kind, func(f field) string { return f.name })
}
