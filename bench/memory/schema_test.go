package memory

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
)

// object is what the test reads of a JSON Schema.
type object struct {
	Ref                  string             `json:"$ref"`
	Type                 any                `json:"type"`
	Description          string             `json:"description"`
	AdditionalProperties *bool              `json:"additionalProperties"`
	Required             []string           `json:"required"`
	Properties           map[string]*object `json:"properties"`
	Items                *object            `json:"items"`
	AnyOf                []*object          `json:"anyOf"`
	Const                any                `json:"const"`
	Defs                 map[string]*object `json:"$defs"`
}

func validate(t *testing.T, text string) error {
	t.Helper()
	schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(SchemaJSON))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	require.NoError(t, c.AddResource("v1.json", schema))
	s, err := c.Compile("v1.json")
	require.NoError(t, err)
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	require.NoError(t, err, text)
	return s.Validate(doc)
}

// A record fits, and so does a journal's first line.
func TestRecordsFitTheSchema(t *testing.T) {
	require.NoError(t, validate(t, encoded(t, full())))
	bare := &Record{Schema: Schema, Command: "rmsnorm", Source: full().Source, Asked: Asked{Data: "random"}}
	require.NoError(t, validate(t, encoded(t, bare)))
	require.NoError(t, validate(t, string(journal(t, full()))))
}

// Every field of the Go types is in the schema with the same kind, and nothing
// else is; every property is described.
func TestSchemaIsTheGoTypes(t *testing.T) {
	var root object
	require.NoError(t, json.Unmarshal(SchemaJSON, &root))
	require.Equal(t, Schema, root.Properties["schema"].Const)
	w := walk{t, &root, map[string]bool{}}
	w.same(&root, reflect.TypeFor[Record]())
	for name := range root.Defs {
		require.True(t, w.seen[name], "$defs/%s describes no Go type", name)
	}
}

// walk compares a schema with Go types, each once.
type walk struct {
	*testing.T
	root *object
	seen map[string]bool
}

func (w walk) same(o *object, typ reflect.Type) {
	require.NotNil(w, o, "no schema of %s", typ)
	require.NotNil(w, o.AdditionalProperties, typ)
	require.False(w, *o.AdditionalProperties, typ)
	var fields, required []string
	for f := range typ.Fields() {
		tag, rest, _ := strings.Cut(f.Tag.Get("json"), ",")
		where := typ.Name() + "." + tag
		require.NotEmpty(w, tag, where)
		fields = append(fields, tag)
		if rest != "omitempty" {
			required = append(required, tag)
		}
		property := o.Properties[tag]
		require.NotNil(w, property, "%s is not in the schema", where)
		require.True(w, property.Ref != "" || property.Description != "", "%s is not described", where)
		w.kind(property, f.Type, where)
	}
	for tag := range o.Properties {
		require.Contains(w, fields, tag, "%s.%s is not in the Go type", typ, tag)
	}
	slices.Sort(required)
	slices.Sort(o.Required)
	require.Equal(w, required, o.Required, typ)
}

func (w walk) kind(o *object, typ reflect.Type, where string) {
	null := typ.Kind() == reflect.Pointer
	if null {
		typ = typ.Elem()
	}
	kinds := map[reflect.Kind]string{
		reflect.Int: "integer", reflect.Int64: "integer", reflect.Uint64: "integer", reflect.Float64: "number", reflect.Bool: "boolean", reflect.String: "string",
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
		require.True(w, o.Type == want || null && reflect.DeepEqual(o.Type, []any{want, "null"}), "%s: %v", where, o.Type)
	}
}

func TestSchemaRejects(t *testing.T) {
	good := encoded(t, full())
	for name, change := range map[string][2]string{
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
	} {
		t.Run(name, func(t *testing.T) {
			bad := strings.Replace(good, change[0], change[1], 1)
			require.NotEqual(t, good, bad, "the change changed nothing")
			require.Error(t, validate(t, bad))
		})
	}
}
