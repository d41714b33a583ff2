package recommend

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/run/record"
	"zbench/test/schematest"
)

// Every answer fits, of an empty record too, and what no answer has is refused.
func TestSchemaRefuses(t *testing.T) {
	schema := schematest.Read(t, "schema/knees-v1.json")
	s := schematest.Compile(t, schema)
	rec := kneeSweep(t, kneeNode, kneeWide(), alphaBeta)
	for _, rec := range []*record.Record{{}, kneeSweep(t, kneeNode, kneeWide()[:3], alphaBeta), rec} {
		require.NoError(t, schematest.Fits(t, s, schematest.Written(t, KneesOf(rec))))
	}
	a := KneesOf(rec)
	a.Warnings = append(a.Warnings, record.Warning{Code: "c", Message: "m", Hint: "h"})
	c := &a.Curves[0]
	c.Stride, c.Setup, c.Reason, c.LastOctaveGrowth = 8, "s", "r", new(-0.5)
	c.Holes = append(c.Holes, Hole{Kind: TimeFalls})
	c.Points[0].UpToBytes = new(int64(7))
	good := schematest.Written(t, a)
	schematest.Refuses(t, schema, schematest.Changes{Good: good, Bad: map[string]string{
		"/schema":                `"zbench.bucket/0"`,
		"/curves/0/collective":   `"all_reduce_perf"`,
		"/curves/0/holes/0/kind": `"black"`,
	}})
}
