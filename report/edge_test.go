package report

import (
	"bytes"
	"errors"
	"image/png"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/stat"
	"zbench/bench/results"
	"zbench/bench/run/record"
	"zbench/test/longtest"
	"zbench/test/recordtest"
)

// edges are unusual records that users can still have.
func edges() map[string]*record.Record {
	single := recordtest.Sweep(24)
	single.Results = single.Results[20:21]
	failed := recordtest.Sweep(4)
	for i := range failed.Results {
		failed.Results[i].Status, failed.Results[i].Reason = record.Failed, "ncclInternalError"
	}
	oneRank := recordtest.Sweep(12)
	oneRank.World.Ranks = 1
	for i := range oneRank.Results {
		zero := 0.0
		oneRank.Results[i].BusBW = &zero
	}
	huge := recordtest.Sweep(24)
	for i := range huge.Results {
		huge.Results[i].Bytes = 1 << 62
		huge.Results[i].Count = math.MaxInt64
	}
	slow := recordtest.Sweep(8)
	for i := range slow.Results {
		scale(&slow.Results[i], 1e6)
	}
	noRoofs := recordtest.Sweep(8)
	noRoofs.Fabric = nil
	stray := recordtest.BothPlaces(8, 1)
	for i := range stray.Results {
		if t := stray.Results[i].Isolated; t != nil {
			t.MaxOfRanks.Max *= 100
		}
	}
	faults := recordtest.BothPlaces(8, 1.2)
	faults.Spec.Faults = []string{"late_gpu:node=0,gpu=5,seconds=2e-5", "slow_link:" + strings.Repeat("node=0, ", 20)}
	twice := recordtest.Sweep(8)
	twice.Results = append(twice.Results, twice.Results...)
	return map[string]*record.Record{
		"empty": {}, "single": single, "failed": failed, "one rank": oneRank, "huge": huge,
		"slow": slow, "no roofs": noRoofs, "stray": stray, "faults": faults, "twice": twice, "not finite": notFinite(), "many roofs": manyRoofs(), "many curves": manyCurves(),
	}
}

func scale(r *record.Result, by float64) {
	if r.Burst == nil {
		return
	}
	r.Burst.MeanOfRanks.Median *= by
	*r.BusBW /= by * by
}

func notFinite() *record.Record {
	rec := recordtest.Sweep(8)
	bad := []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1, 0, 5e-324, math.MaxFloat64, 1e-30}
	for i := range rec.Results {
		v := bad[i%len(bad)]
		r := &rec.Results[i]
		r.Bytes, r.Status = int64(8)<<i, record.OK
		r.AlgBW, r.BusBW = &v, &v
		r.Burst = &record.Timing{MeanOfRanks: &stat.Summary{Median: v, Lo: &v, Hi: &v}}
		r.Isolated = &record.Timing{MaxOfRanks: &stat.Summary{Median: v}}
		if i%5 == 0 {
			r.Bytes, r.Count, r.Ranks = -8, -1, -3
		}
	}
	for _, v := range bad {
		rec.Fabric.Roofs = append(rec.Fabric.Roofs, record.Roof{Label: "bad", BusBW: v})
	}
	rec.Fabric.Roofs = rec.Fabric.Roofs[:len(rec.Fabric.Roofs)-2]
	return rec
}

func manyRoofs() *record.Record {
	rec := recordtest.Sweep(24)
	for i := range 30 {
		rec.Fabric.Roofs = append(rec.Fabric.Roofs, record.Roof{
			Label: "a roof with a rather long label that says where it is from", BusBW: 340e9 + float64(i)*1e9,
		})
	}
	return rec
}

func manyCurves() *record.Record {
	rec := recordtest.Sweep(12)
	base := rec.Results
	for i := range 12 {
		for _, r := range base {
			r.Collective += strings.Repeat("_x", i)
			r.InPlace = i%2 == 0
			rec.Results = append(rec.Results, r)
		}
	}
	return rec
}

func TestLongEdges(t *testing.T) {
	longtest.Only(t)
	for name, rec := range edges() {
		t.Run(name, func(t *testing.T) {
			page := pageOf(t, rec)
			elements(t, page)
			noNaN(t, page)
			noNaN(t, tableText(t, rec))
			noNaN(t, markdownText(t, rec))
			for _, c := range allCharts(rec) {
				picture := svg(t, c)
				elements(t, picture)
				noNaN(t, picture)
				for _, f := range []format{wide(), narrow(), small(), alone()} {
					checkGeometry(t, layOut(c, f), name)
				}
			}
		})
	}
}

func noNaN(t *testing.T, text string) {
	t.Helper()
	for _, bad := range []string{"NaN", "+Inf", "-Inf", "%!", "<nil>"} {
		if at := strings.Index(withoutScript(text), bad); at >= 0 {
			t.Errorf("%s in …%s…", bad, withoutScript(text)[max(0, at-80):at+20])
		}
	}
}

func TestTableFitsTheTerminal(t *testing.T) {
	for name, rec := range edges() {
		if name == "not finite" || name == "huge" {
			continue // figures of 300 digits do not fit
		}
		for line := range strings.Lines(tableText(t, rec)) {
			require.LessOrEqual(t, len([]rune(strings.TrimRight(line, "\n"))), 120, "%s: %s", name, line)
		}
	}
}

func TestPNG(t *testing.T) {
	longtest.OneGoroutine(t)
	for _, c := range allCharts(recordtest.Sweep(24)) {
		var first, second bytes.Buffer
		require.NoError(t, WritePNG(&first, c))
		require.NoError(t, WritePNG(&second, c))
		require.True(t, bytes.Equal(first.Bytes(), second.Bytes()), "two writes differ")
		cfg, err := png.DecodeConfig(&first)
		require.NoError(t, err)
		require.Equal(t, []int{1200, 700}, []int{cfg.Width, cfg.Height})
	}
	for name, rec := range edges() {
		if name == "many curves" || name == "not finite" || name == "empty" {
			require.NoError(t, WritePNG(&bytes.Buffer{}, sizeCharts(rec)[0]), name)
		}
	}
}

func TestSameInputSameBytes(t *testing.T) {
	first, second := pageOf(t, recordtest.Sweep(24)), pageOf(t, recordtest.Sweep(24))
	require.Equal(t, first, second)
	first, second = tableText(t, recordtest.Sweep(24)), tableText(t, recordtest.Sweep(24))
	require.Equal(t, first, second)
	first, second = svg(t, sizeCharts(recordtest.Sweep(24))[0]), svg(t, sizeCharts(recordtest.Sweep(24))[0])
	require.Equal(t, first, second)
}

// full is a writer that has no room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestWriteErrorsAreReturned(t *testing.T) {
	c := sizeCharts(recordtest.Sweep(3))[0]
	for _, err := range []error{WriteHTML(full{}, results.Collectives(recordtest.Sweep(3), results.Extras{})), WriteSVG(full{}, c), WritePNG(full{}, c)} {
		require.ErrorContains(t, err, "no space left")
	}
}
