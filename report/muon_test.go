package report

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zbench/bench/muon"
)

func muonPage(t *testing.T, r *muon.Report) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, WriteHTML(&b, Muon(r, "zbench kernels muon --shape 8x4")))
	return b.String()
}

// Each shape has its speeds with the numerics that belong to them, and nothing of
// another shape.
func TestMuonPage(t *testing.T) {
	time1, ratio := 2e-6, 1.5
	shape := func(rows int) muon.ShapeFacts {
		return muon.ShapeFacts{Shape: muon.Shape{Rows: rows, Cols: 4, Batch: 1}, Measured: 1, Rows: []muon.Row{{What: "X·Xᵀ", Seconds: &time1, ToFull: &ratio}}}
	}
	check := func(of string, found float64) muon.Check {
		return muon.Check{Of: of, Shape: of, What: "update <" + of + ">", Found: muon.Error{Frobenius: found}, Bar: muon.Tolerance}
	}
	r := &muon.Report{Device: "a GPU", Backend: "rocm", Created: time.Unix(0, 0), Vendor: "library not found", Shapes: []muon.ShapeFacts{shape(8), shape(9)}, Checks: []muon.Check{check("8x4", 0.01), check("9x4", 0.02)}}
	page := muonPage(t, r)
	parts := strings.Split(page, "<section ")
	require.Len(t, parts, 5, "two shapes, the set-up, the command")
	require.Contains(t, parts[1], "8x4")
	require.NotContains(t, parts[1], "9x4")
	for _, want := range []string{"update &lt;8x4&gt;", "<td class=\"l\">2</td>", "<td class=\"l\">1.5</td>", "<caption>Numerics</caption>"} {
		require.Contains(t, parts[1], want)
	}
	require.Contains(t, page, "library not found")
	require.NotContains(t, page, "NOT TIMED")
	require.NotContains(t, page, "WRONG")
	require.NotContains(t, page, "INTERRUPTED")
	r.Asked, r.Done = []string{"8x4", "9x4", "7x7 q"}, 2
	require.Contains(t, muonPage(t, r), "INTERRUPTED</strong> 2 of 3 shapes are done; the others are not here: 7x7 q.")

	r.Checks[1].Found.Frobenius = 0.04
	page = muonPage(t, r)
	require.Contains(t, page, "WRONG DATA</strong> 1 check ")
	require.Equal(t, 1, strings.Count(page, "<td class=\"l\">WRONG</td>"))
}

func TestMuonPageEmulated(t *testing.T) {
	page := muonPage(t, &muon.Report{Device: "emulated", Backend: "loopback", Emulated: true, Checks: []muon.Check{{Of: "8x4", Shape: "8x4", What: "update"}}})
	require.Contains(t, page, "RESULTS CHECKED, NOT TIMED")
	require.NotContains(t, page, "<caption>Speed</caption>")
	require.NotContains(t, page, "vendor")
}
