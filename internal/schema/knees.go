package schema

import (
	"reflect"

	"zbench/bench/collective"
	"zbench/bench/recommend"
)

// kneesFiles are those of bench/recommend.
var kneesFiles = set{
	files: []Document{
		{
			File: "bench/recommend/schema/knees-v1.json", ID: "urn:zbench:knees:1", Title: "zbench knees, knees.json",
			Types: []reflect.Type{reflect.TypeFor[recommend.Knees]()}, Bare: true,
		},
	},
	rules: rules{
		reflect.TypeFor[recommend.Knees]():     {version(recommend.KneesSchema)},
		reflect.TypeFor[recommend.KneeCurve](): {values("collective", collective.Names()...), signed("last_octave_growth")},
		reflect.TypeFor[recommend.Hole]():      {values("kind", recommend.TimeFalls, recommend.BusBWDrops)},
	},
}
