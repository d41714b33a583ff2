package trace

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/test/schematest"
)

// Every answer fits its schema: of an empty trace, of one rank and of four.
func TestSchemaFits(t *testing.T) {
	text, err := os.ReadFile("schema/v1.json")
	require.NoError(t, err)
	s := schematest.Compile(t, text)
	four := world(4, 10, func(r, _ int) float64 { return float64(r) * 1e-3 }, 1e-3)
	one := world(4, 10, func(r, _ int) float64 { return float64(r) * 1e-3 }, 1e-3)
	one.Ranks = one.Ranks[1:2]
	one.Ranks[0].Whole, one.Ranks[0].Computing = true, []Span{{0, 1}}
	one.Foreign = []Foreign{{"DeepEP", 3, 0.1}}
	for _, tr := range []*Trace{{}, four, one} {
		var b bytes.Buffer
		require.NoError(t, Answer(tr, func(_ string, bytes int64, _ int) (float64, string) { return float64(bytes) / 1e9, "x" }).WriteJSON(&b))
		require.NoError(t, schematest.Fits(t, s, b.String()))
	}
}
