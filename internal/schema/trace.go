package schema

import (
	"reflect"

	"zbench/bench/trace"
)

// traceFiles are those of bench/trace.
var traceFiles = set{
	files: []Document{
		{
			File: "bench/trace/schema/v1.json", ID: "urn:zbench:trace:1", Title: "zbench trace, trace.json",
			Types: []reflect.Type{reflect.TypeFor[trace.Document]()},
		},
	},
	rules: rules{
		reflect.TypeFor[trace.Document](): {version(trace.Schema), signed("sent_of_rank")},
		reflect.TypeFor[trace.Seen]():     {signed("rank")},
		reflect.TypeFor[trace.Overlap]():  {signed("rank")},
	},
}
