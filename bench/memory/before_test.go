package memory

import (
	"testing"

	"zbench/internal/schematest"
)

// What the schema refused that was written by hand is still refused.
func TestStillRefused(t *testing.T) {
	schematest.AtLeast(t, schematest.CompileOld(t, "testdata/old/v1.json"), schematest.Compile(t, SchemaJSON), badRecord(t))
}
