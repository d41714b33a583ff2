package schema

import (
	"reflect"

	"zbench/bench/bucket"
	"zbench/bench/collective"
)

// bucketFiles are those of bench/bucket.
var bucketFiles = set{
	files: []Document{
		{
			File: "bench/bucket/schema/v1.json", ID: "urn:zbench:bucket:1", Title: "zbench knees, bucket.json",
			Types: []reflect.Type{reflect.TypeFor[bucket.Answer]()}, Bare: true,
		},
	},
	rules: rules{
		reflect.TypeFor[bucket.Answer](): {version(bucket.Schema)},
		reflect.TypeFor[bucket.Curve]():  {values("collective", collective.Names()...), signed("last_octave_growth")},
		reflect.TypeFor[bucket.Hole]():   {values("kind", bucket.TimeFalls, bucket.BusBWDrops)},
	},
}
