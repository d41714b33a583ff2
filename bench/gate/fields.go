package gate

import (
	"zbench/bench/record"
	"zbench/bench/unit"
)

// row is a case of collectives or of kernels, as thresholds see it.
type row struct {
	name, label      string
	result           *record.Result
	kernel           *record.Kernel
	status           record.Status
	reason           string
	requested, bytes int64
}

// field is what a condition can be about: a word, a number of the case, or a metric.
type field struct {
	name string
	// word is set for a field that is a text.
	word func(*row) string
	// values are the numbers of the case that the field can mean; parse reads one.
	values func(*row) []float64
	// metric is set for what can be required; false where the case does not have it.
	metric func(*row) (float64, bool)
	parse  func(string) (float64, error)
	show   func(float64) string
}

// whole is a whole number of a case as the values of a field.
func whole(n int) []float64 { return []float64{float64(n)} }

// fields are all fields. A field of collectives is empty for a kernel, and the reverse.
var fields = []field{
	{name: "bytes", parse: size, values: func(r *row) []float64 { return []float64{float64(r.bytes), float64(r.requested)} }},
	{name: "ranks", parse: count, values: func(r *row) []float64 { return onResult(r, func(x *record.Result) []float64 { return whole(x.Ranks) }) }},
	{name: "nodes", parse: count, values: func(r *row) []float64 { return onResult(r, func(x *record.Result) []float64 { return whole(x.Nodes) }) }},
	{name: "groups", parse: count, values: func(r *row) []float64 {
		return onResult(r, func(x *record.Result) []float64 { return whole(x.Groups) })
	}},
	{name: "dtype", word: func(r *row) string {
		if r.kernel != nil {
			return r.kernel.Dtype
		}
		return r.result.Dtype
	}},
	{name: "op", word: func(r *row) string { return onResult(r, func(x *record.Result) string { return x.Op }) }},
	{name: "place", word: func(r *row) string {
		return onResult(r, func(x *record.Result) string {
			if x.InPlace {
				return "in"
			}
			return "out"
		})
	}},
	{name: "role", word: func(r *row) string { return onKernel(r, func(k *record.Kernel) string { return k.Role }) }},
	{name: "device", parse: count, values: func(r *row) []float64 {
		return onKernel(r, func(k *record.Kernel) []float64 { return whole(k.Device) })
	}},

	{name: "busbw", parse: quantity("a rate", "300GB/s", rates), show: unit.Rate, metric: pointer(func(x *record.Result) *float64 { return x.BusBW }, nil)},
	{name: "algbw", parse: quantity("a rate", "300GB/s", rates), show: unit.Rate, metric: pointer(func(x *record.Result) *float64 { return x.AlgBW }, nil)},
	{name: "time", parse: quantity("a time", "39.2us", times), show: unit.Seconds, metric: pointer(burst, kernelTime)},
	{name: "isolated", parse: quantity("a time", "39.2us", times), show: unit.Seconds, metric: pointer(isolated, nil)},
	{name: "rate", parse: quantity("a rate", "3.5TB/s", rates), show: unit.Rate, metric: pointer(nil, func(k *record.Kernel) *float64 { return k.Metrics.Rate })},
	{name: "of_peak", parse: quantity("a share", "80%", ratios), show: share, metric: pointer(nil, func(k *record.Kernel) *float64 { return k.Metrics.OfPeak })},
}

// onResult is a property of a collective's case; the zero value for a kernel.
func onResult[T any](r *row, of func(*record.Result) T) (none T) {
	if r.result == nil {
		return none
	}
	return of(r.result)
}

// onKernel is a property of a kernel's case; the zero value for a collective.
func onKernel[T any](r *row, of func(*record.Kernel) T) (none T) {
	if r.kernel == nil {
		return none
	}
	return of(r.kernel)
}

// pointer is a metric of cases that may lack it. A nil function is of no case.
func pointer(collective func(*record.Result) *float64, kernel func(*record.Kernel) *float64) func(*row) (float64, bool) {
	return func(r *row) (float64, bool) {
		var v *float64
		switch {
		case r.result != nil && collective != nil:
			v = collective(r.result)
		case r.kernel != nil && kernel != nil:
			v = kernel(r.kernel)
		}
		if v == nil {
			return 0, false
		}
		return *v, true
	}
}

func burst(x *record.Result) *float64 {
	if s, ok := x.Seconds(); ok {
		return &s
	}
	return nil
}

func isolated(x *record.Result) *float64 {
	if x.Isolated == nil || x.Isolated.MaxOfRanks == nil {
		return nil
	}
	return &x.Isolated.MaxOfRanks.Median
}

func kernelTime(k *record.Kernel) *float64 {
	if k.Timing == nil || k.Timing.Seconds == nil {
		return nil
	}
	return &k.Timing.Seconds.Median
}

func share(v float64) string { return unit.Digits(100*v) + " %" }

// fieldNames are the metrics, or the fields that select cases.
func fieldNames(metrics bool) []string {
	var out []string
	for _, f := range fields {
		if (f.metric != nil) == metrics {
			out = append(out, f.name)
		}
	}
	return out
}
