package schema

import (
	"reflect"

	"zbench/bench/finding"
	"zbench/bench/pairwise"
	"zbench/bench/rails"
)

// pairwiseFiles are those of bench/pairwise.
var pairwiseFiles = set{
	files: []Document{
		{
			File: "bench/pairwise/schema/v1.json", ID: "urn:zbench:rails:1", Title: "zbench rails, rails.json",
			Types: []reflect.Type{reflect.TypeFor[pairwise.Document]()},
		},
	},
	rules: rules{
		reflect.TypeFor[pairwise.Document](): {
			version(pairwise.Schema), values("kind", pairwise.Kinds()...), values("state", finding.StatesOfNodes()...),
			when(constant("kind", pairwise.Measured), needs("survey"), nil),
		},
		reflect.TypeFor[pairwise.Slow](): {values("level", rails.Levels()...)},
		reflect.TypeFor[rails.Use]():     {among(rails.Uses())},
		reflect.TypeFor[rails.Part]():    {among(rails.Parts())},
	},
}
