package schema

import (
	"reflect"

	"zbench/internal/topo"
)

// topoFiles are those of internal/topo.
var topoFiles = set{
	files: []Document{
		{
			File: "internal/topo/schema/v1.json", ID: "urn:zbench:topo:1", Title: "zbench topo, topo.json",
			About: "The topology of one node: GPUs, xGMI links, NICs, rails and findings. Rates are in bytes per second.",
			Types: []reflect.Type{reflect.TypeFor[topo.Node]()},
		},
		{
			File: "internal/topo/schema/drift-v1.json", ID: "urn:zbench:drift:1", Title: "zbench topo on several nodes, --format json",
			Types: []reflect.Type{reflect.TypeFor[topo.Drift]()},
		},
	},
	rules: rules{
		reflect.TypeFor[topo.Drift]():  {version(topo.DriftSchema)},
		reflect.TypeFor[topo.Node]():   {version(topo.Schema)},
		reflect.TypeFor[topo.Remark](): {values("mark", topo.Marks()...), when(constant("mark", topo.Bad), needs("hint"), nil)},
		reflect.TypeFor[topo.Rail]():   {values("path", topo.PathSwitch, topo.PathHostBridge), values("by", topo.ByPCI, topo.ByXML)},
		reflect.TypeFor[topo.NIC]():    {values("rated_by", "", topo.RatedByProduct, topo.RatedByChip)},
	},
}
