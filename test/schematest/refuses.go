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

// Changes are values for single places of a document that fits: the keys are JSON
// pointers, whose last part may be new, the values JSON texts separated by spaces.
type Changes struct {
	Good string
	Bad  map[string]string
}

// Refuses makes each change by itself and fails where the result still fits. It also
// fails where a keyword that bounds a value, as enum, refuses none of them: the changes
// meet all such keywords. Types and keys are those of the Go type: TestSchemasAreClosed of
// test/schema holds them.
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

// parsed are JSON texts that are separated by spaces.
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

// idle lists the keywords without which the schema still refuses all documents.
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

// keywords removes each keyword that a change of one value has to meet, one at a time.
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

// meets tells the keywords that refuse values of the right type and sign.
func meets(key string, value any) bool {
	switch key {
	case "enum", "const", "pattern", "format", "minLength", "maximum", "exclusiveMinimum", "minItems", "uniqueItems", "then", "else":
		return true
	case "minimum":
		return value != json.Number("0")
	}
	return false
}

// replaced is the document with the value in the place of the pointer.
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
