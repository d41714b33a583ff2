package record

import (
	"bytes"
	"encoding/csv"
	"io"
	"strconv"
	"strings"
	"testing"

	"zbench/bench/show/table"

	"github.com/stretchr/testify/require"
)

func rows(t *testing.T, rec *Record) []map[string]string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, writeCSV(&b, rec))
	all, err := csv.NewReader(&b).ReadAll()
	require.NoError(t, err)
	var list []map[string]string
	for _, cells := range all[1:] {
		row := map[string]string{}
		for i, name := range all[0] {
			row[name] = cells[i]
		}
		list = append(list, row)
	}
	return list
}

// The header is an interface: readers name these columns.
func TestCSVHeader(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, writeCSV(&b, &Record{}))
	require.Equal(t, "key,collective,dtype,op,bytes_requested,bytes,count_elements,ranks,nodes,gpus_per_process,in_place,"+
		"status,reason,simulated,extrapolated,iterations,samples,time_s,time_lo_s,time_hi_s,time_min_s,time_max_s,"+
		"time_mean_s,time_p95_s,time_p99_s,time_cv,slowest_rank_time_s,isolated_slowest_rank_time_s,"+
		"algbw_Bps,busbw_Bps,headline,verified,wrong_elements,warnings,"+
		"effective_samples,isolated_samples,isolated_time_lo_s,isolated_time_hi_s,isolated_time_p95_s,isolated_spread_s,groups,stride,setup,time_rounding_lo_s,time_rounding_hi_s\n", b.String())
}

func TestCSVRows(t *testing.T) {
	rec := full()
	rec.Simulated = true
	got := rows(t, rec)
	require.Len(t, got, 3)
	ok, r := got[0], rec.Results[0]
	for name, want := range map[string]float64{
		"time_s": r.Burst.MeanOfRanks.Median, "time_lo_s": *r.Burst.MeanOfRanks.Lo, "time_hi_s": *r.Burst.MeanOfRanks.Hi,
		"time_min_s": r.Burst.MeanOfRanks.Min, "time_max_s": r.Burst.MeanOfRanks.Max, "time_mean_s": r.Burst.MeanOfRanks.Mean,
		"time_p95_s": *r.Burst.MeanOfRanks.P95, "time_p99_s": *r.Burst.MeanOfRanks.P99, "time_cv": *r.Burst.MeanOfRanks.CV,
		"slowest_rank_time_s": r.Burst.MaxOfRanks.Median, "isolated_slowest_rank_time_s": r.Isolated.MaxOfRanks.Median,
		"algbw_Bps": *r.AlgBW, "busbw_Bps": *r.BusBW, "bytes": 1 << 20, "bytes_requested": 1 << 20,
		"count_elements": 1 << 18, "ranks": 16, "nodes": 2, "gpus_per_process": 1, "groups": 4, "stride": 2, "samples": 120, "iterations": 20, "wrong_elements": 0,
		"time_rounding_lo_s": r.Burst.Rounding.Lo, "time_rounding_hi_s": r.Burst.Rounding.Hi,
	} {
		v, err := strconv.ParseFloat(ok[name], 64)
		require.NoError(t, err, name)
		require.Equal(t, want, v, name) // exact: the shortest form reads back
	}
	for name, want := range map[string]string{
		"key": r.Key, "collective": "all_reduce", "dtype": "float", "op": "sum", "in_place": "false", "status": "ok", "reason": "",
		"simulated": "true", "extrapolated": "true", "headline": HeadlineBurst, "verified": "ok", "warnings": "skew;few", "setup": "node-a:0",
	} {
		require.Equal(t, want, ok[name], name)
	}
	skipped := got[1]
	require.Equal(t, `rounds to 0, "8 B"`, skipped["reason"])
	for name, cell := range skipped {
		if strings.HasSuffix(name, "_s") || strings.HasSuffix(name, "Bps") || name == "samples" || name == "wrong_elements" {
			require.Empty(t, cell, "%s must be empty, not 0", name)
		}
	}
}

func writeCSV(w io.Writer, rec *Record) error {
	header, rows := rec.CSV()
	return table.CSV(w, header, rows)
}
