package schematest

import (
	"os"
	"slices"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
)

// CompileOld is Compile for a schema that refers to others by their $id.
func CompileOld(t testing.TB, files ...string) *jsonschema.Schema {
	t.Helper()
	c, first := jsonschema.NewCompiler(), ""
	c.AssertFormat()
	for i, file := range files {
		b, err := os.ReadFile(file)
		require.NoError(t, err)
		doc := document(t, string(b))
		id, _ := doc.(map[string]any)["$id"].(string)
		if id == "" {
			id = file
		}
		if i == 0 {
			first = id
		}
		require.NoError(t, c.AddResource(id, doc))
	}
	s, err := c.Compile(first)
	require.NoError(t, err)
	return s
}

// AtLeast fails where one schema accepts a change of Mutate, or one of Refuses, that
// another schema refuses.
func AtLeast(t testing.TB, before, now *jsonschema.Schema, docs ...Changes) {
	t.Helper()
	refused := 0
	var lost []string
	note := func(what string, doc any) {
		if before.Validate(doc) == nil {
			return
		}
		refused++
		if now.Validate(doc) == nil {
			lost = append(lost, what)
		}
	}
	for _, c := range docs {
		require.NoError(t, Fits(t, before, c.Good))
		require.NoError(t, Fits(t, now, c.Good))
		Mutate(shortened(document(t, c.Good)), func(where, what string, changed any) { note(what+" "+where, changed) })
		for where, values := range c.Bad {
			for _, value := range parsed(t, values) {
				note(where, replaced(t, document(t, c.Good), where, value))
			}
		}
	}
	slices.Sort(lost)
	require.Empty(t, slices.Compact(lost), "changes that were refused")
	t.Logf("%d changes were refused and are", refused)
}
