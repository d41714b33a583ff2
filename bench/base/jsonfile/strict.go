package jsonfile

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"sync"
)

// errMore is the error about text that follows a value.
var errMore = errors.New("there is more after its end")

// Strict reads a document. It refuses unknown fields and text after the document. Its errors name
// the field and the required form, for users who wrote the file.
func Strict(text []byte, into any) error {
	if err := One(text, into); err != nil {
		return Explain(err)
	}
	return nil
}

// reader reads values and reuses its buffers.
type reader struct {
	text bytes.Reader
	json *json.Decoder
}

var readers = sync.Pool{New: func() any {
	r := &reader{}
	r.json = json.NewDecoder(&r.text)
	r.json.DisallowUnknownFields()
	return r
}}

// One reads a document like Strict, but returns the errors of encoding/json unchanged. It reuses
// buffers, because each of a thousand processes on a host reads hundreds of messages.
func One(text []byte, into any) error {
	r, ok := readers.Get().(*reader)
	if !ok {
		return errors.New("no reader")
	}
	r.text.Reset(text)
	if err := r.json.Decode(into); err != nil {
		return err // a decoder keeps its error, so this reader is not returned to the pool
	}
	if _, err := r.json.Token(); !errors.Is(err, io.EOF) {
		return errMore
	}
	r.text.Reset(nil)
	readers.Put(r)
	return nil
}

// Explain rewrites an error of encoding/json in terms of the file instead of Go. Other errors stay
// unchanged.
func Explain(err error) error {
	const unknown = "json: unknown field "
	syntax, isSyntax := errors.AsType[*json.SyntaxError](err)
	kind, isKind := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("it ends too early")
	case isSyntax && strings.HasPrefix(syntax.Error(), "unexpected end"):
		return errors.New("it ends too early")
	case isSyntax && strings.HasSuffix(syntax.Error(), "after top-level value"):
		return errors.New("there is more after its end")
	case isSyntax:
		return fmt.Errorf("it is not JSON: %w", err)
	case isKind:
		field := kind.Field
		if field == "" {
			field = "the file"
		}
		return fmt.Errorf("%s is %s; it must be %s", field, found(kind.Value), wanted(kind.Type))
	case strings.HasPrefix(err.Error(), unknown):
		return fmt.Errorf("the field %s is unknown", strings.TrimPrefix(err.Error(), unknown))
	}
	return err
}

// found returns the user's word for a kind of value of encoding/json.
func found(value string) string {
	if number, is := strings.CutPrefix(value, "number "); is {
		return number
	}
	words := map[string]string{"string": "text", "array": "a list", "object": "an object", "bool": "true or false"}
	return cmp.Or(words[value], "a "+value)
}

// wanted describes a Go type as a JSON value.
func wanted(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() >= reflect.Uint && t.Kind() <= reflect.Uintptr {
		return "a whole number from 0"
	}
	return cmp.Or(map[reflect.Kind]string{
		reflect.String: "text", reflect.Bool: "true or false", reflect.Slice: "a list", reflect.Array: "a list",
		reflect.Struct: "an object", reflect.Map: "an object", reflect.Float64: "a number", reflect.Float32: "a number",
	}[t.Kind()], "a whole number")
}
