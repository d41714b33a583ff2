// Package schematest holds JSON Schemas against the Go types they describe and
// the documents that are written. For tests alone.
package schematest

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
)

// Object is what the tests read of a JSON Schema.
type Object struct {
	ID                   string             `json:"$id"`
	Ref                  string             `json:"$ref"`
	Type                 any                `json:"type"`
	Description          string             `json:"description"`
	AdditionalProperties *bool              `json:"additionalProperties"`
	Required             []string           `json:"required"`
	Properties           map[string]*Object `json:"properties"`
	Items                *Object            `json:"items"`
	AnyOf                []*Object          `json:"anyOf"`
	Const                any                `json:"const"`
	Defs                 map[string]*Object `json:"$defs"`
}

// Parse reads a schema.
func Parse(t testing.TB, schema []byte) *Object {
	t.Helper()
	root := &Object{}
	require.NoError(t, json.Unmarshal(schema, root))
	return root
}

// Compile makes a schema ready for Fits, formats of texts included; others are
// those that it refers to.
func Compile(t testing.TB, schema []byte, others ...[]byte) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	name := func(schema []byte) string {
		if id := Parse(t, schema).ID; id != "" {
			return id
		}
		return "v1.json"
	}
	for _, text := range append(others, schema) {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		require.NoError(t, err)
		require.NoError(t, c.AddResource(name(text), doc))
	}
	s, err := c.Compile(name(schema))
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

// Rejects makes each change, one text for another, to a document that fits, and
// fails where the result still does.
func Rejects(t *testing.T, s *jsonschema.Schema, good string, changes map[string][2]string) {
	t.Helper()
	require.NoError(t, Fits(t, s, good))
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			bad := strings.Replace(good, change[0], change[1], 1)
			require.NotEqual(t, good, bad, "the change changed nothing")
			require.Error(t, Fits(t, s, bad))
		})
	}
}
