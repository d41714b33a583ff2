package record

import (
	"slices"
	"strconv"

	"zbench/bench/base/stat"
	"zbench/bench/show/table"
)

// kernelColumns is the CSV form of hbm and of kernels. Times are in seconds, and rates are in bytes or
// operations per second. New columns go to the end, so that readers by position keep working.
var kernelColumns = slices.Concat([]column[Kernel]{
	{"device", func(_ *Record, k *Kernel) string { return strconv.Itoa(k.Device) }},
	{"device_name", func(rec *Record, k *Kernel) string { return rec.DeviceOf(k).Name }},
	{"measured", func(rec *Record, k *Kernel) string { return rec.DeviceOf(k).Kind }},
	{"kernel", func(_ *Record, k *Kernel) string { return k.Kernel }},
	{"dtype", func(_ *Record, k *Kernel) string { return k.Dtype }},
	{"role", func(_ *Record, k *Kernel) string { return k.Role }},
	{"block", func(_ *Record, k *Kernel) string { return strconv.Itoa(k.Config.Block) }},
	{"loads", func(_ *Record, k *Kernel) string { return strconv.Itoa(k.Config.Loads) }},
	{"non_temporal", func(_ *Record, k *Kernel) string { return strconv.FormatBool(k.Config.NonTemporal) }},
	{"grid", func(_ *Record, k *Kernel) string { return k.Config.Grid }},
	{"cpus", func(_ *Record, k *Kernel) string { return strconv.Itoa(k.Config.CPUs) }},
	{"array_bytes", whole(func(k *Kernel) int64 { return k.Shape.Array })},
	{"name", func(_ *Record, k *Kernel) string { return k.Shape.Name }},
	{"rows", whole(func(k *Kernel) int64 { return k.Shape.Rows })},
	{"cols", whole(func(k *Kernel) int64 { return k.Shape.Cols })},
	{"batch", whole(func(k *Kernel) int64 { return k.Shape.Batch })},
	{"measured_batch", whole(func(k *Kernel) int64 { return k.Shape.Measured })},
	{"library", func(_ *Record, k *Kernel) string { return k.Library }},
	{"moved_bytes", whole(func(k *Kernel) int64 { return k.Moved })},
	{"cache_resident", func(_ *Record, k *Kernel) string { return strconv.FormatBool(k.CacheResident) }},
	{"status", func(_ *Record, k *Kernel) string { return string(k.Status) }},
	{"verified", func(_ *Record, k *Kernel) string { return k.Verified.State }},
	{"wrong", func(_ *Record, k *Kernel) string { return wrong(k.Verified) }},
	{"ulp", figure(func(k *Kernel) *float64 { return k.Verified.ULP })},
	{"median_s", times(func(s *stat.Summary) *float64 { return &s.Median })},
	{"lo_s", times(func(s *stat.Summary) *float64 { return s.Lo })},
	{"hi_s", times(func(s *stat.Summary) *float64 { return s.Hi })},
	{"min_s", times(func(s *stat.Summary) *float64 { return &s.Min })},
	{"p95_s", times(func(s *stat.Summary) *float64 { return s.P95 })},
	{"samples", times(func(s *stat.Summary) *float64 { return new(float64(s.N)) })},
	{"effective_samples", times(func(s *stat.Summary) *float64 { return s.NEff })},
	{"stop", timingCell(func(t *KernelTiming) string { return t.Stop })},
	{"launches", timingCell(func(t *KernelTiming) string { return strconv.Itoa(t.Launches) })},
}, metricColumns(KernelMetrics[:firstMetrics]), []column[Kernel]{
	{"launch_s", timingCell(func(t *KernelTiming) string { return table.Number(t.Launch) })},
	{"launch_bound", func(_ *Record, k *Kernel) string { return strconv.FormatBool(k.LaunchBound()) }},
	{"reason", func(_ *Record, k *Kernel) string { return k.Reason }},
	{"key", func(_ *Record, k *Kernel) string { return k.Key }},
	{"simulated", func(rec *Record, _ *Kernel) string { return strconv.FormatBool(rec.Simulated) }},
	{"warnings", func(_ *Record, k *Kernel) string { return codes(k.Warnings) }},
	{"depth", whole(func(k *Kernel) int64 { return k.Shape.Depth })},
	{"layout", func(_ *Record, k *Kernel) string { return k.Shape.Layout }},
	{"count", whole(func(k *Kernel) int64 { return k.Shape.Count })},
	{"choice", func(_ *Record, k *Kernel) string { return strconv.Itoa(k.Config.Choice) }},
	{"workspace_bytes", whole(func(k *Kernel) int64 { return k.Config.Workspace })},
	{"clock_Hz", condition(func(t *KernelTiming) float64 { hz, _ := t.Clock(); return hz })},
	{"power_W", condition(func(t *KernelTiming) float64 { return t.Most().Power })},
	{"temperature_C", condition(func(t *KernelTiming) float64 { return t.Most().Temperature })},
	{"host", func(rec *Record, k *Kernel) string { return rec.DeviceOf(k).Host }},
}, metricColumns(KernelMetrics[firstMetrics:]))

// firstMetrics is the number of metrics whose columns precede other columns. The columns of newer
// metrics are at the end.
const firstMetrics = 12

func metricColumns(metrics []KernelMetric) (out []column[Kernel]) {
	for _, m := range metrics {
		if m.Column != "" {
			out = append(out, column[Kernel]{m.Column, figure(func(k *Kernel) *float64 { return m.Of(&k.Metrics) })})
		}
	}
	return out
}

func whole(of func(*Kernel) int64) func(*Record, *Kernel) string {
	return func(_ *Record, k *Kernel) string { return strconv.FormatInt(of(k), 10) }
}

func figure(of func(*Kernel) *float64) func(*Record, *Kernel) string {
	return func(_ *Record, k *Kernel) string { return table.Number(of(k)) }
}

// timingCell makes a cell of the timing, empty if there is none.
func timingCell(cell func(*KernelTiming) string) func(*Record, *Kernel) string {
	return func(_ *Record, k *Kernel) string {
		if k.Timing == nil {
			return ""
		}
		return cell(k.Timing)
	}
}

// condition makes a cell of a device condition, empty if it was not read.
func condition(of func(*KernelTiming) float64) func(*Record, *Kernel) string {
	return timingCell(func(t *KernelTiming) string {
		if v := of(t); v > 0 {
			return table.Number(&v)
		}
		return ""
	})
}

// times makes a cell of the times, empty if there are none.
func times(of func(*stat.Summary) *float64) func(*Record, *Kernel) string {
	return timingCell(func(t *KernelTiming) string { return table.Number(of(t.Seconds)) })
}
