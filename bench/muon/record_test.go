package muon

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

	"zbench/bench/record"
)

func full() *Report {
	v := 2.5
	return &Report{
		Schema: Schema, Tool: record.Tool{Name: "zbench", Version: "test"}, Created: time.Unix(1e9, 0).UTC(), Device: "a GPU", Backend: "rocm",
		Coefficients: "you", Preset: "zaya1", Seed: 3, Asked: []string{"8x4x2 q", "9x9"}, Done: 1, Step: &v, Vendor: "librocblas.so.4",
		Shapes: []ShapeFacts{{Shape{"q", 8, 4, 2}, 1, []Row{
			{"X·Xᵀ", &v, 20, &v, &v, 7, &v, &v, &v},
			{What: "weight update"},
		}}},
		Checks: []Check{{"8x4x2 q", "8x4", "update against float64", Error{0.01, 0.002}, Tolerance}},
	}
}

func encoded(t testing.TB, r *Report) string {
	var b bytes.Buffer
	require.NoError(t, Encode(&b, r))
	return b.String()
}

func TestRecordReadsBack(t *testing.T) {
	for _, want := range []*Report{full(), {Schema: Schema, Emulated: true, Asked: []string{}, Shapes: []ShapeFacts{}, Checks: []Check{}, Created: time.Unix(0, 0).UTC()}} {
		got, err := Decode([]byte(encoded(t, want)))
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	require.Contains(t, encoded(t, &Report{}), `"shapes": [],`)
}

func TestDecodeRefuses(t *testing.T) {
	whole := encoded(t, full())
	for want, text := range map[string]string{
		"not a zbench Muon record":          `{"schema": "zbench.memory/1"}`,
		`this zbench reads "zbench.muon/1"`: strings.Replace(whole, "muon/1", "muon/2", 1),
		"bytes behind its end":              whole + "more",
		"unexpected EOF":                    whole[:len(whole)/2],
		"sides are 1 to":                    strings.Replace(whole, `"rows": 8`, `"rows": 0`, 1),
		"3 of 2 shapes are done":            strings.Replace(whole, `"done": 1`, `"done": 3`, 1),
		"takes no time":                     strings.Replace(whole, `"median_seconds": 2.5`, `"median_seconds": -1`, 1),
	} {
		_, err := Decode([]byte(text))
		require.ErrorContains(t, err, want)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(encoded(f, full())))
	f.Add([]byte(`{"schema": "zbench.muon/1"}`))
	f.Add([]byte(`{"schema":"zbench.muon/1","shapes":[{"shape":{"rows":1,"cols":1,"batch":1},"rows":[{"median_seconds":0}]}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := Decode(text)
		if err != nil {
			return
		}
		again, err := Decode([]byte(encoded(t, r)))
		require.NoError(t, err)
		require.Equal(t, encoded(t, r), encoded(t, again))
	})
}

func TestRecordFitsTheSchema(t *testing.T) {
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(SchemaJSON))
	require.NoError(t, err)
	require.NoError(t, c.AddResource("v1.json", doc))
	s, err := c.Compile("v1.json")
	require.NoError(t, err)
	for _, r := range []*Report{full(), {Schema: Schema, Emulated: true}} {
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(encoded(t, r)))
		require.NoError(t, err)
		require.NoError(t, s.Validate(doc))
	}
}

// object is what the test below reads of a JSON Schema.
type object struct {
	Ref         string             `json:"$ref"`
	Type        any                `json:"type"`
	Description string             `json:"description"`
	Closed      *bool              `json:"additionalProperties"`
	Required    []string           `json:"required"`
	Properties  map[string]*object `json:"properties"`
	Items       *object            `json:"items"`
	Const       any                `json:"const"`
	Defs        map[string]*object `json:"$defs"`
}

// Every field of the Go types is in the schema with the same kind, nothing else
// is, and every property is described.
func TestSchemaIsTheGoTypes(t *testing.T) {
	var root object
	require.NoError(t, json.Unmarshal(SchemaJSON, &root))
	require.Equal(t, Schema, root.Properties["schema"].Const)
	seen := map[string]bool{}
	same(t, &root, &root, reflect.TypeFor[Report](), seen)
	require.Len(t, seen, len(root.Defs))
}

func same(t *testing.T, root, o *object, typ reflect.Type, seen map[string]bool) {
	t.Helper()
	require.NotNil(t, o, "no schema of %s", typ)
	require.False(t, o.Closed == nil || *o.Closed, "%s", typ)
	var required []string
	for f := range typ.Fields() {
		tag, rest, _ := strings.Cut(f.Tag.Get("json"), ",")
		if rest != "omitempty" {
			required = append(required, tag)
		}
		property := o.Properties[tag]
		require.NotNil(t, property, "%s.%s", typ, tag)
		require.True(t, property.Ref != "" || property.Description != "", "%s.%s", typ, tag)
		sameKind(t, root, property, f.Type, seen)
	}
	require.Len(t, o.Properties, typ.NumField(), "%s", typ)
	slices.Sort(required)
	require.Equal(t, required, o.Required, "%s", typ)
}

func sameKind(t *testing.T, root, o *object, typ reflect.Type, seen map[string]bool) {
	t.Helper()
	switch {
	case typ == reflect.TypeFor[time.Time]() || typ.Kind() == reflect.String:
		require.True(t, o.Type == "string" || o.Const != nil, "%s", typ)
	case typ.Kind() == reflect.Struct:
		require.Equal(t, "#/$defs/"+typ.Name(), o.Ref)
		if !seen[typ.Name()] {
			seen[typ.Name()] = true
			same(t, root, root.Defs[typ.Name()], typ, seen)
		}
	case typ.Kind() == reflect.Slice:
		require.Equal(t, "array", o.Type)
		sameKind(t, root, o.Items, typ.Elem(), seen)
	case typ.Kind() == reflect.Pointer:
		require.Equal(t, []any{"number", "null"}, o.Type)
	default:
		require.Equal(t, map[reflect.Kind]any{
			reflect.Int: "integer", reflect.Uint64: "integer", reflect.Float64: "number", reflect.Bool: "boolean",
		}[typ.Kind()], o.Type, "%s", typ)
	}
}
