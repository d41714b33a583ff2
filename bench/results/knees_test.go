package results

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/answers/recommend"
	"zbench/test/recordtest"
	"zbench/test/rendertest"
)

// The sizes near the plateau are labelled, say what a bucket size still takes, and name what is not known.
func TestKneesForPeople(t *testing.T) {
	a := recommend.KneesOf(recordtest.Sweep(24))
	a.Curves[0].Points[0].Elements = 0
	a.Curves[1].Setup = "node-c:0 node-d:0"
	require.NotEmpty(t, a.Needs)
	text := rendertest.Text(t, Knees(&a), 100, false)
	require.True(t, strings.HasPrefix(text, "SIMULATED"), text)
	for _, want := range []string{"unknown", "node-c:0 node-d:0", "MiB", "GB/s", "What is still needed"} {
		require.Contains(t, text, want)
	}
	for _, n := range a.Needs {
		require.Contains(t, strings.Join(strings.Fields(text), " "), n.What)
	}
	require.Contains(t, rendertest.Markdown(t, Knees(&a)), " unknown |")
}
