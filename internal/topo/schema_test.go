package topo

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"zbench/test/schematest"
)

// Every node fits, an empty one too, and what no node has is refused.
func TestSchemaRefuses(t *testing.T) {
	schema := schematest.Read(t, "schema/v1.json")
	s := schematest.Compile(t, schema)
	for _, in := range []Inputs{{}, {XML: healthy().xml(nicName)}, {Outputs: outputSeeds}} {
		n, err := Read(fstest.MapFS{}, in)
		require.NoError(t, err)
		require.NoError(t, schematest.Fits(t, s, schematest.Written(t, n)))
	}
	made := healthy()
	made.put(gpuFolder(1)+"ras/umc_err_count", "ue: 2\nce: 0\n")
	n := made.read(t, Inputs{Host: "h", Outputs: outputSeeds})
	require.NoError(t, schematest.Fits(t, s, schematest.Written(t, n)))
	// One of everything, with everything in it.
	rate := 1e9
	n.GPUs, n.NICs, n.Links, n.Findings, n.NotChecked, n.Stack = n.GPUs[1:2], n.NICs[:1], n.Links[:1], n.Findings[:2], n.NotChecked[:1], n.Stack[:1]
	n.Links[0].Bandwidth = &rate
	n.NICs[0].GIDs = n.NICs[0].GIDs[:1]
	n.NICs[0].Counters = n.NICs[0].Counters[:1]
	n.Sources = n.Sources[:1]
	n.Findings[1] = Remark{Note, "c", "s", "m", ""}
	good := schematest.Written(t, n)
	schematest.Refuses(t, schema, schematest.Changes{Good: good, Bad: map[string]string{
		"/schema":           `"zbench.topo/0"`,
		"/sha256":           `"none"`,
		"/findings/0/mark":  `"fine"`,
		"/findings/1/mark":  `"bad"`,
		"/gpus/0/rail/path": `"numa"`,
		"/gpus/0/rail/by":   `"index"`,
		"/nics/0/rated_by":  `"label"`,
	}})
}

// What nodes differ in fits its schema, and what no comparison has is refused.
func TestDriftSchemaRefuses(t *testing.T) {
	schema := schematest.Read(t, "schema/drift-v1.json")
	d := &Drift{Nodes: 3, Rows: []DriftRow{{"kernel", "6.1", []DriftValue{{"6.2", []string{"n2"}}}}}, Crossed: []string{"c"}, NotChecked: "w"}
	schematest.Refuses(t, schema, schematest.Changes{Good: schematest.Written(t, d), Bad: map[string]string{"/schema": `"zbench.drift/0"`, "/sha256": `"none"`}})
}
