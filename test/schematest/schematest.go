// Package schematest holds JSON Schemas against what is written, and against values that
// nothing writes.
package schematest

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
)

// Compiled makes a schema ready, formats of texts included.
func Compiled(schema []byte) (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("schema.json", doc); err != nil {
		return nil, err
	}
	return c.Compile("schema.json")
}

// Compile makes a schema ready for Fits.
func Compile(t testing.TB, schema []byte) *jsonschema.Schema {
	t.Helper()
	s, err := Compiled(schema)
	require.NoError(t, err)
	return s
}

// Fits says where a document, which must be JSON, does not fit the schema.
func Fits(t testing.TB, s *jsonschema.Schema, text string) error {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	require.NoError(t, err, text)
	return s.Validate(doc)
}

// Read is a committed schema, named from the package's folder.
func Read(t testing.TB, file string) []byte {
	t.Helper()
	schema, err := os.ReadFile(file)
	require.NoError(t, err)
	return schema
}

// Written is a document as its file has it.
func Written(t testing.TB, d interface{ WriteJSON(w io.Writer) error }) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, d.WriteJSON(&b))
	return b.String()
}
