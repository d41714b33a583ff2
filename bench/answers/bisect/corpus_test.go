package bisect

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/jsonfile"
	"zbench/bench/hardware/policy"
	"zbench/bench/run/spec"
	"zbench/test/schematest"
)

// journalLine is a line of a journal, without its newline.
func journalLine(t *testing.T, of any) string {
	t.Helper()
	text, err := jsonfile.Line(strings.Repeat("a5", 16), of)
	require.NoError(t, err)
	return string(text)
}

// What the schema of the journal must refuse.
func TestTheJournalsSchema(t *testing.T) {
	header := Header{
		Schema: JournalSchema, Options: Defaults(), Common: []string{}, Timing: "burst", GPUs: 8,
		Spec: spec.Spec{
			Schema: spec.Schema, Benchmark: spec.Collectives, Backend: "rocm",
			World: spec.World{Nodes: 1, GPUsPerNode: 8, GPUsPerProcess: 8, RanksPerGPU: 2},
			Sweep: &spec.Sweep{
				Collectives: []string{"all_reduce"}, Factor: 2, StepBytes: 8, Sizes: []int64{8}, InPlace: []bool{true}, Cache: "cold", Calls: policy.Calls{GraphLaunches: 1, Aggregate: 2, Blocking: 1}, Roots: []int{1},
				Groups: []int{2}, Strides: []int{2}, Scales: []int{1},
			},
			Kernels: &spec.Kernels{Data: "zeros"},
			Advice:  &spec.Advice{Framework: "ddp"},
		},
		Variants: []Given{{Name: "a"}}, Cases: []Planned{{Key: "k", Bytes: 8}}, Scouts: []float64{1},
	}
	schematest.Refuses(t, schematest.Read(t, "schema/journal-v1.json"), schematest.Changes{Good: journalLine(t, header), Bad: map[string]string{
		"/schema": `"zbench.bisect-journal/0"`, "/timing": `"mean"`, "/options/alpha": `0 1`, "/options/miss": `0 1`, "/options/max_rounds": `0`,
		"/variants/0/name": `""`, "/cases/0/key": `""`, "/spec/sweep/cache": `"hot"`, "/spec/sweep/collectives/0": `"ring"`, "/spec/sweep/factor": `0`, "/spec/sweep/step_bytes": `0`,
		"/spec/sweep/graph_launches": `0`, "/spec/sweep/aggregate": `0`, "/spec/sweep/blocking": `0 3`, "/spec/sweep/roots": `[]`, "/spec/sweep/groups/0": `1`, "/spec/sweep/strides/0": `1`, "/spec/sweep/scales/0": `0`, "/spec/sweep/sizes": `[]`,
		"/spec/schema": `"zbench.spec/0"`, "/spec/world/ranks_per_gpu": `1`, "/spec/kernels/data": `"ones"`, "/run": `"a5"`, "/crc32c": `"zz"`,
		"/spec/advice/contention": `{"compute":11,"messages":1} {"compute":0,"messages":0.1} {"compute":0,"messages":11}`,
	}}, schematest.Changes{Good: journalLine(t, Entry{Variant: "a", Seconds: 1, Times: map[string]float64{"k": 1}}), Bad: map[string]string{
		"/run": `"a5"`, "/crc32c": `"zz"`, "/seconds": `-1`,
	}})
}
