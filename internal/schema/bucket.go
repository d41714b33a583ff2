package schema

import (
	"reflect"

	"zbench/bench/recommend"
	"zbench/bench/collective"
)

// bucketFiles are those of bench/bucket.
var bucketFiles = set{
	files: []Document{
		{
			File: "bench/bucket/schema/v1.json", ID: "urn:zbench:bucket:1", Title: "zbench knees, bucket.json",
			Types: []reflect.Type{reflect.TypeFor[recommend.Knees]()}, Bare: true,
		},
	},
	rules: rules{
		reflect.TypeFor[recommend.Knees](): {version(recommend.KneesSchema)},
		reflect.TypeFor[recommend.KneeCurve]():  {values("collective", collective.Names()...), signed("last_octave_growth")},
		reflect.TypeFor[recommend.Hole]():   {values("kind", recommend.TimeFalls, recommend.BusBWDrops)},
	},
}
