package recommend

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/stat"
	"zbench/bench/files/formats"
	"zbench/bench/files/peers"
	"zbench/bench/run/record"
	"zbench/test/project"
	"zbench/test/recordtest"
)

const (
	roce    = "allreduce_mi300x_2node_16gpu_cx7roce"
	pollara = "allreduce_mi355x_2node_16gpu_pollara"
	oneNode = "allreduce_mi300x_1node_8gpu_rocmblog"
)

// Llama-3-8B in bfloat16 on DDP with 1,024 tokens a microbatch (79 ms of
// backward), replayed over published curves by a program of its own: exposed
// milliseconds by the cap in MiB. In it the embedding computes like the rest, and between two points of a curve the
// logarithm of the time is a straight line.
func TestPublishedReplays(t *testing.T) {
	caps := []int64{25, 50, 100, 200, 400, 800, 1600, 3200}
	for _, x := range []struct {
		name  string
		ranks int
		want  []float64
	}{
		{roce, 16, []float64{105, 95, 73, 28, 21, 16, 17, 24}},
		{pollara, 16, []float64{57, 51, 41, 22, 16, 10, 12, 20}},
		{oneNode, 8, []float64{25, 23, 21, 18, 17, 16, 19, 27}},
	} {
		q := ddp(straight(published(t, x.name, x.ranks)))
		work := float64(q.Params[0].Elements)
		q.Params[0].Work = &work
		for i, mib := range caps {
			q.Current = mib << 19
			a := ask(t, q)
			require.InDelta(t, x.want[i], a.Current.ExposedBackward*1e3, 1, "%s at %d MiB", x.name, mib)
		}
	}
}

// straight is a curve with eight points on the line from each of its points to the next.
func straight(c Curve) Curve {
	const n = 8
	var all []Point
	for i, p := range c.Points[1:] {
		before := c.Points[i]
		for k := range n {
			x := before
			w := float64(k) / n
			x.Bytes = int64(float64(x.Bytes) * math.Pow(float64(p.Bytes)/float64(x.Bytes), w))
			x.Seconds *= math.Pow(p.Seconds/x.Seconds, w)
			all = append(all, x)
		}
	}
	all = append(all, c.Points[len(c.Points)-1])
	c.Points = all
	return c
}

// What 25 MiB costs on two nodes over RoCE: most of the time of computation
// again, where nothing hides; and nothing where 8,192 tokens do.
func TestWhat25MiBCosts(t *testing.T) {
	q := ddp(published(t, roce, 16))
	q.Current = 25 << 19
	a := ask(t, q)
	compute := q.Backward + q.Forward
	require.InDelta(t, 0.91, a.Current.ExposedBackward/compute, 0.02)
	require.InDelta(t, 0.70, a.Current.Step/a.Best.Step-1, 0.02, "over the best")
	require.InDelta(t, 800, float64(a.Elements>>19), 300, "MiB")
	require.Equal(t, Low, reasons(a)["unproved"], "latency is a sixth of the step")
	require.Contains(t, codes(a.Warnings), "hole", "1 MiB takes longer than 2")
	require.Nil(t, a.Bootstrap)

	q.Backward, q.Forward = 628e-3, 314e-3
	a = ask(t, q)
	require.Less(t, a.Current.Score, 0.002)
	require.Equal(t, Medium, a.Confidence.Level)
	require.True(t, a.Plateau.OpenLo, "anything small does")
}

// One mean that is a hundred times off costs a point, not the answer, and rows
// that come twice change nothing.
func TestOutliersAndDuplicates(t *testing.T) {
	clean := ask(t, ddp(published(t, roce, 16)))
	ends := len(recordtest.Published(t, roce, 16).Results) - 1
	for i := range ends + 1 {
		if i%3 != 0 && i != ends {
			continue
		}
		rec := recordtest.Published(t, roce, 16)
		rec.Results[i].Burst.MeanOfRanks.Median *= 100
		a := ask(t, ddp(only(t, rec)))
		require.Contains(t, codes(a.Warnings), "dropped")
		q := ddp(published(t, roce, 16))
		q.Current = a.Elements
		require.Less(t, ask(t, q).Current.Nominal, 0.05, "%d bytes", rec.Results[i].Bytes)
	}
	rec := recordtest.Published(t, roce, 16)
	rec.Results = append(rec.Results, rec.Results...)
	twice := ask(t, ddp(only(t, rec)))
	require.Equal(t, clean.Elements, twice.Elements)
	require.Equal(t, clean.Table, twice.Table)
}

