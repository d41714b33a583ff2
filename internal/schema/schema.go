// Package schema makes the JSON Schemas of zbench's files from their Go types: the
// shape from the fields and their tags, the descriptions from their comments, and
// what a type cannot say from rules. Run
//
//	go generate ./internal/schema
//
// after a change of a type; a test fails while a committed schema is not current.
//
// The package serves that test alone. zbench does not import it, so that neither
// the generator nor its rules are in the binary: a method JSONSchemaExtend on the
// types themselves would bring the library along, because a linker keeps exported
// methods where templates are used.
package schema

import (
	"reflect"

	"zbench/bench/advice"
	"zbench/bench/bisect"
	"zbench/bench/bucket"
	"zbench/bench/compare"
	"zbench/bench/gate"
	"zbench/bench/nodescreen"
	"zbench/bench/pairwise"
	"zbench/bench/record"
	"zbench/internal/doctor"
	"zbench/internal/topo"
)

//go:generate go test zbench/internal/schema -count=1 -run TestSchemasAreCurrent -update

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

// Documents are all files that have a schema.
var Documents = []Document{
	{
		File: "bench/record/schema/v2.json", ID: "urn:zbench:results:2", Title: "zbench results, version 2",
		About: "One sweep of collectives, one run of kernels, or one import. All values are in base units: bytes, seconds, bytes per second.",
		Types: []reflect.Type{reflect.TypeFor[record.Record]()},
	},
	{
		File: "bench/record/schema/journal-v3.json", ID: "urn:zbench:journal:3", Title: "zbench journal, version 3",
		About: "A line of journal.jsonl: a Header on the first, a Part or an AddedRound on every other. A last line without its newline was cut off and counts for nothing; any other whose checksum does not fit is damaged and must not be used.",
		Types: []reflect.Type{reflect.TypeFor[record.Header](), reflect.TypeFor[record.Part](), reflect.TypeFor[record.AddedRound]()}, Journal: true,
	},
	{
		File: "bench/record/schema/samples-v1.json", ID: "urn:zbench:samples:1", Title: "zbench samples, version 1",
		Types: []reflect.Type{reflect.TypeFor[record.SamplesIndex]()},
	},
	{
		File: "bench/advice/schema/v1.json", ID: "urn:zbench:advice:1", Title: "zbench recommendation, recommend.json",
		Types: []reflect.Type{reflect.TypeFor[advice.Document]()},
	},
	{
		File: "bench/bucket/schema/v1.json", ID: "urn:zbench:bucket:1", Title: "zbench knees, bucket.json",
		Types: []reflect.Type{reflect.TypeFor[bucket.Answer]()}, Bare: true,
	},
	{
		File: "bench/record/schema/run-v1.json", ID: "urn:zbench:run:1", Title: "zbench run, run.json",
		About: "Facts of the tool's own run. A run that has not ended has an empty object instead.",
		Types: []reflect.Type{reflect.TypeFor[record.Run]()}, Bare: true,
	},
	{
		File: "bench/compare/schema/v1.json", ID: "urn:zbench:compare:1", Title: "zbench comparison, compare.json",
		Types: []reflect.Type{reflect.TypeFor[compare.Document]()},
	},
	{
		File: "bench/bisect/schema/v1.json", ID: "urn:zbench:bisect:1", Title: "zbench bisection, bisect.json",
		Types: []reflect.Type{reflect.TypeFor[bisect.Document]()},
	},
	{
		File: "bench/bisect/schema/journal-v1.json", ID: "urn:zbench:bisect-journal:1", Title: "zbench bisection, bisect.jsonl",
		About: "A line of bisect.jsonl: a Header on the first, an Entry for each child on every other. A last line without its newline was cut off and counts for nothing; any other whose checksum does not fit is damaged and must not be used.",
		Types: []reflect.Type{reflect.TypeFor[bisect.Header](), reflect.TypeFor[bisect.Entry]()}, Journal: true,
	},
	{
		File: "bench/gate/schema/v1.json", ID: "urn:zbench:gates:1", Title: "zbench thresholds, gates.json",
		Types: []reflect.Type{reflect.TypeFor[gate.Report]()},
	},
	{
		File: "bench/nodescreen/schema/v1.json", ID: "urn:zbench:screen:1", Title: "zbench screen, screen.json",
		About: "The nodes of a fleet, each screened alone, and which of them to leave out. Rates are in bytes per second.",
		Types: []reflect.Type{reflect.TypeFor[nodescreen.Document]()},
	},
	{
		File: "bench/nodescreen/schema/node-v1.json", ID: "urn:zbench:screen-node:1", Title: "zbench screen, the file of a node",
		About: "What one node found about itself, without any other node. Rates are in bytes per second.",
		Types: []reflect.Type{reflect.TypeFor[nodescreen.Node]()},
	},
	{
		File: "internal/doctor/schema/v1.json", ID: "urn:zbench:doctor:1", Title: "zbench doctor --format json",
		Types: []reflect.Type{reflect.TypeFor[doctor.Report]()}, Bare: true,
	},
	{
		File: "internal/topo/schema/v1.json", ID: "urn:zbench:topo:1", Title: "zbench topo, topo.json",
		About: "The topology of one node: GPUs, xGMI links, NICs, rails and findings. Rates are in bytes per second.",
		Types: []reflect.Type{reflect.TypeFor[topo.Node]()},
	},
	{
		File: "internal/topo/schema/drift-v1.json", ID: "urn:zbench:drift:1", Title: "zbench topo on several nodes, --format json",
		Types: []reflect.Type{reflect.TypeFor[topo.Drift]()},
	},
	{
		File: "bench/pairwise/schema/v1.json", ID: "urn:zbench:rails:1", Title: "zbench rails, rails.json",
		Types: []reflect.Type{reflect.TypeFor[pairwise.Document]()},
	},
}
