package record

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/jsonfile"
	"zbench/test/longtest"
	"zbench/test/schematest"
)

// badRecord are changes of full() that no record may have.
var badRecord = map[string]string{
	"/run":                                              `"a5"`,
	"/sha256":                                           `"none"`,
	"/schema":                                           `"zbench.results/0"`,
	"/created":                                          `"20 Nov 2026"`,
	"/source/kind":                                      `"guessed" "simulated"`,
	"/source/imports/0/sha256":                          `"a.log"`,
	"/source/imports/0/skipped/0/count":                 `0`,
	"/source/imports/0/skipped/0/lines/0":               `0`,
	"/world/ranks_per_gpu":                              `1`,
	"/fabric/roofs/0/busbw":                             `0`,
	"/fabric/bracket/factor":                            `0.5`,
	"/results/0/bracket/seconds":                        `0`,
	"/results/0/bracket/fastest":                        `0`,
	"/results/0/bracket/slowest":                        `0`,
	"/spec/sweep/factor":                                `0`,
	"/spec/sweep/step_bytes":                            `0`,
	"/spec/sweep/graph_launches":                        `0`,
	"/spec/sweep/aggregate":                             `0`,
	"/spec/sweep/blocking":                              `0 3`,
	"/spec/sweep/roots":                                 `[]`,
	"/spec/sweep/groups/0":                              `1`,
	"/spec/sweep/strides/0":                             `1`,
	"/spec/sweep/scales/0":                              `0`,
	"/spec/sweep/cache":                                 `"hot"`,
	"/added/0/reason":                                   `"fun"`,
	"/spec/sweep/collectives/0":                         `"all_reduce_perf"`,
	"/spec/schema":                                      `"zbench.spec/0"`,
	"/spec/world/ranks_per_gpu":                         `1`,
	"/results/0/key":                                    `""`,
	"/results/0/collective":                             `"all_reduce_perf"`,
	"/results/0/status":                                 `"failed"`,
	"/results/0/stride":                                 `1`,
	"/results/1/status":                                 `"fine"`,
	"/results/1/reason":                                 `""`,
	"/results/0/verified/state":                         `"yes"`,
	"/results/0/verified/blocks":                        `-1`,
	"/results/0/verified/block_bytes":                   `-1`,
	"/results/2/evidence/during":                        `"lunch"`,
	"/results/2/evidence/ranks/0/state":                 `"asleep"`,
	"/results/2/evidence/ranks/0/ranks":                 `"1-"`,
	"/results/2/evidence/ranks/0/count":                 `0`,
	"/results/2/evidence/witness/state":                 `"asleep"`,
	"/results/2/evidence/witness/more":                  `0`,
	"/results/2/evidence/witness/ranks/0/state":         `"asleep"`,
	"/results/2/evidence/witness/communicators/0/count": `0`,
	"/results/0/isolated/stop":                          `"bored"`,
	"/results/0/burst/mean_of_ranks/n":                  `0`,
	"/results/0/slow_launches/launches":                 `0`,
	"/results/0/slow_launches/groups/0/count":           `0`,
	"/results/2/evidence/suspects":                      `"1-"`,
	"/spec/sweep/sizes":                                 `[]`,
	"/spec/advice/contention":                           `{"compute":11,"messages":1} {"compute":0,"messages":0.1} {"compute":0,"messages":11}`,
	"/results/0/nics/0/gpu":                             `-2`,
}

// badRecords are changes that no record may have, each of a record that fits.
func badRecords(t *testing.T) []schematest.Changes {
	return []schematest.Changes{
		{Good: encoded(t, full()), Bad: badRecord},
		{Good: encoded(t, bare()), Bad: map[string]string{"/source/kind": `"measured"`}},
		{Good: encoded(t, kernels()), Bad: badKernels},
	}
}

