package record

import (
	"strconv"
	"strings"

	"zbench/bench/base/slice"
	"zbench/bench/base/stat"
	"zbench/bench/show/table"
)

// column is one column of a CSV form: its header, including the unit, and a row's cell. A null is
// an empty cell.
type column[Row any] struct {
	name string
	cell func(*Record, *Row) string
}

// columns is the CSV form of collectives. Times are in seconds, and rates are in bytes per
// second. The columns time_* describe the burst's mean over ranks, as rccl-tests prints it. New
// columns go to the end, so that readers by position keep working.
var columns = []column[Result]{
	{"key", func(_ *Record, r *Result) string { return r.Key }},
	{"collective", func(_ *Record, r *Result) string { return r.Collective }},
	{"dtype", func(_ *Record, r *Result) string { return r.Dtype }},
	{"op", func(_ *Record, r *Result) string { return r.Op }},
	{"bytes_requested", func(_ *Record, r *Result) string { return strconv.FormatInt(r.BytesRequested, 10) }},
	{"bytes", func(_ *Record, r *Result) string { return strconv.FormatInt(r.Bytes, 10) }},
	{"count_elements", func(_ *Record, r *Result) string { return strconv.FormatInt(r.Count, 10) }},
	{"ranks", func(_ *Record, r *Result) string { return strconv.Itoa(r.Ranks) }},
	{"nodes", func(_ *Record, r *Result) string { return strconv.Itoa(r.Nodes) }},
	{"gpus_per_process", func(_ *Record, r *Result) string { return strconv.Itoa(r.GPUsPerProcess) }},
	{"in_place", func(_ *Record, r *Result) string { return strconv.FormatBool(r.InPlace) }},
	{"status", func(_ *Record, r *Result) string { return string(r.Status) }},
	{"reason", func(_ *Record, r *Result) string { return r.Reason }},
	{"simulated", func(rec *Record, _ *Result) string { return strconv.FormatBool(rec.Simulated) }},
	{"extrapolated", func(_ *Record, r *Result) string { return strconv.FormatBool(r.Extrapolated) }},
	{"iterations", of(burst, func(t *Timing) *int { return &t.Iterations }, func(n *int) string { return strconv.Itoa(*n) })},
	{"samples", mean(func(s *stat.Summary) string { return strconv.Itoa(s.N) })},
	{"time_s", mean(func(s *stat.Summary) string { return table.Number(&s.Median) })},
	{"time_lo_s", mean(func(s *stat.Summary) string { return table.Number(s.Lo) })},
	{"time_hi_s", mean(func(s *stat.Summary) string { return table.Number(s.Hi) })},
	{"time_min_s", mean(func(s *stat.Summary) string { return table.Number(&s.Min) })},
	{"time_max_s", mean(func(s *stat.Summary) string { return table.Number(&s.Max) })},
	{"time_mean_s", mean(func(s *stat.Summary) string { return table.Number(&s.Mean) })},
	{"time_p95_s", mean(func(s *stat.Summary) string { return table.Number(s.P95) })},
	{"time_p99_s", mean(func(s *stat.Summary) string { return table.Number(s.P99) })},
	{"time_cv", mean(func(s *stat.Summary) string { return table.Number(s.CV) })},
	{"slowest_rank_time_s", of(burst, slowest, func(s *stat.Summary) string { return table.Number(&s.Median) })},
	{"isolated_slowest_rank_time_s", isolated(func(s *stat.Summary) string { return table.Number(&s.Median) })},
	{"algbw_Bps", func(_ *Record, r *Result) string { return table.Number(r.AlgBW) }},
	{"busbw_Bps", func(_ *Record, r *Result) string { return table.Number(r.BusBW) }},
	{"headline", func(_ *Record, r *Result) string { return r.Headline }},
	{"verified", func(_ *Record, r *Result) string { return r.Verified.State }},
	{"wrong_elements", func(_ *Record, r *Result) string { return wrong(r.Verified) }},
	{"warnings", func(_ *Record, r *Result) string { return codes(r.Warnings) }},
	{"effective_samples", mean(func(s *stat.Summary) string { return table.Number(s.NEff) })},
	{"isolated_samples", isolated(func(s *stat.Summary) string { return strconv.Itoa(s.N) })},
	{"isolated_time_lo_s", isolated(func(s *stat.Summary) string { return table.Number(s.Lo) })},
	{"isolated_time_hi_s", isolated(func(s *stat.Summary) string { return table.Number(s.Hi) })},
	{"isolated_time_p95_s", isolated(func(s *stat.Summary) string { return table.Number(s.P95) })},
	{"isolated_spread_s", of(alone, spread, func(s *stat.Summary) string { return table.Number(&s.Median) })},
	{"groups", func(_ *Record, r *Result) string { return strconv.Itoa(r.Groups) }},
	{"stride", func(_ *Record, r *Result) string { return strconv.Itoa(r.Stride) }},
	{"setup", func(_ *Record, r *Result) string { return r.Setup }},
	{"time_rounding_lo_s", of(burst, rounding, func(i *Interval) string { return table.Number(&i.Lo) })},
	{"time_rounding_hi_s", of(burst, rounding, func(i *Interval) string { return table.Number(&i.Hi) })},
}

// CSV returns a header and one row per result or kernel. Rows depend only on the record: numbers
// have the shortest form that reads back exactly.
func (r *Record) CSV() (header []string, rows [][]string) {
	if r.OfKernels() {
		return rowsOf(r, kernelColumns, r.Kernels)
	}
	return rowsOf(r, columns, r.Results)
}

func rowsOf[Row any](rec *Record, columns []column[Row], rows []Row) (header []string, lines [][]string) {
	header, lines = slice.Map(columns, func(c column[Row]) string { return c.name }), make([][]string, len(rows))
	for i := range rows {
		lines[i] = slice.Map(columns, func(c column[Row]) string { return c.cell(rec, &rows[i]) })
	}
	return header, lines
}

// Function `of` returns a function that makes the cell for a part of a timing. The cell is empty
// if a result lacks the timing or the part.
func of[Part any](timing func(*Result) *Timing, part func(*Timing) *Part, cell func(*Part) string) func(*Record, *Result) string {
	return func(_ *Record, r *Result) string {
		if t := timing(r); t != nil && part(t) != nil {
			return cell(part(t))
		}
		return ""
	}
}

func burst(r *Result) *Timing { return r.Burst }
func alone(r *Result) *Timing { return r.Isolated }

func meanOfRanks(t *Timing) *stat.Summary { return t.MeanOfRanks }
func slowest(t *Timing) *stat.Summary     { return t.MaxOfRanks }
func spread(t *Timing) *stat.Summary      { return t.Spread }
func rounding(t *Timing) *Interval        { return t.Rounding }

// mean makes a cell of the burst's mean over ranks.
func mean(cell func(*stat.Summary) string) func(*Record, *Result) string {
	return of(burst, meanOfRanks, cell)
}

// isolated makes a cell of the isolated time of the slowest rank.
func isolated(cell func(*stat.Summary) string) func(*Record, *Result) string {
	return of(alone, slowest, cell)
}

func wrong(v Verified) string {
	if v.Wrong == nil {
		return ""
	}
	return strconv.FormatInt(*v.Wrong, 10)
}

// codes joins the codes of the warnings; the messages are in the JSON form.
func codes(ws []Warning) string {
	return strings.Join(slice.Map(ws, func(w Warning) string { return w.Code }), ";")
}
