package schema

import (
	"reflect"

	"zbench/bench/gate"
)

// gateFiles are those of bench/gate.
var gateFiles = set{
	files: []Document{
		{
			File: "bench/gate/schema/v1.json", ID: "urn:zbench:gates:1", Title: "zbench thresholds, gates.json",
			Types: []reflect.Type{reflect.TypeFor[gate.Report]()},
		},
	},
	rules: rules{
		reflect.TypeFor[gate.Report](): {version(gate.Schema), values("state", gate.States()...)},
		reflect.TypeFor[gate.Check]():  {values("state", gate.States()...)},
	},
}
