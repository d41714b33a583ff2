package schema

import (
	"reflect"

	"zbench/bench/finding"
	"zbench/bench/fleet/nodescreen"
)

// nodescreenFiles are those of bench/fleet/nodescreen.
var nodescreenFiles = set{
	files: []Document{
		{
			File: "bench/fleet/nodescreen/schema/v1.json", ID: "urn:zbench:screen:1", Title: "zbench screen, screen.json",
			About: "The nodes of a fleet, each screened alone, and which of them to leave out. Rates are in bytes per second.",
			Types: []reflect.Type{reflect.TypeFor[nodescreen.Document]()},
		},
		{
			File: "bench/fleet/nodescreen/schema/node-v1.json", ID: "urn:zbench:screen-node:1", Title: "zbench screen, the file of a node",
			About: "What one node found about itself, without any other node. Rates are in bytes per second.",
			Types: []reflect.Type{reflect.TypeFor[nodescreen.Node]()},
		},
	},
	rules: rules{
		reflect.TypeFor[nodescreen.Document]():  {version(nodescreen.Schema), values("state", finding.StatesOfNodes()...)},
		reflect.TypeFor[nodescreen.Deviation](): {values("rule", nodescreen.Rules()...)},
		reflect.TypeFor[nodescreen.Node]():      {version(nodescreen.NodeSchema)},
	},
}
