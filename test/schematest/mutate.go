package schematest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Kinds of change that Mutate makes.
const (
	Dropped  = "dropped"  // a key is missing
	Unknown  = "unknown"  // an object has a key that no document has
	Null     = "null"     // a value is null
	Retyped  = "retyped"  // a value is of another JSON type
	Negative = "negative" // a number is less than zero
	Fraction = "fraction" // a number is not whole
	Zero     = "zero"     // a number is 0
	Reworded = "reworded" // a text is another one
	Emptied  = "emptied"  // a text or a list is empty
)

// unknownKey is a key, and a text, that no document has.
const unknownKey = "no such thing"

// Mutate makes each change to a document, one at a time: in every object each key
// is dropped and an unknown one added, every value becomes null, one of another
// type, out of range, another text. visit sees the changed document, which must not
// be kept; where is a JSON pointer with * for the places in a list.
func Mutate(doc any, visit func(where, what string, changed any)) {
	root := []any{doc}
	m := mutator{func(where, what string) { visit(where, what, root[0]) }}
	m.value("", doc, func(v any) { root[0] = v })
}

type mutator struct{ visit func(where, what string) }

// value changes a value by set, which puts another in its place.
func (m mutator) value(where string, v any, set func(any)) {
	try := func(what string, others ...any) {
		for _, other := range others {
			set(other)
			m.visit(where, what)
		}
		set(v)
	}
	try(Null, nil)
	switch v := v.(type) {
	case map[string]any:
		try(Retyped, []any{}, "text", json.Number("1"))
		m.object(where, v)
	case []any:
		try(Retyped, map[string]any{}, "text", json.Number("1"))
		try(Emptied, []any{})
		for i, inner := range v {
			m.value(where+"/*", inner, func(other any) { v[i] = other })
		}
	case string:
		try(Retyped, json.Number("1"), true, []any{v}, map[string]any{})
		try(Reworded, unknownKey)
		try(Emptied, "")
	case json.Number:
		try(Retyped, v.String(), "NaN", true, []any{v})
		m.number(try, v)
	case bool:
		try(Retyped, json.Number("1"), fmt.Sprint(v))
	}
}

func (m mutator) number(try func(string, ...any), v json.Number) {
	try(Negative, json.Number("-1"))
	if !strings.HasPrefix(v.String(), "-") {
		try(Negative, json.Number("-"+v.String()+"1"))
	}
	try(Fraction, json.Number("1.5"))
	try(Zero, json.Number("0"))
}

func (m mutator) object(where string, v map[string]any) {
	v[unknownKey] = json.Number("1")
	m.visit(where, Unknown)
	delete(v, unknownKey)
	for _, key := range slices.Sorted(maps.Keys(v)) {
		value := v[key]
		at := where + "/" + key
		delete(v, key)
		m.visit(at, Dropped)
		v[key] = value
		m.value(at, value, func(other any) { v[key] = other })
	}
}
