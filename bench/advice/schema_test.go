package advice_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/advice"
)

var update = flag.Bool("update", false, "rewrite the schema and the goldens")

// docs are the comments of the fields of every struct in the packages that a
// document is made of: type name, then field name.
func docs(t *testing.T) map[string]map[string]string {
	t.Helper()
	all := map[string]map[string]string{}
	for _, dir := range []string{".", "../recommend", "../trainer", "../record", "../bucket"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		require.NoError(t, err)
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
			require.NoError(t, err)
			ast.Inspect(f, func(n ast.Node) bool {
				d, ok := n.(*ast.GenDecl)
				if !ok || d.Tok != token.TYPE {
					return true
				}
				for _, spec := range d.Specs {
					s := spec.(*ast.TypeSpec)
					if fields, ok := s.Type.(*ast.StructType); ok {
						all[f.Name.Name+"."+s.Name.Name] = fieldDocs(fields, d.Doc.Text())
					}
				}
				return true
			})
		}
	}
	return all
}

// fieldDocs is what each field's comment says; one without takes that of the
// field before where it names it, else that of the type.
func fieldDocs(fields *ast.StructType, of string) map[string]string {
	out := map[string]string{}
	before := ""
	for _, f := range fields.Fields.List {
		text := strings.Join(strings.Fields(f.Doc.Text()), " ")
		if text != "" {
			before = text
		}
		for _, name := range f.Names {
			switch {
			case text != "":
				out[name.Name] = text
			case strings.Contains(before, name.Name):
				out[name.Name] = before
			default:
				out[name.Name] = strings.Join(strings.Fields(of), " ")
			}
		}
	}
	return out
}

// builder makes the schema of Go types.
type builder struct {
	t    *testing.T
	docs map[string]map[string]string
	defs map[string]any
}

func (b *builder) object(typ reflect.Type) map[string]any {
	name := typ.String()
	properties, required := map[string]any{}, []string{}
	for f := range typ.Fields() {
		tag, rest, _ := strings.Cut(f.Tag.Get("json"), ",")
		require.NotEmpty(b.t, tag, "%s.%s has no JSON name", name, f.Name)
		if tag == "-" {
			continue
		}
		if !strings.Contains(rest, "omitempty") {
			required = append(required, tag)
		}
		p := b.value(f.Type)
		p["description"] = b.docs[name][f.Name]
		require.NotEmpty(b.t, p["description"], "%s.%s has no comment", name, f.Name)
		properties[tag] = p
	}
	return map[string]any{"type": "object", "additionalProperties": false, "required": required, "properties": properties}
}

func (b *builder) value(typ reflect.Type) map[string]any {
	switch typ.Kind() {
	case reflect.Pointer:
		inner := b.value(typ.Elem())
		if kind, plain := inner["type"].(string); plain {
			inner["type"] = []string{kind, "null"}
			return inner
		}
		return map[string]any{"anyOf": []any{inner, map[string]any{"type": "null"}}}
	case reflect.Struct:
		name := strings.ReplaceAll(typ.String(), ".", "-")
		if _, known := b.defs[name]; !known {
			b.defs[name] = nil // a type that has itself inside ends here
			b.defs[name] = b.object(typ)
		}
		return map[string]any{"$ref": "#/$defs/" + name}
	case reflect.Slice:
		return map[string]any{"type": "array", "items": b.value(typ.Elem())}
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Int, reflect.Int64:
		return map[string]any{"type": "integer"}
	default:
		b.t.Fatalf("no schema for %s", typ)
		return nil
	}
}

// The committed schema is what the Go types say, with their comments.
func TestSchemaIsTheGoTypes(t *testing.T) {
	b := &builder{t, docs(t), map[string]any{}}
	root := b.object(reflect.TypeFor[advice.Document]())
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "zbench recommendation, recommend.json"
	root["$defs"] = b.defs
	root["properties"].(map[string]any)["schema"].(map[string]any)["const"] = advice.Schema
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	require.NoError(t, e.Encode(root))
	if *update {
		require.NoError(t, os.WriteFile("schema/v1.json", text.Bytes(), 0o644))
		return
	}
	require.Equal(t, undescribed(t, advice.SchemaJSON), undescribed(t, text.Bytes()), "go test ./bench/advice -update, and think of older readers")
}

// undescribed is a schema without its words, which may change with a comment.
func undescribed(t *testing.T, schema []byte) any {
	t.Helper()
	var doc any
	require.NoError(t, json.Unmarshal(schema, &doc))
	var strip func(v any)
	strip = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if _, word := v["description"].(string); word {
				delete(v, "description")
			}
			for _, inner := range v {
				strip(inner)
			}
		case []any:
			for _, inner := range v {
				strip(inner)
			}
		}
	}
	strip(doc)
	return doc
}
