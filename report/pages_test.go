package report

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"zbench/bench/results"
	"zbench/test/recordtest"

	"github.com/stretchr/testify/require"
)

var pages = flag.String("pages", "", "write sample pages and pictures into this folder, to look at")

// TestWritePages leaves pages for eyes and for test/browser:
//
//	go test ./report -run WritePages -pages /tmp/pages
func TestWritePages(t *testing.T) {
	if *pages == "" {
		t.Skip("no -pages folder given")
	}
	records := edges()
	records["sweep"], records["imported"] = recordtest.Sweep(24), imported()
	for name, rec := range records {
		page := results.Collectives(rec, results.Extras{Knees: knees(), Command: "zbench collectives --nodes 128"})
		stem := filepath.Join(*pages, strings.ReplaceAll(name, " ", "-"))
		require.NoError(t, os.WriteFile(stem+".html", []byte(writeHTML(t, page)), 0o644))
		for _, c := range allCharts(rec) {
			f, err := os.Create(stem + "-" + c.ID + ".png")
			require.NoError(t, err)
			require.NoError(t, WritePNG(f, c))
			require.NoError(t, f.Close())
			require.NoError(t, os.WriteFile(stem+"-"+c.ID+".svg", []byte(svg(t, c)), 0o644))
		}
	}
}
