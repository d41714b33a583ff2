package schema

import (
	"reflect"

	"zbench/bench/bisect"
	"zbench/bench/compare"
)

// bisectFiles are those of bench/bisect.
var bisectFiles = set{
	files: []Document{
		{
			File: "bench/bisect/schema/v1.json", ID: "urn:zbench:bisect:1", Title: "zbench bisection, bisect.json",
			Types: []reflect.Type{reflect.TypeFor[bisect.Document]()},
		},
		{
			File: "bench/bisect/schema/journal-v1.json", ID: "urn:zbench:bisect-journal:1", Title: "zbench bisection, bisect.jsonl",
			About: "A line of bisect.jsonl: a Header on the first, an Entry for each child on every other. A last line without its newline was cut off and counts for nothing; any other whose checksum does not fit is damaged and must not be used.",
			Types: []reflect.Type{reflect.TypeFor[bisect.Header](), reflect.TypeFor[bisect.Entry]()}, Journal: true,
		},
	},
	rules: rules{
		reflect.TypeFor[bisect.Document](): {version(bisect.Schema), values("timing", compare.Timings()...), values("verdict", bisect.Verdicts()...)},
		reflect.TypeFor[bisect.Header]():   {version(bisect.JournalSchema), values("timing", compare.Timings()...)},
		reflect.TypeFor[bisect.Variant]():  {when(constant("left_out", true), needs("reason"), nil)},
		reflect.TypeFor[bisect.Measured](): {values("verdict", bisect.Verdicts()...), when(constant("verdict", bisect.Slower), needs("first"), nil), signed("change")},
		reflect.TypeFor[bisect.Reading]():  {signed("change", "lo", "hi")},
		reflect.TypeFor[bisect.Level]():    {signed("change")},
	},
}
