package schematest

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// IsTheGoType fails unless every field of the type, and of the types inside it, is
// in the schema with the same kind, nothing else is, and every property is
// described. version is the constant that the schema's own field must have.
func IsTheGoType(t testing.TB, schema []byte, version string, typ reflect.Type) {
	t.Helper()
	root := Parse(t, schema)
	require.Equal(t, version, root.Properties["schema"].Const)
	w := walk{t, root, map[string]bool{}}
	w.same(root, typ)
	for name := range root.Defs {
		require.True(t, w.seen[name], "$defs/%s describes no Go type", name)
	}
}

// walk compares a schema with Go types, each once.
type walk struct {
	testing.TB
	root *Object
	seen map[string]bool
}

func (w walk) same(o *Object, typ reflect.Type) {
	w.Helper()
	HasTheFields(w, o, typ)
	for f := range typ.Fields() {
		if tag := name(f); tag != "-" {
			w.kind(o.Properties[tag], f.Type, typ.Name()+"."+tag)
		}
	}
}

// HasTheFields fails unless the schema has the fields of the type, each described,
// and no others.
func HasTheFields(t testing.TB, o *Object, typ reflect.Type) {
	t.Helper()
	require.NotNil(t, o, "no schema of %s", typ)
	require.NotNil(t, o.AdditionalProperties, "%s is not closed", typ)
	require.False(t, *o.AdditionalProperties, "%s is not closed", typ)
	var fields, required, have []string
	for f := range typ.Fields() {
		tag := name(f)
		require.NotEmpty(t, tag, "%s.%s has no JSON name", typ, f.Name)
		if tag == "-" {
			continue
		}
		fields = append(fields, tag)
		if !strings.HasSuffix(f.Tag.Get("json"), ",omitempty") {
			required = append(required, tag)
		}
	}
	for tag, p := range o.Properties {
		have = append(have, tag)
		require.True(t, p.Ref != "" || p.Description != "", "%s.%s is not described", typ, tag)
	}
	require.ElementsMatch(t, fields, have, "fields of %s and of its schema", typ)
	require.ElementsMatch(t, required, o.Required, "required fields of %s and of its schema", typ)
}

// name is what a field is called in JSON.
func name(f reflect.StructField) string {
	tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return tag
}

// kinds are the JSON types of what has no fields.
var kinds = map[reflect.Kind]string{
	reflect.Int: "integer", reflect.Int64: "integer", reflect.Uint64: "integer",
	reflect.Float64: "number", reflect.Bool: "boolean", reflect.String: "string",
}

func (w walk) kind(o *Object, typ reflect.Type, where string) {
	w.Helper()
	require.NotNil(w, o, "no schema of %s", where)
	null := typ.Kind() == reflect.Pointer
	if null {
		typ = typ.Elem()
	}
	switch {
	case typ == reflect.TypeFor[time.Time]():
		require.Equal(w, "string", o.Type, where)
	case o.Const != nil:
		require.Equal(w, reflect.String, typ.Kind(), where)
	case typ.Kind() == reflect.Struct:
		ref := o.Ref
		if null {
			require.Len(w, o.AnyOf, 2, where)
			require.Equal(w, "null", o.AnyOf[1].Type, where)
			ref = o.AnyOf[0].Ref
		}
		require.Equal(w, "#/$defs/"+typ.Name(), ref, where)
		if !w.seen[typ.Name()] {
			w.seen[typ.Name()] = true
			w.same(w.root.Defs[typ.Name()], typ)
		}
	case typ.Kind() == reflect.Slice:
		require.Equal(w, "array", o.Type, where)
		w.kind(o.Items, typ.Elem(), where+"[]")
	default:
		want := kinds[typ.Kind()]
		require.NotEmpty(w, want, where)
		// An optional field that is absent when nil need not allow null.
		require.True(w, o.Type == want || null && reflect.DeepEqual(o.Type, []any{want, "null"}), "%s: %v", where, o.Type)
	}
}
