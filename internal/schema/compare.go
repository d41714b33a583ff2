package schema

import (
	"reflect"

	"zbench/bench/compare"
)

// compareFiles are those of bench/compare.
var compareFiles = set{
	files: []Document{
		{
			File: "bench/compare/schema/v1.json", ID: "urn:zbench:compare:1", Title: "zbench comparison, compare.json",
			Types: []reflect.Type{reflect.TypeFor[compare.Document]()},
		},
	},
	rules: rules{
		reflect.TypeFor[compare.Document](): {version(compare.Schema)},
		reflect.TypeFor[compare.Shape]():    {values("kind", compare.ShapeKinds()...), signed("small", "small_seconds", "large")},
		reflect.TypeFor[compare.Case]():     {values("timing", compare.Timings()...), when(constant("verdict", compare.NotChecked), needs("reason"), nil), signed("change")},
		reflect.TypeFor[compare.Test]():     {signed("lo", "hi")},
		reflect.TypeFor[compare.Common]():   {signed("change")},
		reflect.TypeFor[compare.Overall]():  {signed("change", "lo", "hi")},
		reflect.TypeFor[compare.Verdict]():  {among(compare.Verdicts())},
	},
}