// badKernels are changes of kernels() that no record may have.
var badKernels = map[string]string{
	"/source/kind":                         `"emulated" "simulated"`,
	"/world/devices/0/kind":                `"memory"`,
	"/world/devices/0/peak_bandwidth":      `0`,
	"/spec/kernels/data":                   `"ones"`,
	"/kernels/0/key":                       `""`,
	"/kernels/0/role":                      `"fast"`,
	"/kernels/0/config/grid":               `"square"`,
	"/kernels/0/status":                    `"fine"`,
	"/kernels/0/reason":                    `""`,
	"/kernels/0/verified/state":            `"yes"`,
	"/kernels/0/verified/checks/0/pattern": `"random"`,
	"/kernels/0/timing/launches":           `0`,
	"/kernels/0/timing/stop":               `"bored"`,
	"/kernels/0/timing/launch":             `0`,
	"/kernels/0/timing/seconds/n":          `0`,
	"/kernels/0/metrics/rate":              `0`,
	"/kernels/0/metrics/rate_lo":           `0`,
	"/kernels/0/metrics/rate_hi":           `0`,
	"/kernels/0/metrics/rate_fastest":      `0`,
	"/kernels/0/metrics/rate_p95":          `0`,
	"/kernels/0/metrics/of_peak":           `0`,
	"/kernels/0/metrics/effective_flops":   `0`,
	"/kernels/0/metrics/executed_flops":    `0`,
	"/kernels/0/metrics/of_copy":           `0`,
	"/kernels/0/metrics/times_own_full":    `0`,
	"/kernels/0/metrics/times_unfused":     `0`,
	"/kernels/0/metrics/times_vendor":      `0`,
	"/kernels/2/status":                    `"failed"`,
}

// What no record has is refused.
func TestLongSchemaRefuses(t *testing.T) {
	longtest.Only(t)
	schematest.Refuses(t, SchemaJSON, badRecords(t)...)
}

// What no journal has is refused.
func TestLongJournalSchemaRefuses(t *testing.T) {
	longtest.Only(t)
	schematest.Refuses(t, JournalSchemaJSON, slices.Concat(badHeaders(t), badParts(t), badRounds(t))...)
}

// badHeaders are changes of first lines that no journal may have: those of their
// records, and their own.
func badHeaders(t *testing.T) []schematest.Changes {
	var all []schematest.Changes
	for i, rec := range []*Record{full(), bare(), kernels()} {
		h := begun()
		h.Record = *rec
		bad := map[string]string{"/schema": `"zbench.journal/0"`, "/run": `"a5"`, "/crc32c": `"0000000"`, "/machine": `"none"`}
		for where, values := range badRecords(t)[i].Bad {
			bad["/record"+where] = values
		}
		all = append(all, schematest.Changes{Good: string(journalOf(t, h)), Bad: bad})
	}
	return all
}

func badParts(t *testing.T) []schematest.Changes {
	hung, passed := taken("a", 0), taken("a", 0)
	hung.Status, hung.Reason, hung.Evidence, hung.Verified.Reason = Failed, "hung", full().Results[2].Evidence, "none"
	passed.Isolated.Groups, passed.Isolated.Slow, passed.Isolated.Repeated, passed.Isolated.StartedEarly = []float64{1, 2}, []int{0, 1}, 1, 2
	passed.NICs = nics()
	kernel := kernelPart("a@0", 0, 1e-3)
	kernel.Kernel.Launch = new(1e-6)
	kernel.Verified = &kernels().Kernels[0].Verified
	burst, isolated := taken("a", 0), taken("a", 0)
	burst.Status, burst.Reason, burst.Isolated = Failed, "hung", nil
	isolated.Status, isolated.Reason, isolated.Burst = Failed, "hung", nil
	return []schematest.Changes{
		{Good: lineText(t, burst), Bad: map[string]string{"/status": `"ok"`}},
		{Good: lineText(t, isolated), Bad: map[string]string{"/status": `"ok"`}},
		{Good: lineText(t, kernel), Bad: map[string]string{"/kernel/launches": `0`, "/kernel/stop": `"bored"`}},
		{Good: lineText(t, passed), Bad: map[string]string{
			"/status":           `"failed"`,
			"/key":              `""`,
			"/pass":             `2`,
			"/burst/iterations": `0`,
			"/burst/stop":       `"bored"`,
			"/isolated/stop":    `"bored"`,
			"/isolated/ranks":   `"?"`,
			"/nics/0/gpu":       `-2`,
			"/run":              `"ABCDEF01"`,
			"/crc32c":           `"ABCDEF01"`,
		}},
		{Good: lineText(t, hung), Bad: map[string]string{
			"/status":                 `"skipped"`,
			"/reason":                 `""`,
			"/evidence/ranks/0/ranks": `"all"`,
		}},
		{Good: lineText(t, Part{Key: "a", Status: Failed, Reason: "link down"}), Bad: map[string]string{"/status": `"ok"`}},
	}
}

