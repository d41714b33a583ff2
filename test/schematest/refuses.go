package schematest

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
)

// Changes are values for single places of a document that fits. The keys are JSON pointers, whose
// last part may be new. The values are JSON texts separated by spaces.
type Changes struct {
	Good string
	Bad  map[string]string
}

// Refuses makes each change separately and fails if the result still fits. It also fails if the
// schema has a keyword that limits values, such as enum, but refuses none of the changed documents.
// The types and keys follow from the Go type; TestSchemasAreClosed in test/schema checks them.
func Refuses(t testing.TB, schema []byte, all ...Changes) {
	t.Helper()
	if testing.Short() {
		t.Skip("thousands of documents, one after the other, have nothing for the race detector: run without -short")
	}
	s := Compile(t, schema)
	var refused []any
	for _, c := range all {
		require.NoError(t, Fits(t, s, c.Good))
		good, badJudgement := judged(t, c.Good)
		for _, changes := range []map[string]string{c.Bad, badJudgement} {
			for where, values := range changes {
				for _, value := range parsed(t, values) {
					bad := replaced(t, document(t, text(t, good)), where, value)
					require.Error(t, s.Validate(bad), "%s = %v is accepted", where, value)
					refused = append(refused, bad)
				}
			}
		}
	}
	require.Empty(t, idle(t, schema, refused), "no change meets these keywords: add one")
}

// parsed returns JSON texts that are separated by spaces as values.
func parsed(t testing.TB, values string) []any {
	t.Helper()
	var list []any
	d := json.NewDecoder(strings.NewReader(values))
	d.UseNumber()
	for d.More() {
		var value any
		require.NoError(t, d.Decode(&value), values)
		list = append(list, value)
	}
	return list
}

// idle lists the keywords without which the schema would still refuse all of these documents.
func idle(t testing.TB, schema []byte, refused []any) []string {
	t.Helper()
	root := document(t, string(schema))
	var list []string
	keywords(root, "", func(where string) {
		s := Compile(t, []byte(text(t, root)))
		if !slices.ContainsFunc(refused, func(doc any) bool { return s.Validate(doc) == nil }) {
			list = append(list, where)
		}
	})
	slices.Sort(list)
	return list
}

// keywords removes, one at a time, each keyword that the change of a single value can violate, and
// calls visit.
func keywords(v any, where string, visit func(string)) {
	switch v := v.(type) {
	case []any:
		for i, inner := range v {
			keywords(inner, where+"/"+strconv.Itoa(i), visit)
		}
	case map[string]any:
		names := strings.HasSuffix(where, "/properties") || strings.HasSuffix(where, "/$defs")
		for key, inner := range v {
			if !names && meets(key, inner) {
				delete(v, key)
				visit(where + "/" + key)
				v[key] = inner
			}
			if key != "if" {
				keywords(inner, where+"/"+key, visit)
			}
		}
	}
}

// meets reports whether a keyword can refuse values of the right type and sign.
func meets(key string, value any) bool {
	switch key {
	case "enum", "const", "pattern", "format", "minLength", "maximum", "exclusiveMinimum", "minItems", "uniqueItems", "then", "else":
		return true
	case "minimum":
		return value != json.Number("0")
	}
	return false
}

// replaced returns the document with the value at the place of the pointer.
func replaced(t testing.TB, doc any, pointer string, value any) any {
	t.Helper()
	at := doc
	keys := strings.Split(pointer, "/")[1:]
	for i, key := range keys {
		last := i == len(keys)-1
		switch in := at.(type) {
		case map[string]any:
			if last {
				in[key] = value
			}
			at = in[key]
		case []any:
			n, err := strconv.Atoi(key)
			require.NoError(t, err, "%s: %s is no place in a list", pointer, key)
			require.Less(t, n, len(in), "%s: the list has %d values", pointer, len(in))
			if last {
				in[n] = value
			}
			at = in[n]
		default:
			require.Fail(t, "a pointer leads nowhere", "%s: there is no %q", pointer, key)
		}
	}
	return doc
}

func document(t testing.TB, text string) any {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	require.NoError(t, err, text)
	return doc
}

func text(t testing.TB, doc any) string {
	t.Helper()
	b, err := json.Marshal(doc)
	require.NoError(t, err)
	return string(b)
}
