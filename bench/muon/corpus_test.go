package muon

import (
	"testing"

	"zbench/internal/schematest"
)

// What no record has is refused.
func TestSchemaIsTight(t *testing.T) {
	schematest.Tight(t, schematest.Compile(t, SchemaJSON), func() any { return &Report{} }, encoded(t, full()), encoded(t, &Report{Schema: Schema, Emulated: true}))
	schematest.Refuses(t, SchemaJSON, schematest.Changes{Good: encoded(t, full()), Bad: map[string]string{
		"/schema":  `"zbench.muon/2"`,
		"/created": `"2 Jan 2026"`,
	}})
}
