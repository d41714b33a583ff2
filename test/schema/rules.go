package schema

import (
	"fmt"
	"reflect"

	"github.com/invopop/jsonschema"
)

// rule adds to a type's schema what its fields do not say.
type rule func(*jsonschema.Schema) error

// rules are those of types, what JSONSchemaExtend would do. Bounds and patterns of one
// field stand in its jsonschema tag. The rules of a text are those of all its values.
type rules map[reflect.Type][]rule

// enumeration is the schema of a type that is one of a table's values.
func enumeration(t reflect.Type) *jsonschema.Schema {
	if t.Kind() == reflect.Struct || len(ruled[t]) == 0 {
		return nil
	}
	s := &jsonschema.Schema{Type: "string"}
	for _, r := range ruled[t] {
		if err := r(s); err != nil {
			panic(err) // among gives none
		}
	}
	return s
}

// among bounds a text to a table.
func among[T ~string](all []T) rule {
	return func(s *jsonschema.Schema) error {
		s.Enum = nil
		for _, v := range all {
			s.Enum = append(s.Enum, string(v))
		}
		return nil
	}
}

// signed lets numbers be negative, or those of lists.
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

// property finds a field by its key; a key that the type no longer has is an error.
func property(s *jsonschema.Schema, key string) (*jsonschema.Schema, error) {
	if p, ok := s.Properties.Get(key); ok {
		return p, nil
	}
	return nil, fmt.Errorf("there is no key %q", key)
}

// values bounds a text, or those of a list, to a table.
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

// version is the constant by which files are told apart.
func version(is string) rule {
	return func(s *jsonschema.Schema) error {
		p, err := property(s, "schema")
		if err == nil {
			p.Const = is
		}
		return err
	}
}

// inside bounds the text of a field's own field, here alone.
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

// when asks for then where the condition holds and for otherwise where it does not;
// nil asks for nothing.
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

// known refuses keys of a condition that the type does not have.
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

// where holds for an object whose field fits.
func where(key string, fits *jsonschema.Schema) *jsonschema.Schema {
	s := &jsonschema.Schema{Properties: jsonschema.NewProperties()}
	s.Properties.Set(key, fits)
	return s
}

// constant holds for an object whose field has the value.
func constant(key string, value any) *jsonschema.Schema {
	return where(key, &jsonschema.Schema{Const: value})
}

// needs holds for an object that has the keys.
func needs(keys ...string) *jsonschema.Schema { return &jsonschema.Schema{Required: keys} }
