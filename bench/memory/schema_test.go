package memory

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/internal/schematest"
)

// A record fits, and so does a journal's first line.
func TestRecordsFitTheSchema(t *testing.T) {
	s := schematest.Compile(t, SchemaJSON)
	bare := &Record{Schema: Schema, Command: "rmsnorm", Source: full().Source, Asked: Asked{Data: "random"}}
	for _, text := range []string{encoded(t, full()), encoded(t, bare), schematest.Unsealed(string(journal(t, full())))} {
		require.NoError(t, schematest.Fits(t, s, text))
	}
}

func TestSchemaIsTheGoTypes(t *testing.T) {
	schematest.IsTheGoType(t, SchemaJSON, Schema, reflect.TypeFor[Record]())
}

func TestSchemaRejects(t *testing.T) {
	schematest.Rejects(t, schematest.Compile(t, SchemaJSON), encoded(t, full()), map[string][2]string{
		"wrong status":       {`"status": "wrong_data"`, `"status": "fine"`},
		"unknown role":       {`"role": "preset"`, `"role": "fast"`},
		"unknown field":      {`"moved":`, `"later": 1, "moved":`},
		"another version":    {Schema, "zbench.memory/2"},
		"negative time":      {`"median": `, `"median": -`},
		"size as text":       {`"array": 4096`, `"array": "4K"`},
		"a rate of nothing":  {`"rate": `, `"rate": 0, "x": `},
		"a kind of its own":  {`"kind": "GPU memory"`, `"kind": "memory"`},
		"peak not there":     {`"peak": `, `"top": `},
		"a date that is not": {"2026-01-02T", "2 Jan "},
	})
}
