// Package schema makes the JSON Schemas of zbench's files from their Go types. The fields and their
// tags give the structure. The fields' comments give the descriptions. Rules give everything that a
// type cannot say. After a change of a type run
//
//	go generate ./test/schema
//
// A test fails while a committed schema is not current.
//
// Only that test uses the package. zbench does not import it, so that neither the generator nor its
// rules are in the binary. A method JSONSchemaExtend on the types themselves would add the library
// to the binary, because a linker keeps exported methods if templates are used.
package schema

import "reflect"

//go:generate go test zbench/test/schema -count=1 -run TestSchemasAreCurrent -update

// Document is a kind of file that zbench writes.
type Document struct {
	// File is the file with the schema, relative to the root of the source.
	File string
	// ID is the schema's $id.
	ID    string
	Title string
	// About is the description; empty means the comment of the type.
	About string
	// Types are the types of the file's content. The file holds one of them, or in a journal one
	// per line.
	Types []reflect.Type
	// Journal is true if each object ends with its run and a checksum. Bare is true if a single
	// object does not end with a checksum.
	Journal, Bare bool
}
