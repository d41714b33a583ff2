package schema

import (
	"reflect"

	"zbench/bench/finding"
	"zbench/bench/fleet/rails"
)

// pairwiseFiles are those of bench/fleet/rails.
var pairwiseFiles = set{
	files: []Document{
		{
			File: "bench/fleet/rails/schema/v1.json", ID: "urn:zbench:rails:1", Title: "zbench rails, rails.json",
			Types: []reflect.Type{reflect.TypeFor[rails.Document]()},
		},
	},
	rules: rules{
		reflect.TypeFor[rails.Document](): {
			version(rails.Schema), values("kind", rails.Kinds()...), values("state", finding.StatesOfNodes()...),
			when(constant("kind", rails.Measured), needs("survey"), nil),
		},
		reflect.TypeFor[rails.NamedSlow](): {values("level", rails.Levels()...)},
		reflect.TypeFor[rails.Use]():       {among(rails.Uses())},
		reflect.TypeFor[rails.Part]():      {among(rails.Parts())},
	},
}
