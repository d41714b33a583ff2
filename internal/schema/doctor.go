package schema

import (
	"reflect"

	"zbench/internal/doctor"
)

// doctorFiles are those of internal/doctor.
var doctorFiles = set{
	files: []Document{
		{
			File: "internal/doctor/schema/v1.json", ID: "urn:zbench:doctor:1", Title: "zbench doctor --format json",
			Types: []reflect.Type{reflect.TypeFor[doctor.Report]()}, Bare: true,
		},
	},
	rules: rules{
		reflect.TypeFor[doctor.Report](): {version(doctor.Schema)},
		reflect.TypeFor[doctor.Item]():   {values("mark", doctor.Good, doctor.Bad, doctor.Warn, doctor.Fact), when(constant("mark", doctor.Bad), needs("remedy"), nil)},
	},
}
