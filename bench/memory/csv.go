package memory

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"

	"zbench/bench/plain"
)

// columns of the CSV; a figure that is not there is an empty field.
var columns = []struct {
	name string
	of   func(*Record, *Result) string
}{
	{"device", func(_ *Record, r *Result) string { return strconv.Itoa(r.Device) }},
	{"device_name", func(rec *Record, r *Result) string { return rec.DeviceOf(r).Name }},
	{"measured", func(rec *Record, r *Result) string { return rec.DeviceOf(r).Kind }},
	{"kernel", func(_ *Record, r *Result) string { return r.Kernel }},
	{"dtype", func(_ *Record, r *Result) string { return r.Dtype }},
	{"role", func(_ *Record, r *Result) string { return r.Role }},
	{"block", func(_ *Record, r *Result) string { return strconv.Itoa(r.Config.Block) }},
	{"loads", func(_ *Record, r *Result) string { return strconv.Itoa(r.Config.Loads) }},
	{"non_temporal", func(_ *Record, r *Result) string { return strconv.FormatBool(r.Config.NonTemporal) }},
	{"grid", func(_ *Record, r *Result) string { return r.Config.Grid }},
	{"cpus", func(_ *Record, r *Result) string { return strconv.Itoa(r.Config.CPUs) }},
	{"array_bytes", func(_ *Record, r *Result) string { return whole(r.Array) }},
	{"rows", func(_ *Record, r *Result) string { return whole(r.Rows) }},
	{"hidden", func(_ *Record, r *Result) string { return whole(r.Hidden) }},
	{"moved_bytes", func(_ *Record, r *Result) string { return whole(r.Moved) }},
	{"cache_resident", func(_ *Record, r *Result) string { return strconv.FormatBool(r.CacheResident) }},
	{"status", func(_ *Record, r *Result) string { return string(r.Status) }},
	{"verified", func(_ *Record, r *Result) string { return r.Verified.State }},
	{"wrong", func(_ *Record, r *Result) string { return whole(r.Verified.Wrong) }},
	{"ulp", func(_ *Record, r *Result) string { return number(r.Verified.ULP) }},
	{"median_s", func(_ *Record, r *Result) string {
		return seconds(r, func(t *Timing) *float64 { return &t.Seconds.Median })
	}},
	{"min_s", func(_ *Record, r *Result) string {
		return seconds(r, func(t *Timing) *float64 { return &t.Seconds.Min })
	}},
	{"p95_s", func(_ *Record, r *Result) string {
		return seconds(r, func(t *Timing) *float64 { return t.Seconds.P95 })
	}},
	{"samples", func(_ *Record, r *Result) string {
		return seconds(r, func(t *Timing) *float64 { n := float64(t.Seconds.N); return &n })
	}},
	{"rate_Bps", func(_ *Record, r *Result) string { return number(r.Rate) }},
	{"rate_lo_Bps", func(_ *Record, r *Result) string { return number(r.Lo) }},
	{"rate_hi_Bps", func(_ *Record, r *Result) string { return number(r.Hi) }},
	{"rate_fastest_Bps", func(_ *Record, r *Result) string { return number(r.Fastest) }},
	{"of_peak", func(_ *Record, r *Result) string { return number(r.OfPeak) }},
	{"speedup_over_unfused", func(rec *Record, r *Result) string { return number(rec.RatioOf(r).Speedup) }},
	{"of_copy", func(rec *Record, r *Result) string { return number(rec.RatioOf(r).OfCopy) }},
	{"launch_s", func(_ *Record, r *Result) string {
		if r.Timing == nil {
			return ""
		}
		return number(r.Timing.Launch)
	}},
	{"launch_bound", func(_ *Record, r *Result) string { return strconv.FormatBool(r.LaunchBound()) }},
	{"reason", func(_ *Record, r *Result) string { return r.Reason }},
}

func whole(v int64) string { return strconv.FormatInt(v, 10) }

func number(v *float64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatFloat(*v, 'g', -1, 64)
}

func seconds(r *Result, of func(*Timing) *float64) string {
	if r.Timing == nil {
		return ""
	}
	return number(of(r.Timing))
}

// WriteCSV writes a row a result, in base units.
func WriteCSV(w io.Writer, rec *Record) error {
	out := csv.NewWriter(w)
	row := make([]string, len(columns))
	for i, c := range columns {
		row[i] = c.name
	}
	err := out.Write(row)
	for i := range rec.Results {
		for k, c := range columns {
			row[k] = c.of(rec, &rec.Results[i])
		}
		if err == nil {
			err = out.Write(plain.Row(row))
		}
	}
	out.Flush()
	if err == nil {
		err = out.Error()
	}
	if err != nil {
		return fmt.Errorf("write CSV: %w", err)
	}
	return nil
}