func badRounds(t *testing.T) []schematest.Changes {
	added := AddedRound{Reason: Extension, Cases: full().Results}
	tuned := AddedRound{Reason: Tuned, Kernels: kernels().Kernels}
	return []schematest.Changes{
		{Good: lineText(t, added), Bad: map[string]string{"/reason": `"fun"`, "/run": `"-"`, "/crc32c": `"-"`}},
		{Good: lineText(t, tuned), Bad: map[string]string{"/kernels/0/role": `"fast"`}},
	}
}

func lineText(t *testing.T, line JournalLine) string {
	t.Helper()
	text, err := line.Line(full().Run)
	require.NoError(t, err)
	return string(text)
}

// What no index of samples has is refused.
func TestSamplesSchemaRefuses(t *testing.T) {
	var index bytes.Buffer
	h := begun()
	require.NoError(t, WriteSamples(io.Discard, &index, &h.Record, parts()))
	schematest.Refuses(t, SamplesSchemaJSON, schematest.Changes{Good: index.String(), Bad: map[string]string{
		"/schema":          `"zbench.samples/2"`,
		"/series/0/key":    `""`,
		"/series/0/series": `"all"`,
		"/series/0/count":  `0`,
		"/series/0/width":  `0`,
		"/run":             `"a5"`,
		"/values_sha256":   `"a5"`,
		"/sha256":          `"a5"`,
	}})
}

// What no run.json has is refused.
func TestRunSchemaRefuses(t *testing.T) {
	schema := schematest.Read(t, "schema/run-v1.json")
	run := Run{Schema: RunSchema, Seconds: 1.5, Args: []string{"hbm"}, Host: "h", Go: "go1.26", Platform: "linux/amd64", CPUs: 2}
	bare, err := json.Marshal(run)
	require.NoError(t, err)
	run.Preflight = []Preflight{{Name: "clock", State: CheckWarning, Findings: []PreflightFound{
		{State: CheckWarning, Ranks: "8-15", Hosts: []string{"b"}, Found: "60 s ahead", Why: "w", Next: "n"}, {State: CheckOK, Ranks: "0-7,16", Hosts: []string{"a"}},
	}}}
	run.Control = &Control{Processes: 8, Registered: 0.2, Opened: 0.5, Orders: 57, Waited: 0.05}
	var good bytes.Buffer
	require.NoError(t, jsonfile.Write(&good, "run.json", run))
	schematest.Refuses(t, schema, schematest.Changes{Good: string(bare)}, schematest.Changes{Good: good.String(), Bad: map[string]string{
		"/sha256":   `"none"`,
		"/schema":   `"zbench.run/0"`,
		"/started":  `"today"`,
		"/finished": `"today"`,

		"/control/processes": `1`,

		"/preflight/0/state":            `"fine"`,
		"/preflight/0/findings/0/state": `"fine"`,
		"/preflight/0/findings/0/ranks": `"8-"`,
	}})
}