// judge asks about Llama-3-8B on DDP and requires an answer or a reason.
func judge(t *testing.T, name string, curves []Curve, ranks int) string {
	t.Helper()
	q := ddp(Curve{Ranks: max(2, ranks)})
	q.Curves = curves
	a, err := Ask(q)
	require.NoError(t, err, name)
	text(t, a)
	if a.Verdict == Refused {
		require.NotEmpty(t, a.Refusal.Message, name)
		t.Logf("%s: %s", name, a.Refusal.Message)
		return a.Refusal.Code
	}
	require.Equal(t, Recommended, a.Verdict, name)
	require.NotEqual(t, High, a.Confidence.Level, "%s: a log without spread", name)
	t.Logf("%s: %s elements (%s to %s), default %s more, %s", name, Count(a.Elements), Count(a.Plateau.Lo), Count(a.Plateau.Hi),
		percent(a.Default.Score-a.Best.Score), a.Confidence.Level)
	return ""
}

func TestDataLogsAreAnswered(t *testing.T) {
	dir := project.Published(t, "logs")
	want := map[string]string{
		"nccl-tests-2021_a100_1n8g_all_gather.log": "missing_curve",
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.[lj]*"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		name := filepath.Base(file)
		f, err := os.Open(file)
		require.NoError(t, err)
		recs, _, err := formats.Curves(name, f, peers.Hints{})
		require.NoError(t, f.Close())
		require.NoError(t, err, name)
		curves, err := Curves([]Source{{Record: recs[0]}})
		require.NoError(t, err, name)
		code := judge(t, name, curves, recs[0].World.Ranks)
		if w, ok := want[name]; ok {
			require.Equal(t, w, code, name)
		}
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(b)
}

func TestDataTablesAreAnswered(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(project.Published(t, "data"), "allreduce_*.csv"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	refused := map[string]string{
		"allreduce_mi300x_2node_16gpu_pollara_tail.csv": "few_sizes",
		"allreduce_mi300x_gpucount.csv":                 "few_sizes",
		"allreduce_mi350x_2node_algoproto.csv":          "few_sizes",
	}
	for _, file := range files {
		name := filepath.Base(file)
		ranks := 8
		if strings.Contains(name, "2node") {
			ranks = 16
		}
		rec := table(t, read(t, file), ranks)
		curves, err := Curves([]Source{{Record: rec}})
		require.NoError(t, err)
		require.Equal(t, refused[name], judge(t, name, curves, ranks), name)
	}
}

// table reads a published table of sizes with a time or a bus bandwidth.
func table(t *testing.T, text string, ranks int) *record.Record {
	t.Helper()
	rec := &record.Record{Schema: record.Schema, Source: record.Source{Kind: record.Imported}}
	var header []string
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		fields := strings.Split(lines.Text(), ",")
		switch {
		case strings.HasPrefix(lines.Text(), "#"):
			continue
		case header == nil:
			header = fields
			continue
		}
		row := map[string]float64{}
		for i, h := range header {
			row[h], _ = strconv.ParseFloat(fields[i], 64) // a column of words is no number
		}
		us := max(row["time_us"], row["derived_time_us"])
		if us == 0 {
			us = 2 * float64(ranks-1) / float64(ranks) * row["size_bytes"] / (row["busbw_GBs"] * 1e3)
		}
		rec.Results = append(rec.Results, record.Result{
			Case: record.Case{Key: fmt.Sprint(len(rec.Results)), Status: record.OK}, Collective: "all_reduce", Dtype: "float", Op: "sum", Bytes: int64(row["size_bytes"]),
			Ranks: ranks, Nodes: ranks / 8, GPUsPerProcess: 1, Groups: 1,
			Burst: &record.Timing{MeanOfRanks: stat.Summarize([]float64{us * 1e-6})},
		})
	}
	return rec
}
