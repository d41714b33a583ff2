package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"
)

// Generate returns the schema of a document as indented JSON. comments are descriptions, as
// Comments reads them. The error lists fields without a description, and rules that do not apply to
// any field.
func Generate(d Document, comments map[string]string) ([]byte, error) {
	g := generator{comments: comments, types: map[string]reflect.Type{}, defs: jsonschema.Definitions{}}
	root := &jsonschema.Schema{}
	for _, t := range d.Types {
		root.AnyOf = append(root.AnyOf, g.reflect(t))
	}
	for _, name := range slices.Sorted(maps.Keys(g.types)) {
		g.finish(g.defs[name], g.types[name])
	}
	for _, t := range d.Types {
		switch def := g.defs[t.Name()]; {
		case d.Journal:
			sealedLine(def)
		case !d.Bare:
			sealed(def)
		}
	}
	if len(d.Types) == 1 {
		name := d.Types[0].Name()
		root = g.defs[name]
		delete(g.defs, name)
	}
	root.Version, root.ID, root.Title, root.Definitions = jsonschema.Version, jsonschema.ID(d.ID), d.Title, g.defs
	if d.About != "" {
		root.Description = d.About
	}
	if len(g.errs) > 0 {
		return nil, fmt.Errorf("%s: %w", d.File, errors.Join(g.errs...))
	}
	return indented(root)
}

// generator makes the definitions of Go types by name.
type generator struct {
	comments map[string]string
	types    map[string]reflect.Type
	defs     jsonschema.Definitions
	errs     []error
}

// reflect adds a type and the types inside it to the definitions, and returns a reference to it.
func (g *generator) reflect(t reflect.Type) *jsonschema.Schema {
	r := jsonschema.Reflector{Anonymous: true, CommentMap: g.comments, Namer: g.name, Mapper: enumeration}
	s := r.ReflectFromType(t)
	maps.Copy(g.defs, s.Definitions)
	return &jsonschema.Schema{Ref: s.Ref}
}

// name returns the name of a type, with the name of its package if another type has the same name.
func (g *generator) name(t reflect.Type) string {
	if t.Kind() != reflect.Struct || t.Name() == "" || t.PkgPath() == "time" {
		return ""
	}
	name := t.Name()
	if other, taken := g.types[name]; taken && other != t {
		name = strings.ReplaceAll(t.String(), ".", "-")
	}
	g.types[name] = t
	return name
}

// finish adds to a definition what reflection does not know: the rules of its type, the bounds of
// numbers, and null for pointers.
func (g *generator) finish(def *jsonschema.Schema, t reflect.Type) {
	for _, r := range ruled[t] {
		if err := r(def); err != nil {
			g.errs = append(g.errs, fmt.Errorf("rule of %s: %w", t, err))
		}
	}
	for _, f := range reflect.VisibleFields(t) {
		tag, rest, _ := strings.Cut(f.Tag.Get("json"), ",")
		p, ok := def.Properties.Get(tag)
		if !ok || f.Anonymous {
			continue
		}
		if p.Description == "" {
			g.errs = append(g.errs, fmt.Errorf("%s.%s has no comment", t, f.Name))
		}
		notNegative(p)
		if f.Type.Kind() == reflect.Pointer && !strings.Contains(rest, "omit") {
			def.Properties.Set(tag, orNull(p))
		}
	}
}

// anySign marks a number that may be negative, until its bounds are set.
const anySign = "any sign"

// notNegative gives a number, or the numbers of a list, the lower bound 0, if neither a tag nor a
// rule sets one.
func notNegative(p *jsonschema.Schema) {
	switch p.Type {
	case "array":
		notNegative(p.Items)
	case "integer", "number":
		if p.Extras[anySign] != nil {
			p.Extras = nil
			return
		}
		if p.Minimum == "" && p.ExclusiveMinimum == "" {
			p.Minimum = "0"
		}
	}
}

func orNull(p *jsonschema.Schema) *jsonschema.Schema {
	inner := *p
	inner.Description = ""
	return &jsonschema.Schema{Description: p.Description, AnyOf: []*jsonschema.Schema{&inner, {Type: "null"}}}
}

// sealed adds the checksum that jsonfile.Write writes into a document.
func sealed(def *jsonschema.Schema) {
	def.Properties.Set("sha256", &jsonschema.Schema{
		Type: "string", Pattern: "^[0-9a-f]{64}$",
		Description: "SHA-256 of the document without white space and without this field, which is its last; another one tells that the file was edited. Absent in files of earlier versions.",
	})
}

// sealedLine adds the fields that jsonfile.Line writes into each line.
func sealedLine(def *jsonschema.Schema) {
	def.Properties.Set("run", &jsonschema.Schema{
		Type: "string", Pattern: "^[0-9a-f]{32}$",
		Description: "Id of the run that wrote the line, the same in all lines of a journal; absent in journals of earlier versions.",
	})
	def.Properties.Set("crc32c", &jsonschema.Schema{
		Type: "string", Pattern: "^[0-9a-f]{8}$",
		Description: "CRC-32C (RFC 3720) of the line's bytes before this field; always the line's last field.",
	})
	def.Required = append(def.Required, "crc32c")
}

// indented returns the schema in the form in which it is committed.
func indented(s *jsonschema.Schema) ([]byte, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, text, "", "  "); err != nil {
		return nil, err
	}
	b.WriteByte('\n')
	return []byte(unescaped.Replace(b.String())), nil
}

// unescaped reverts the escapes that json.Marshal adds for HTML pages.
var unescaped = strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&")
