package schematest

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
)

// Tight fails unless the documents fit the schema and nearly everything else is
// refused. It makes every change of Mutate. An unknown key, another JSON type and a
// value that the Go type cannot hold must be refused always; a key that is missing
// unless encoding/json leaves it out for a value of the Go type, a null unless it
// writes one for a pointer, a negative number unless a document has one there. into
// makes a value of the Go type. The documents together must use all of its fields.
func Tight(t testing.TB, s *jsonschema.Schema, into func() any, docs ...string) {
	t.Helper()
	skipShort(t)
	for i, whole := range docs {
		require.NoError(t, Fits(t, s, whole))
		doc, _ := judged(t, whole)
		docs[i] = text(t, shortened(doc))
	}
	seen := shown{map[string]map[string]bool{}, map[string]bool{}}
	for range 2 { // the second time all keys are known
		for _, text := range docs {
			seen.value("", document(t, text))
			v := into()
			require.NoError(t, json.Unmarshal([]byte(text), v))
			hollow(reflect.ValueOf(v), func() {
				text, err := json.Marshal(v)
				require.NoError(t, err)
				seen.value("", document(t, string(text)))
			})
		}
	}
	empty := map[string]bool{}
	for _, text := range docs {
		v := into()
		require.NoError(t, json.Unmarshal([]byte(text), v))
		emptyFields(reflect.ValueOf(v).Elem(), empty)
	}
	for field, never := range empty {
		require.False(t, never, "%s is empty in every document, so the test proves less than it seems to", field)
	}
	var loose []string
	for _, text := range docs {
		Mutate(document(t, text), func(where, what string, changed any) {
			if s.Validate(changed) == nil && must(where, what, changed, seen.can, into) {
				loose = append(loose, what+" "+where)
			}
		})
	}
	slices.Sort(loose)
	require.Empty(t, slices.Compact(loose), "changes that the schema accepts")
}

// skipShort ends the test in the runs under the race detector: thousands of
// documents, checked one after the other, have nothing for it.
func skipShort(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("thousands of documents: run without -short")
	}
}

// atMost values of each list are changed: those of one list are alike.
const atMost = 3

// shortened cuts the lists inside a document off.
func shortened(v any) any {
	switch v := v.(type) {
	case []any:
		v = v[:min(len(v), atMost)]
		for i := range v {
			v[i] = shortened(v[i])
		}
		return v
	case map[string]any:
		for key := range v {
			v[key] = shortened(v[key])
		}
	}
	return v
}

// must tells whether a change has to be refused.
func must(where, what string, changed any, can map[string]bool, into func() any) bool {
	switch what {
	case Unknown, Retyped:
		return true
	case Dropped, Null, Negative:
		return !can[what+where]
	}
	text, err := json.Marshal(changed)
	return err == nil && json.Unmarshal(text, into()) != nil
}

// hollow empties each struct inside v in turn, of pointers and of what JSON leaves
// out when it is empty, replaces the keys of each map, and calls visit before it puts them back.
func hollow(v reflect.Value, visit func()) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			hollow(v.Elem(), visit)
		}
	case reflect.Slice:
		for i := range v.Len() {
			hollow(v.Index(i), visit)
		}
	case reflect.Map: // any of its keys can be missing
		if v.Len() == 0 {
			return
		}
		was := reflect.New(v.Type()).Elem()
		was.Set(v)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("ANOTHER_KEY").Convert(v.Type().Key()), reflect.Zero(v.Type().Elem()))
		visit()
		v.Set(was)
	case reflect.Struct:
		was := reflect.New(v.Type()).Elem()
		was.Set(v)
		for f, field := range v.Fields() {
			if f.IsExported() && (field.Kind() == reflect.Pointer || strings.Contains(f.Tag.Get("json"), ",omit")) {
				field.SetZero()
			}
		}
		visit()
		v.Set(was)
		for f, field := range v.Fields() {
			if f.IsExported() {
				hollow(field, visit)
			}
		}
	default: // holds nothing
	}
}

// emptyFields notes which fields that can be empty are so in all values seen.
func emptyFields(v reflect.Value, empty map[string]bool) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			emptyFields(v.Elem(), empty)
		}
	case reflect.Slice:
		for i := range v.Len() {
			emptyFields(v.Index(i), empty)
		}
	case reflect.Struct:
		for f, field := range v.Fields() {
			tag := f.Tag.Get("json")
			if !f.IsExported() || tag == "-" {
				continue
			}
			if field.Kind() == reflect.Pointer || field.Kind() == reflect.Slice || strings.Contains(tag, ",omit") {
				name := v.Type().String() + "." + f.Name
				never, seen := empty[name]
				empty[name] = (field.IsZero() || field.Kind() == reflect.Slice && field.Len() == 0) && (never || !seen)
			}
			emptyFields(field, empty)
		}
	default: // holds nothing
	}
}

// shown is what documents have at each place: the keys of objects there; and what
// can be: a key missing, a null, a negative number.
type shown struct {
	keys map[string]map[string]bool
	can  map[string]bool
}

func (s shown) value(where string, v any) {
	switch v := v.(type) {
	case nil:
		s.can[Null+where] = true
	case json.Number:
		s.can[Negative+where] = s.can[Negative+where] || strings.HasPrefix(v.String(), "-")
	case []any:
		for _, inner := range v {
			s.value(where+"/*", inner)
		}
	case map[string]any:
		if s.keys[where] == nil {
			s.keys[where] = map[string]bool{}
		}
		for key, inner := range v {
			s.keys[where][key] = true
			s.value(where+"/"+key, inner)
		}
		for key := range s.keys[where] {
			if _, has := v[key]; !has {
				s.can[Dropped+where+"/"+key] = true
			}
		}
	}
}
