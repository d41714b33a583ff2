package schema

import (
	"fmt"
	"reflect"

	"github.com/invopop/jsonschema"
)

// rule adds to the schema of a type what its fields do not say.
type rule func(*jsonschema.Schema) error

// rules are the rules by type, for everything that the method JSONSchemaExtend would do. Bounds and
// patterns of single fields are in their jsonschema tags. The rules of a text type apply to all of
// its values.
type rules map[reflect.Type][]rule

// enumeration returns the schema of a text type whose values are listed in a table, or nil for
// other types.
func enumeration(t reflect.Type) *jsonschema.Schema {
	if t.Kind() == reflect.Struct || len(ruled[t]) == 0 {
		return nil
	}
	s := &jsonschema.Schema{Type: "string"}
	for _, r := range ruled[t] {
		if err := r(s); err != nil {
			panic(err) // among returns no error
		}
	}
	return s
}

// `among` limits a text to the values of a table.
func among[T ~string](all []T) rule {
	return func(s *jsonschema.Schema) error {
		s.Enum = nil
		for _, v := range all {
			s.Enum = append(s.Enum, string(v))
		}
		return nil
	}
}

// signed allows negative numbers in these fields, or in their lists.
func signed(keys ...string) rule {
	return func(s *jsonschema.Schema) error {
		for _, key := range keys {
			p, err := property(s, key)
			if err != nil {
				return err
			}
			if p.Type == "array" {
				p = p.Items
			}
			p.Extras = map[string]any{anySign: true}
		}
		return nil
	}
}

// property finds a field by its key. It returns an error if the type no longer has this key.
func property(s *jsonschema.Schema, key string) (*jsonschema.Schema, error) {
	if p, ok := s.Properties.Get(key); ok {
		return p, nil
	}
	return nil, fmt.Errorf("there is no key %q", key)
}

// values limits a text, or the texts of a list, to the given values.
func values[T ~string](key string, all ...T) rule {
	return func(s *jsonschema.Schema) error {
		p, err := property(s, key)
		if err != nil {
			return err
		}
		if p.Type == "array" {
			p = p.Items
		}
		return among(all)(p)
	}
}

// version requires the constant that identifies the format of a file.
func version(is string) rule {
	return func(s *jsonschema.Schema) error {
		p, err := property(s, "schema")
		if err == nil {
			p.Const = is
		}
		return err
	}
}

// `inside` limits the text of an inner field, only in this type.
func inside(key, inner string, all ...string) rule {
	return func(s *jsonschema.Schema) error {
		p, err := property(s, key)
		if err == nil {
			p.Properties = jsonschema.NewProperties()
			one := &jsonschema.Schema{}
			p.Properties.Set(inner, one)
			return among(all)(one)
		}
		return err
	}
}

// `when` adds a condition to a type. If the condition holds, the schema `then` must fit. If it does
// not hold, the schema `otherwise` must fit. nil requires nothing.
func when(condition, then, otherwise *jsonschema.Schema) rule {
	return func(s *jsonschema.Schema) error {
		for _, part := range []*jsonschema.Schema{condition, then, otherwise} {
			if err := known(s, part); err != nil {
				return err
			}
		}
		s.AllOf = append(s.AllOf, &jsonschema.Schema{If: condition, Then: then, Else: otherwise})
		return nil
	}
}

// known refuses a condition with keys that the type does not have.
func known(s, part *jsonschema.Schema) error {
	if part == nil {
		return nil
	}
	keys := part.Required
	if part.Properties != nil {
		for key := range part.Properties.KeysFromOldest() {
			keys = append(keys, key)
		}
	}
	for _, key := range keys {
		if _, err := property(s, key); err != nil {
			return err
		}
	}
	return nil
}

// `where` returns a condition. An object meets it if the field fits.
func where(key string, fits *jsonschema.Schema) *jsonschema.Schema {
	s := &jsonschema.Schema{Properties: jsonschema.NewProperties()}
	s.Properties.Set(key, fits)
	return s
}

// constant returns a condition. An object meets it if the field has the value.
func constant(key string, value any) *jsonschema.Schema {
	return where(key, &jsonschema.Schema{Const: value})
}

// needs returns a condition. An object meets it if it has all of the keys.
func needs(keys ...string) *jsonschema.Schema { return &jsonschema.Schema{Required: keys} }
