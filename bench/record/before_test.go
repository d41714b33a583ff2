package record

import (
	"bytes"
	"io"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/internal/schematest"
)

// What the schemas refused that were written by hand is still refused.
func TestStillRefused(t *testing.T) {
	old := "testdata/old/"
	schematest.AtLeast(t, schematest.CompileOld(t, old+"v1.json"), schematest.Compile(t, SchemaJSON), badRecords(t)...)
	schematest.AtLeast(t, schematest.CompileOld(t, old+"journal-v2.json", old+"v1.json"), schematest.Compile(t, JournalSchemaJSON),
		slices.Concat(badHeaders(t), badParts(t), badFurther(t))...)
	var index bytes.Buffer
	require.NoError(t, WriteSamples(io.Discard, &index, begun().Record.Results, parts()))
	schematest.AtLeast(t, schematest.CompileOld(t, old+"samples-v1.json"), schematest.Compile(t, SamplesSchemaJSON), schematest.Changes{Good: index.String()})
}
