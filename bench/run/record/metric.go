package record

// MetricKind is what a metric of kernels counts.
type MetricKind int

// The kinds of metrics.
const (
	// BytesRate is in bytes per second.
	BytesRate MetricKind = iota
	// OperationsRate is in floating-point operations per second.
	OperationsRate
	// Share is a ratio that is shown in per cent.
	Share
	// Times is a ratio of times, shown as a factor.
	Times
)

// KernelMetric is one figure that the times of kernels give. Its row here puts it into CSV, the tables of a page and
// the fields of thresholds.
type KernelMetric struct {
	// Name in JSON and in thresholds.
	Name string
	// Column in CSV.
	Column string
	// Title is the metric's column in the tables of memory and fused kernels; empty if the tables show the
	// metric in another column, or not at all.
	Title string
	Kind  MetricKind
	// Of returns the value; nil if the row has none.
	Of func(*Metrics) *float64
}

// KernelMetrics are all metrics of kernels, in CSV's order.
var KernelMetrics = []KernelMetric{
	{"rate", "rate_Bps", "", BytesRate, func(m *Metrics) *float64 { return m.Rate }},
	{"rate_lo", "rate_lo_Bps", "", BytesRate, func(m *Metrics) *float64 { return m.Lo }},
	{"rate_hi", "rate_hi_Bps", "", BytesRate, func(m *Metrics) *float64 { return m.Hi }},
	{"rate_fastest", "rate_fastest_Bps", "fastest", BytesRate, func(m *Metrics) *float64 { return m.Fastest }},
	{"rate_p95", "", "p95", BytesRate, func(m *Metrics) *float64 { return m.P95 }},
	{"of_peak", "of_peak", "of peak", Share, func(m *Metrics) *float64 { return m.OfPeak }},
	{"effective_flops", "effective_flops", "", OperationsRate, func(m *Metrics) *float64 { return m.Effective }},
	{"executed_flops", "executed_flops", "", OperationsRate, func(m *Metrics) *float64 { return m.Executed }},
	{"times_unfused", "speedup_over_unfused", "× unfused", Times, func(m *Metrics) *float64 { return m.ToUnfused }},
	{"of_copy", "of_copy", "of copy", Share, func(m *Metrics) *float64 { return m.OfCopy }},
	{"times_own_full", "times_own_full", "", Times, func(m *Metrics) *float64 { return m.ToFull }},
	{"times_vendor", "times_vendor", "", Times, func(m *Metrics) *float64 { return m.ToVendor }},
}

// Metrics are figures derived from a kernel's times; null if there are none.
type Metrics struct {
	// Bytes moved over the median, in bytes per second.
	Rate *float64 `json:"rate" jsonschema:"exclusiveMinimum=0"`
	// Lower end of the rate's 95 % interval, in bytes per second.
	Lo *float64 `json:"rate_lo" jsonschema:"exclusiveMinimum=0"`
	// Upper end of the rate's 95 % interval, in bytes per second.
	Hi *float64 `json:"rate_hi" jsonschema:"exclusiveMinimum=0"`
	// Bytes moved over the shortest time (BabelStream's headline), in bytes per second.
	Fastest *float64 `json:"rate_fastest" jsonschema:"exclusiveMinimum=0"`
	// Bytes moved over the 95th percentile of the times, in bytes per second.
	P95 *float64 `json:"rate_p95" jsonschema:"exclusiveMinimum=0"`
	// Rate over the peak of the device's memory, a ratio.
	OfPeak *float64 `json:"of_peak,omitempty" jsonschema:"exclusiveMinimum=0"`
	// Effective operations per second, by the median.
	Effective *float64 `json:"effective_flops,omitempty" jsonschema:"exclusiveMinimum=0"`
	// Executed operations per second, by the median.
	Executed *float64 `json:"executed_flops,omitempty" jsonschema:"exclusiveMinimum=0"`
	// Time of the same work kernel by kernel, divided by the time of this row, a ratio.
	ToUnfused *float64 `json:"times_unfused,omitempty" jsonschema:"exclusiveMinimum=0"`
	// Rate over the rate of a copy of the same number of bytes, a ratio.
	OfCopy *float64 `json:"of_copy,omitempty" jsonschema:"exclusiveMinimum=0"`
	// Time of our own kernel with every tile, divided by the time of this row, a ratio.
	ToFull *float64 `json:"times_own_full,omitempty" jsonschema:"exclusiveMinimum=0"`
	// Time of the vendor's product, divided by the time of this row, a ratio.
	ToVendor *float64 `json:"times_vendor,omitempty" jsonschema:"exclusiveMinimum=0"`
}

// setRates fills in the metrics from the row's own times.
func (k *Kernel) setRates(peak *float64) {
	s := k.Timing.Seconds
	per := func(amount float64, seconds *float64) *float64 {
		return quotient(&amount, seconds)
	}
	m, moved := &k.Metrics, float64(k.Moved)
	m.Rate, m.Fastest, m.P95 = per(moved, &s.Median), per(moved, &s.Min), per(moved, s.P95)
	m.Lo, m.Hi = per(moved, s.Hi), per(moved, s.Lo)
	m.Effective, m.Executed = per(k.Effective, &s.Median), per(k.Executed, &s.Median)
	m.OfPeak = quotient(m.Rate, peak)
}

// compare sets the metrics that compare a row with other rows of the same kernel, shape and device. A fused
// kernel is compared with the unfused work and with a copy. A product of zbench is compared with the vendor's
// product.
func (rec *Record) compare(k *Kernel) {
	m, t := &k.Metrics, k.Timing
	if t == nil {
		return
	}
	times := func(role string) *float64 {
		if o := rec.beside(k, role); o != nil && o.Timing != nil && o.Status != WrongData {
			return quotient(&o.Timing.Seconds.Median, &t.Seconds.Median)
		}
		return nil
	}
	switch k.Role {
	case Fused:
		m.ToUnfused = times(Unfused)
		if o := rec.beside(k, Copy); o != nil {
			m.OfCopy = quotient(m.Rate, o.Metrics.Rate)
		}
	case Own:
		m.ToFull, m.ToVendor = times(Full), times(Vendor)
	case Full, Sequence, Hybrid:
		m.ToVendor = times(Vendor)
	}
}

// quotient returns a positive quotient of positive numbers; else null.
func quotient(a, b *float64) *float64 {
	if a == nil || b == nil || !(*a > 0 && *b > 0) {
		return nil
	}
	if v := *a / *b; v > 0 && finite(v) {
		return &v
	}
	return nil
}
