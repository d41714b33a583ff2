package doctor

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/internal/native"
	"zbench/test/schematest"
)

// Every report fits, one that found nothing too, and what no report has is refused.
func TestSchemaRefuses(t *testing.T) {
	schema := schematest.Read(t, "schema/v1.json")
	s := schematest.Compile(t, schema)
	require.NoError(t, schematest.Fits(t, s, schematest.Written(t, &Report{Schema: Schema})))
	r := sample()
	require.NoError(t, schematest.Fits(t, s, schematest.Written(t, &r)))
	full := &r.Backends[1]
	full.Why, full.Remedy, full.Simulated = "w", "r", true
	full.Libraries[0].Lost, full.Libraries[0].Attempts = "l", []native.Attempt{{Path: "p", Why: "w", Absent: true}}
	full.Devices[0].Err = "e"
	full.Compiled = []Compiled{{Arch: "gfx942", Errors: []string{"e"}}}
	r.Backends = r.Backends[1:]
	r.Machine = append([]Item{{Mark: Bad, Name: "n", Value: "v", Lost: "l", Remedy: "r"}, {Mark: Warn, Name: "n", Value: "v"}}, r.Machine...)
	good := schematest.Written(t, &r)
	schematest.Refuses(t, schema, schematest.Changes{Good: good, Bad: map[string]string{
		"/schema":         `"zbench.doctor/0"`,
		"/machine/0/mark": `"fine"`,
		"/machine/1/mark": `"bad"`,
	}})
}
