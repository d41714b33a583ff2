package record

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/internal/schematest"
)

func TestRecordsFitTheSchema(t *testing.T) {
	s := schematest.Compile(t, SchemaJSON)
	require.NoError(t, schematest.Fits(t, s, encoded(t, full())))
	require.NoError(t, schematest.Fits(t, s, encoded(t, bare())))
	require.NoError(t, schematest.Fits(t, s, encoded(t, kernels())))
	require.NoError(t, schematest.Fits(t, s, encoded(t, &Record{Schema: Schema, Source: Source{Kind: Emulated}, Simulated: true, Asked: &Asked{}})))
}

func TestSchemaIsTheGoTypes(t *testing.T) {
	schematest.IsTheGoType(t, SchemaJSON, Schema, reflect.TypeFor[Record]())
}

// full must stay full, or the tests above prove less than they seem to.
func TestFullRecordUsesEveryField(t *testing.T) {
	root := schematest.Parse(t, SchemaJSON)
	used := map[string]bool{}
	for _, rec := range []*Record{full(), kernels()} {
		var doc any
		require.NoError(t, json.Unmarshal([]byte(encoded(t, rec)), &doc))
		collect(root, root, doc, "Record", used)
	}
	for tag := range root.Properties {
		require.True(t, used["Record."+tag], "Record.%s", tag)
	}
	for name, o := range root.Defs {
		for tag := range o.Properties {
			require.True(t, used[name+"."+tag], "%s.%s is null or absent in full()", name, tag)
		}
	}
}

func collect(root, o *schematest.Object, doc any, name string, used map[string]bool) {
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
	schematest.Rejects(t, schematest.Compile(t, SchemaJSON), encoded(t, full()), map[string][2]string{
		"wrong status":        {`"status": "ok"`, `"status": "fine"`},
		"failed, no reason":   {`"status": "ok"`, `"status": "failed"`},
		"missing bytes":       {`"bytes": 1048576,`, ``},
		"missing algbw":       {`"algbw": `, `"algbww": `},
		"size as text":        {`"bytes": 1048576`, `"bytes": "1M"`},
		"fraction of a byte":  {`"bytes": 1048576`, `"bytes": 1048576.5`},
		"negative time":       {`"median": `, `"median": -`},
		"no samples":          {`"n": 120`, `"n": 0`},
		"unknown field":       {`"simulated":`, `"later": 1, "simulated":`},
		"another version":     {Schema, "zbench.results/3"},
		"a date that is none": {"2026-11-20T", "20 Nov "},
		"a path as checksum":  {`"sha256": "9f86`, `"sha256": "/tmp`},
		"unknown kind":        {`"kind": "imported"`, `"kind": "guessed"`},
		"simulation unsaid":   {`"kind": "imported"`, `"kind": "simulated"`},
		"verified by nobody":  {`"state": "ok"`, `"state": "yes"`},
		"results null":        {`"results": [`, `"results": null, "warnings": [`},
	})
}
