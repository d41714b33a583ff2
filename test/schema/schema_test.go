package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/invopop/jsonschema"
	"github.com/stretchr/testify/require"

	"zbench/test/golden"
	"zbench/test/project"
)

func TestSchemasAreCurrent(t *testing.T) {
	comments, err := Comments("../../bench", "../../internal/doctor", "../../internal/native", "../../internal/topo")
	require.NoError(t, err)
	for _, d := range Documents {
		text, err := Generate(d, comments)
		require.NoError(t, err)
		file := filepath.Join("../..", d.File)
		if golden.Updating() {
			require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
			require.NoError(t, os.WriteFile(file, text, 0o644))
		}
		committed, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Empty(t, firstDifference(string(committed), string(text)), "%s is not current: run go generate ./test/schema, and think of older readers", d.File)
	}
}

// Committed schemas have an object's keys and no others, with what Go writes always required,
// and a lower bound for numbers. What they leave open is listed.
func TestSchemasAreClosed(t *testing.T) {
	var open []string
	for _, d := range Documents {
		var root map[string]any
		require.NoError(t, json.Unmarshal([]byte(project.Read(t, d.File)), &root))
		g := generator{types: map[string]reflect.Type{}, defs: jsonschema.Definitions{}}
		for _, typ := range d.Types {
			g.reflect(typ)
		}
		defs, _ := root["$defs"].(map[string]any)
		for name, typ := range g.types {
			def, is := defs[name].(map[string]any)
			if !is {
				def = root // of a file of one type
			}
			required, keys := keysOf(def)
			for f := range typ.Fields() {
				tag, rest, _ := strings.Cut(f.Tag.Get("json"), ",")
				if f.IsExported() && tag != "-" && !f.Anonymous {
					require.Contains(t, keys, tag, "%s: %s", d.File, name)
					require.Equal(t, !strings.Contains(rest, "omit"), slices.Contains(required, tag), "%s: %s.%s is required, or may be left out", d.File, name, tag)
				}
			}
			require.Equal(t, false, def["additionalProperties"], "%s: %s", d.File, name)
			for key, p := range def["properties"].(map[string]any) {
				open = append(open, leftOpen(strings.TrimPrefix(d.ID, "urn:zbench:")+" "+name+"."+key, p.(map[string]any))...)
			}
		}
	}
	slices.Sort(open)
	require.Equal(t, []string{
		"advice:1 Help.gain: any sign",
		"advice:1 Used.alpha: any sign",
		"bisect-journal:1 Entry.groups: any keys",
		"bisect-journal:1 Entry.times: any keys",
		"bisect-journal:1 Entry.times: any sign",
		"bisect:1 Level.change: any sign",
		"bisect:1 Measured.change: any sign",
		"bisect:1 Reading.change: any sign",
		"bisect:1 Reading.hi: any sign",
		"bisect:1 Reading.lo: any sign",
		"compare:1 Case.change: any sign",
		"compare:1 Common.change: any sign",
		"compare:1 Overall.change: any sign",
		"compare:1 Overall.hi: any sign",
		"compare:1 Overall.lo: any sign",
		"compare:1 Shape.large: any sign",
		"compare:1 Shape.small: any sign",
		"compare:1 Shape.small_seconds: any sign",
		"compare:1 Test.hi: any sign",
		"compare:1 Test.lo: any sign",
		"journal:3 Source.environment: any keys",
		"knees:1 KneeCurve.last_octave_growth: any sign",
		"replay:1 Contention.hi: any sign", "replay:1 Contention.lo: any sign", "replay:1 Contention.seconds: any sign",
		"replay:1 Difference.hi: any sign",
		"replay:1 Difference.lo: any sign",
		"replay:1 Difference.mean: any sign", "replay:1 Own.rank: any sign",
		"results:2 Source.environment: any keys",
		"soak-journal:1 WrongPart.shift: any sign",
		"trace:1 Document.sent_of_rank: any sign", "trace:1 Overlap.rank: any sign", "trace:1 Seen.rank: any sign",
	}, slices.Compact(open))
}

// keysOf are the keys that a definition requires, and all of them.
func keysOf(def map[string]any) (required []string, all []string) {
	list, _ := def["required"].([]any)
	for _, key := range list {
		required = append(required, key.(string))
	}
	return required, slices.Collect(maps.Keys(def["properties"].(map[string]any)))
}

// leftOpen says what a value may be: anything, an object of any keys, a number of any sign.
func leftOpen(where string, p map[string]any) []string {
	var open []string
	for _, inside := range []string{"items", "additionalProperties"} {
		if inner, is := p[inside].(map[string]any); is {
			open = append(open, leftOpen(where, inner)...)
		}
	}
	either, _ := p["anyOf"].([]any)
	for _, inner := range either {
		open = append(open, leftOpen(where, inner.(map[string]any))...)
	}
	_, least := p["minimum"]
	_, above := p["exclusiveMinimum"]
	kind, one := p["type"].(string)
	switch {
	case kind == "object":
		open = append(open, where+": any keys")
	case (kind == "integer" || kind == "number") && !least && !above:
		open = append(open, where+": any sign")
	case !one && p["$ref"] == nil && either == nil:
		open = append(open, where+": any value")
	}
	return open
}

// firstDifference is the first line that two texts do not share.
func firstDifference(a, b string) string {
	was, now := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(was), len(now)) {
		if was[i] != now[i] {
			return fmt.Sprintf("line %d: %q, generated %q", i+1, was[i], now[i])
		}
	}
	if len(was) != len(now) {
		return fmt.Sprintf("%d lines, generated %d", len(was), len(now))
	}
	return ""
}

// Every schema is named in the document that explains the files.
func TestSchemasAreExplained(t *testing.T) {
	text, err := os.ReadFile("../../docs/RECORD.md")
	require.NoError(t, err)
	for _, d := range Documents {
		require.Contains(t, string(text), "(../"+d.File+")")
	}
}
