package schematest_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/test/schematest"
)

// Every value is changed in every way that its type has, and the document is the
// same afterwards.
func TestMutate(t *testing.T) {
	const text = `{"list":[{"n":2}],"name":"x","on":true,"void":null}`
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var doc any
	require.NoError(t, d.Decode(&doc))
	changes := map[string]int{}
	schematest.Mutate(doc, func(where, what string, changed any) {
		got, err := json.Marshal(changed)
		require.NoError(t, err)
		if what != schematest.Null || where != "/void" {
			require.NotEqual(t, text, string(got), "%s %s", where, what)
		}
		changes[where+" "+what]++
	})
	after, err := json.Marshal(doc)
	require.NoError(t, err)
	require.JSONEq(t, text, string(after))
	for _, want := range []string{
		" unknown", " null", " retyped", "/list dropped", "/list emptied", "/list/* unknown", "/list/* retyped", "/list/*/n negative",
		"/list/*/n fraction", "/list/*/n dropped", "/name reworded", "/name emptied", "/on retyped", "/void dropped",
	} {
		require.NotZero(t, changes[want], want)
	}
	require.Zero(t, changes["/name negative"])
}
