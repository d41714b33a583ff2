// Package schematest checks JSON Schemas against documents that zbench writes, and against values
// that it never writes.
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

// Compiled compiles a schema, with checks of text formats.
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

// Compile compiles a schema for Fits.
func Compile(t testing.TB, schema []byte) *jsonschema.Schema {
	t.Helper()
	s, err := Compiled(schema)
	require.NoError(t, err)
	return s
}

// Fits returns an error that says where a document, which must be JSON, does not fit the schema.
func Fits(t testing.TB, s *jsonschema.Schema, text string) error {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	require.NoError(t, err, text)
	return s.Validate(doc)
}

// Read returns a committed schema. file is relative to the folder of the package.
func Read(t testing.TB, file string) []byte {
	t.Helper()
	schema, err := os.ReadFile(file)
	require.NoError(t, err)
	return schema
}

// Written returns a document as it is written to its file.
func Written(t testing.TB, d interface{ WriteJSON(w io.Writer) error }) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, d.WriteJSON(&b))
	return b.String()
}
