package schema

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/run/record"
	"zbench/test/schematest"
)

type leaf struct {
	Size *float64 `json:"size" jsonschema:"exclusiveMinimum=0"`
	Kind string   `json:"kind,omitempty"`
}

type tree struct {
	Schema string `json:"schema"`
	Age    int    `json:"age"`
	Leaves []leaf `json:"leaves"`
	Best   *leaf  `json:"best,omitempty"`
}

var words = map[string]string{
	"zbench/test/schema.leaf.Size": "In metres.", "zbench/test/schema.leaf.Kind": "Its kind, <a> or b.",
	"zbench/test/schema.tree.Schema": "Version.", "zbench/test/schema.tree.Age": "In years.", "zbench/test/schema.tree.Leaves": "All.", "zbench/test/schema.tree.Best": "One.",
}

// treeWith is a document of trees with rules, for as long as the test runs.
func treeWith(t *testing.T, all ...rule) Document {
	t.Helper()
	ruled[reflect.TypeFor[leaf]()] = all
	t.Cleanup(func() { delete(ruled, reflect.TypeFor[leaf]()) })
	return Document{File: "tree.json", ID: "urn:zbench:tree", Title: "A tree", Types: []reflect.Type{reflect.TypeFor[tree]()}, Bare: true}
}

func TestGenerate(t *testing.T) {
	text, err := Generate(treeWith(t, values("kind", "a", "b"), when(constant("kind", "a"), constant("size", 1), nil)), words)
	require.NoError(t, err)
	require.Contains(t, string(text), `"description": "Its kind, <a> or b."`)
	const good = `{"schema":"1","age":3,"leaves":[{"size":null,"kind":"b"}],"best":{"size":2,"kind":"b"}}`
	s := schematest.Compile(t, text)
	for was, now := range map[string]string{
		`"schema":"1",`:               ``,                      // a key is missing
		`"age":3`:                     `"age":3,"none":1`,      // a key is unknown
		`"size":null,`:                ``,                      // a pointer's key is missing where it is written as null
		`"kind":"b"}]`:                `"kind":"b","none":1}]`, // a key of a type inside is unknown
		`:3,`:                         `:"3",`,                 // another type
		`"age":3,`:                    `"age":3.5,`,            // not whole
		`e":3,`:                       `e":-3,`,                // less than zero
		`"1"`:                         `1`,                     // a number for a text
		`[{"size":null,"kind":"b"}]`:  `null`,                  // null for a list
		`:[{"size":null,"kind":"b"}]`: `:["text"]`,             // another type in a list
		`{"size":2,"kind":"b"}`:       `null`,                  // null where the key is left out
	} {
		bad := strings.Replace(good, was, now, 1)
		require.NotEqual(t, good, bad)
		require.Error(t, schematest.Fits(t, s, bad), bad)
	}
	require.NoError(t, schematest.Fits(t, s, `{"schema":"1","age":0,"leaves":[]}`))
	schematest.Refuses(t, text, schematest.Changes{Good: good, Bad: map[string]string{
		"/best/size": `0`, "/best/kind": `"a"`, "/leaves/0/kind": `"c"`,
	}})
}

// What a reader would miss in a schema is an error that names the field.
func TestGenerateRefuses(t *testing.T) {
	for says, r := range map[string]rule{
		`rule of schema.leaf: there is no key "colour"`: values("colour", "green"),
		`there is no key "shade"`:                       when(constant("shade", 1), nil, nil),
		`there is no key "hue"`:                         when(constant("kind", "a"), needs("hue"), nil),
		`there is no key "schema"`:                      version("tree/1"),
	} {
		_, err := Generate(treeWith(t, r), words)
		require.ErrorContains(t, err, says)
	}
	_, err := Generate(treeWith(t), map[string]string{})
	require.ErrorContains(t, err, "tree.json: ")
	require.ErrorContains(t, err, "schema.leaf.Size has no comment")
}

// Two types of one name in a document both have a definition.
func TestTypesOfOneName(t *testing.T) {
	g := generator{types: map[string]reflect.Type{}}
	require.Equal(t, "Timing", g.name(reflect.TypeFor[record.Timing]()))
	type Timing struct{}
	require.Equal(t, "schema-Timing", g.name(reflect.TypeFor[Timing]()))
	require.Equal(t, "Timing", g.name(reflect.TypeFor[record.Timing]()))
}

// Every rule is of a type that is in a document: another is a leftover.
func TestRulesAreUsed(t *testing.T) {
	used := map[reflect.Type]bool{}
	for _, d := range Documents {
		for _, typ := range d.Types {
			uses(typ, used)
		}
	}
	for typ := range ruled {
		require.True(t, used[typ], "%s is in no document", typ)
	}
}

// uses notes the types in a type.
func uses(t reflect.Type, seen map[reflect.Type]bool) {
	if seen[t] {
		return
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		uses(t.Elem(), seen)
	case reflect.Struct:
		for f := range t.Fields() {
			uses(f.Type, seen)
		}
	default: // holds nothing
	}
}

func TestDescription(t *testing.T) {
	for _, x := range [][3]string{
		{"BusBW", "BusBW is in bytes\nper second.", "In bytes per second."},
		{"Skips", "Skips are rows.", "Rows."},
		{"Lo", "Lower end.", "Lower end."},
		{"State", "Stated is another name.", "Stated is another name."},
		{"Way", "Way is über.", "Über."},
	} {
		require.Equal(t, x[2], description(x[0], x[1]))
	}
}
