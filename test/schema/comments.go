package schema

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/invopop/jsonschema"
)

// Comments reads the comments of all types and fields in some folders, as descriptions by their
// full names. The folders are relative to this package.
func Comments(folders ...string) (map[string]string, error) {
	var r jsonschema.Reflector
	for _, folder := range folders {
		if err := r.AddGoComments("zbench/test/schema", folder, jsonschema.WithFullComment()); err != nil {
			return nil, fmt.Errorf("comments: %w", err)
		}
	}
	for name, text := range r.CommentMap {
		r.CommentMap[name] = description(name[strings.LastIndexByte(name, '.')+1:], text)
	}
	return r.CommentMap, nil
}

// description returns a comment on one line. Go's comments begin with the name of what they
// describe, which a reader of JSON does not know, so that "BusBW is in bytes" becomes "In bytes".
func description(name, comment string) string {
	text := strings.Join(strings.Fields(comment), " ")
	for _, verb := range []string{" is ", " are "} {
		if rest, ok := strings.CutPrefix(text, name+verb); ok {
			first, size := utf8.DecodeRuneInString(rest)
			return string(unicode.ToUpper(first)) + rest[size:]
		}
	}
	return text
}
