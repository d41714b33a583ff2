package formats

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/files/peers"
	"zbench/bench/run/record"
	"zbench/test/project"
)

// asNCCL writes a record as nccl-tests' JSON would of the same run, with what each version adds.
func asNCCL(t *testing.T, version int, rec *record.Record) string {
	t.Helper()
	type object = map[string]any
	var devices []object
	for i := range rec.Results[0].Ranks {
		devices = append(devices, object{"rank": i, "group": 0, "pid": 100 + i, "hostname": fmt.Sprint("h", i/8), "device": i % 8, "device_hex": "0000:05:00", "device_info": "GPU"})
	}
	rows := []object{}
	side := func(r *record.Result) object {
		return object{"time": r.Burst.MeanOfRanks.Median * 1e6, "alg_bw": *r.AlgBW / 1e9, "bus_bw": *r.BusBW / 1e9, "nwrong": 0.0}
	}
	for i := 0; i < len(rec.Results); i++ {
		a := &rec.Results[i]
		row := object{"size": a.Bytes, "count": a.Count, "type": a.Dtype, "redop": a.Op, "root": "    -1", "out_of_place": side(a)}
		if i+1 < len(rec.Results) && rec.Results[i+1].Bytes == a.Bytes {
			i++
			row["in_place"] = side(&rec.Results[i])
		}
		if version > 1 {
			row["out_of_place_per_iter"] = object{"min_us": 1.0, "times_us": []float64{1, 2, 3}}
		}
		if version > 3 {
			row["tuning"] = object{"algo": "RING", "proto": "LL", "#channels": 2}
		}
		rows = append(rows, row)
	}
	text, err := json.Marshal(object{
		"version": version, "args": []string{"./all_reduce_perf", "-b", "1M"}, "env": []string{"SECRET=size time algbw busbw"}, "nccl_version": 23007,
		"config":        object{"nthreads": 1, "ngpus": 1, "minimum_bytes": 8, "maximum_bytes": 1 << 30, "step_factor": 2, "warmup_iters": 5, "iterations": 20, "aggregated_iterations": 1, "validation": 1, "graph": 0, "devices": devices},
		"out_of_bounds": object{"count": 0, "okay": "true"}, "average_bus_bandwidth": object{"bandwidth": 1.5, "okay": "unchecked"},
	})
	require.NoError(t, err)
	all, err := json.Marshal(rows)
	require.NoError(t, err)
	// The results come last, as the tool writes them; the order of the others is Go's.
	return strings.TrimSuffix(string(text), "}") + `,"results":` + string(all) + "}"
}

// asRCCL writes a record as rccl-tests' -Z json does, as a list or as lines.
func asRCCL(rec *record.Record, lines bool) string {
	var rows []string
	for i := range rec.Results {
		r := &rec.Results[i]
		in := 0
		if r.InPlace {
			in = 1
		}
		rows = append(rows, fmt.Sprintf(`{"numCycle":0, "name":"AllReduce", "nodes":1, "ranks":%d, "ranksPerNode":%d, "gpusPerRank":1, "size":%d, "type":%q, "redop":%q, "inPlace":%d, "time":%f, "algBw":%f, "busBw":%f, "wrong":"0"}`,
			r.Ranks, r.Ranks, r.Bytes, r.Dtype, r.Op, in, r.Burst.MeanOfRanks.Median*1e6, *r.AlgBW/1e9, *r.BusBW/1e9))
	}
	if lines {
		return strings.Join(rows, "\n") + "\n"
	}
	return "[\n" + strings.Join(rows, ",\n") + "\n]\n"
}

// asRCCLCSV writes it as -Z csv does: 14 values beneath 13 names.
func asRCCLCSV(rec *record.Record) string {
	var b strings.Builder
	b.WriteString(rcclHeader)
	for i := range rec.Results {
		r := &rec.Results[i]
		in := 0
		if r.InPlace {
			in = 1
		}
		fmt.Fprintf(&b, "0,\"AllReduce\",1,%d,%d,1,%d,%q,%q,%d,%f,%f,%f,\"0\"\n", r.Ranks, r.Ranks, r.Bytes, r.Dtype, r.Op, in, r.Burst.MeanOfRanks.Median*1e6, *r.AlgBW/1e9, *r.BusBW/1e9)
	}
	return b.String()
}

// The JSON and the CSV of a run have the rows of its text.
func TestAllFormsOfARunHaveEqualRows(t *testing.T) {
	for _, file := range []string{"testdata/all_reduce.log", "testdata/logs/nccl219.log"} {
		log := project.Read(t, file)
		sameRows(t, curveOf(t, "a.log", log))
	}
}

func sameRows(t *testing.T, want *record.Record) {
	t.Helper()
	// Rows of some bytes round their bandwidths to nothing.
	want.Results = slices.DeleteFunc(want.Results, func(r record.Result) bool { return r.Bytes < 4096 || *r.BusBW <= 0 })
	forms := map[string]string{"rccl list": asRCCL(want, false), "rccl lines": asRCCL(want, true), "rccl csv": asRCCLCSV(want)}
	for version := 1; version <= 4; version++ {
		forms[fmt.Sprint("nccl v", version)] = asNCCL(t, version, want)
	}
	for name, form := range forms {
		got := curveOf(t, "f", form)
		require.Len(t, got.Results, len(want.Results), name)
		for i := range want.Results {
			a, b := &want.Results[i], &got.Results[i]
			require.Equal(t, []any{a.Collective, a.Dtype, a.Op, a.Bytes, a.Ranks, a.InPlace, a.Status}, []any{b.Collective, b.Dtype, b.Op, b.Bytes, b.Ranks, b.InPlace, b.Status}, name)
			require.InEpsilon(t, a.Burst.MeanOfRanks.Median, b.Burst.MeanOfRanks.Median, 1e-6, name)
		}
		require.NotContains(t, fmt.Sprintf("%+v", got), "SECRET", name)
	}
	// A file that breaks off keeps its rows, and says so.
	whole := asRCCL(want, false)
	cut := curveOf(t, "f", whole[:len(whole)*2/3])
	require.Greater(t, len(cut.Results), len(want.Results)/2)
	require.Equal(t, "json_cut", cut.Warnings[len(cut.Warnings)-1].Code)
}

// curveOf is the record of a file with one table.
func curveOf(t *testing.T, name, text string) *record.Record {
	t.Helper()
	recs, left, err := Curves(name, strings.NewReader(text), peers.Hints{})
	require.NoError(t, err, name)
	require.Empty(t, left)
	require.Len(t, recs, 1)
	return recs[0]
}
