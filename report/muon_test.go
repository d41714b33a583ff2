package report

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/results"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
	"zbench/bench/work/muon"
)

func muonPage(t *testing.T, rec *record.Record) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, WriteHTML(&b, results.Kernels(rec, "zbench kernels muon --shape 8x4")))
	if dir := os.Getenv("ZBENCH_PAGES"); dir != "" && !rec.Emulated() { // for the eye, and for a browser
		require.NoError(t, os.WriteFile(filepath.Join(dir, "muon-timed.html"), b.Bytes(), 0o600))
	}
	return b.String()
}

// muonRow is a product of a shape with a check that found so much.
func muonRow(rows int64, shape string, found float64) record.Kernel {
	k := timedResult("X·Xᵀ", "bfloat16", record.Own, 64, 2e-6, 1)
	k.Shape = record.Shape{Rows: rows, Cols: 4, Batch: 1, Measured: 1}
	k.Metrics.ToFull = new(1.5)
	k.Verified = record.Verified{State: record.VerifiedOK, Checks: []record.Check{{Shape: shape, What: "update <" + shape + ">", Found: record.Deviation{Frobenius: found}, Bar: record.Deviation{Frobenius: 0.03, Max: 0.02}}}}
	return k
}

func muonOf(rows ...record.Kernel) *record.Record {
	rec := memoryOf(spec.Muon, rows...)
	rec.Source.Vendor, rec.Spec.Kernels.Coefficients = "library not found", "you"
	return rec
}

// Each shape has its speeds with the numerics that belong to them, and nothing of
// another shape; each speed has its interval, its samples and why it ended.
func TestMuonPage(t *testing.T) {
	again := muonRow(8, "8x4", 0.01)
	again.Kernel = muon.Iteration
	rec := muonOf(muonRow(8, "8x4", 0.01), again, muonRow(9, "9x4", 0.02))
	page := muonPage(t, rec)
	_, main, _ := strings.Cut(page, "<main")
	parts := strings.Split(main, "<section ")
	require.Len(t, parts, 5, "two shapes, the set-up, the command")
	require.Contains(t, parts[1], "8x4")
	require.NotContains(t, parts[1], "9x4")
	s := rec.Kernels[0].Timing.Seconds
	for _, want := range []string{
		"update &lt;8x4&gt;", "<td>" + micros(s.Median) + "</td>", "<td>1.5</td>", "<caption>Numerics</caption>",
		"[" + micros(*s.Lo) + ", " + micros(*s.Hi) + "]", "<td class=\"l\">7</td>", "<td class=\"l\">precision</td>", muon.Iteration,
	} {
		require.Contains(t, parts[1], want)
	}
	require.Equal(t, 1, strings.Count(parts[1], "update &lt;"), "a check of two rows is said once")
	require.Contains(t, page, "library not found")
	require.NotContains(t, page, "NOT TIMED")
	require.NotContains(t, page, "WRONG")
	require.NotContains(t, page, "INTERRUPTED")
	open := muonRow(7, "7x4", 0)
	open.Status, open.Reason = record.Interrupted, "stopped after 1 of 2 passes"
	page = muonPage(t, muonOf(muonRow(8, "8x4", 0.01), open))
	require.Contains(t, page, "INTERRUPTED</strong> 1 of 2 rows are not finished")
	require.Contains(t, page, "7x4, X·Xᵀ: interrupted: stopped after 1 of 2 passes")

	page = muonPage(t, muonOf(muonRow(8, "8x4", 0.04)))
	require.Contains(t, page, "WRONG DATA</strong> 1 check ")
	require.Equal(t, 1, strings.Count(page, "<td class=\"l\">WRONG</td>"))
}

func TestMuonPageEmulated(t *testing.T) {
	k := muonRow(8, "8x4", 0)
	k.Timing, k.Metrics = nil, record.Metrics{}
	rec := muonOf(k)
	rec.World.Devices[0].Kind = record.Checked
	page := muonPage(t, rec)
	require.Contains(t, page, "RESULTS CHECKED, NOT TIMED")
	require.NotContains(t, page, "<caption>Speed</caption>")
	require.NotContains(t, page, "vendor")
	require.Contains(t, muonPage(t, memoryOf(spec.Muon)), "Muon on")
}

// micros is a time in µs as Muon's table has it.
func micros(seconds float64) string { return strconv.FormatFloat(seconds*1e6, 'g', 4, 64) }
