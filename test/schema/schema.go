// Package schema makes the JSON Schemas of zbench's files from their Go types: the
// shape from the fields and their tags, the descriptions from their comments, and
// what a type cannot say from rules. Run
//
//	go generate ./test/schema
//
// after a change of a type; a test fails while a committed schema is not current.
//
// The package serves that test alone. zbench does not import it, so that neither
// the generator nor its rules are in the binary: a method JSONSchemaExtend on the
// types themselves would bring the library along, because a linker keeps exported
// methods where templates are used.
package schema

import "reflect"

//go:generate go test zbench/test/schema -count=1 -run TestSchemasAreCurrent -update

// Document is a kind of file that zbench writes.
type Document struct {
	// File holds the schema; it is named from the root of the source.
	File string
	// ID is the schema's $id.
	ID    string
	Title string
	// About is the description; empty for the comment of the type.
	About string
	// Types are what the file holds: one of them, or one on each line of a journal.
	Types []reflect.Type
	// Journal tells that each object ends in its run and a checksum, Bare that an object of
	// its own file does not end in one.
	Journal, Bare bool
}
