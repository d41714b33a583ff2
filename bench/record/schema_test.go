package record

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

// object is what the tests read of a JSON Schema.
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

func parsed(t *testing.T) *object {
	t.Helper()
	var root object
	require.NoError(t, json.Unmarshal(SchemaJSON, &root))
	return &root
}

func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(SchemaJSON))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	require.NoError(t, c.AddResource("v1.json", doc))
	s, err := c.Compile("v1.json")
	require.NoError(t, err)
	return s
}

func validate(t *testing.T, s *jsonschema.Schema, text string) error {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	require.NoError(t, err, text)
	return s.Validate(doc)
}

func TestRecordsFitTheSchema(t *testing.T) {
	s := compiled(t)
	require.NoError(t, validate(t, s, encoded(t, full())))
	require.NoError(t, validate(t, s, encoded(t, bare())))
}

// Every field of the Go types is in the schema with the same kind, and nothing
// else is; every property is described.
func TestSchemaIsTheGoTypes(t *testing.T) {
	root := parsed(t)
	require.Equal(t, Schema, root.Properties["schema"].Const)
	seen := map[string]bool{}
	same(t, root, root, reflect.TypeFor[Record](), seen)
	for name := range root.Defs {
		require.True(t, seen[name], "$defs/%s describes no Go type", name)
	}
}

func same(t *testing.T, root, o *object, typ reflect.Type, seen map[string]bool) {
	t.Helper()
	name := typ.Name()
	require.NotNil(t, o, "no schema of %s", name)
	require.NotNil(t, o.AdditionalProperties, name)
	require.False(t, *o.AdditionalProperties, name)
	var fields, required []string
	for f := range typ.Fields() {
		tag, rest, _ := strings.Cut(f.Tag.Get("json"), ",")
		require.NotEmpty(t, tag, "%s.%s has no JSON name", name, f.Name)
		fields = append(fields, tag)
		if rest != "omitempty" {
			required = append(required, tag)
		}
		property := o.Properties[tag]
		require.NotNil(t, property, "%s.%s is not in the schema", name, tag)
		if property.Ref == "" {
			require.NotEmpty(t, property.Description, "%s.%s", name, tag)
		}
		sameKind(t, root, property, f.Type, name+"."+tag, seen)
	}
	for tag := range o.Properties {
		require.Contains(t, fields, tag, "%s.%s is not in the Go type", name, tag)
	}
	slices.Sort(required)
	slices.Sort(o.Required)
	require.Equal(t, required, o.Required, name)
}

func sameKind(t *testing.T, root, o *object, typ reflect.Type, where string, seen map[string]bool) {
	t.Helper()
	null := false
	if typ.Kind() == reflect.Pointer {
		null, typ = true, typ.Elem()
	}
	switch {
	case typ == reflect.TypeFor[time.Time]() || typ.Kind() == reflect.String:
		require.True(t, o.Type == "string" || o.Const != nil, where)
	case typ.Kind() == reflect.Struct:
		ref := o.Ref
		if null {
			require.Len(t, o.AnyOf, 2, where)
			require.Equal(t, "null", o.AnyOf[1].Type, where)
			ref = o.AnyOf[0].Ref
		}
		require.Equal(t, "#/$defs/"+typ.Name(), ref, where)
		if !seen[typ.Name()] {
			seen[typ.Name()] = true
			same(t, root, root.Defs[typ.Name()], typ, seen)
		}
	case typ.Kind() == reflect.Slice:
		require.Equal(t, "array", o.Type, where)
		sameKind(t, root, o.Items, typ.Elem(), where+"[]", seen)
	default:
		want := map[reflect.Kind]string{
			reflect.Int: "integer", reflect.Int64: "integer", reflect.Uint64: "integer",
			reflect.Float64: "number", reflect.Bool: "boolean",
		}[typ.Kind()]
		require.NotEmpty(t, want, where)
		// An optional field that is absent when nil need not allow null.
		ok := o.Type == want || null && reflect.DeepEqual(o.Type, []any{want, "null"})
		require.True(t, ok, "%s: %v", where, o.Type)
	}
}

// full must stay full, or the tests above prove less than they seem to.
func TestFullRecordUsesEveryField(t *testing.T) {
	var doc any
	require.NoError(t, json.Unmarshal([]byte(encoded(t, full())), &doc))
	root := parsed(t)
	used := map[string]bool{}
	collect(root, root, doc, "Record", used)
	for tag := range root.Properties {
		require.True(t, used["Record."+tag], "Record.%s", tag)
	}
	for name, o := range root.Defs {
		for tag := range o.Properties {
			require.True(t, used[name+"."+tag], "%s.%s is null or absent in full()", name, tag)
		}
	}
}

func collect(root, o *object, doc any, name string, used map[string]bool) {
	for _, alternative := range o.AnyOf {
		collect(root, alternative, doc, name, used)
	}
	if ref, found := strings.CutPrefix(o.Ref, "#/$defs/"); found {
		collect(root, root.Defs[ref], doc, ref, used)
		return
	}
	switch v := doc.(type) {
	case map[string]any:
		for tag, inner := range v {
			if inner != nil && o.Properties[tag] != nil {
				used[name+"."+tag] = true
				collect(root, o.Properties[tag], inner, "", used)
			}
		}
	case []any:
		for _, inner := range v {
			if o.Items != nil {
				collect(root, o.Items, inner, "", used)
			}
		}
	}
}

func TestSchemaRejects(t *testing.T) {
	s := compiled(t)
	good := encoded(t, full())
	for name, change := range map[string][2]string{
		"wrong status":        {`"status": "ok"`, `"status": "fine"`},
		"failed, no reason":   {`"status": "ok"`, `"status": "failed"`},
		"missing bytes":       {`"bytes": 1048576,`, ``},
		"missing algbw":       {`"algbw": `, `"algbww": `},
		"size as text":        {`"bytes": 1048576`, `"bytes": "1M"`},
		"fraction of a byte":  {`"bytes": 1048576`, `"bytes": 1048576.5`},
		"negative time":       {`"median": `, `"median": -`},
		"no samples":          {`"n": 120`, `"n": 0`},
		"unknown field":       {`"simulated":`, `"later": 1, "simulated":`},
		"another version":     {Schema, "zbench.results/2"},
		"a date that is none": {"2026-11-20T", "20 Nov "},
		"a path as checksum":  {`"sha256": "9f86`, `"sha256": "/tmp`},
		"unknown kind":        {`"kind": "imported"`, `"kind": "guessed"`},
		"simulation unsaid":   {`"kind": "imported"`, `"kind": "simulated"`},
		"verified by nobody":  {`"state": "ok"`, `"state": "yes"`},
		"results null":        {`"results": [`, `"results": null, "warnings": [`},
	} {
		t.Run(name, func(t *testing.T) {
			bad := strings.Replace(good, change[0], change[1], 1)
			require.NotEqual(t, good, bad, "the change changed nothing")
			require.Error(t, validate(t, s, bad))
		})
	}
}
