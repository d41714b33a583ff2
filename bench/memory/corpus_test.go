package memory

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/record"
	"zbench/bench/stat"
	"zbench/internal/schematest"
)

// A record fits, and so does a journal's first line.
func TestRecordsFitTheSchema(t *testing.T) {
	s := schematest.Compile(t, SchemaJSON)
	bare := &Record{Schema: Schema, Command: "rmsnorm", Source: full().Source, Asked: Asked{Data: "random"}}
	for _, text := range []string{encoded(t, bare), schematest.Unsealed(string(journal(t, full())))} {
		require.NoError(t, schematest.Fits(t, s, text))
	}
}

// badRecord are changes that no record may have, of one that has everything.
func badRecord(t *testing.T) schematest.Changes {
	t.Helper()
	imported := full()
	imported.Source.Imports = []record.Import{{
		File: "a.log", SHA256: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", Tool: "rccl-tests", Version: "2", ReportedAverage: new(1e9),
		Skipped: []record.Skip{{Reason: "r", Count: 1, Lines: []int{1}}},
	}}
	imported.Results[0].Timing.Seconds = stat.Summarize(slices.Repeat([]float64{1e-3, 2e-3}, stat.MinP99))
	imported.Results[0].Timing.Launch = new(1e-6)
	imported.Results[1].Role = Tune
	return schematest.Changes{Good: encoded(t, imported), Bad: map[string]string{
		"/schema":                             `"zbench.memory/2"`,
		"/command":                            `"dram"`,
		"/created":                            `"2 Jan 2026"`,
		"/source/kind":                        `"guessed" "imported"`,
		"/source/imports/0/sha256":            `"a.log"`,
		"/source/imports/0/skipped/0/count":   `0`,
		"/source/imports/0/skipped/0/lines/0": `0`,
		"/devices/0/kind":                     `"memory"`,
		"/devices/0/peak":                     `0`,
		"/asked/data":                         `"ones"`,
		"/results/0/role":                     `"fast"`,
		"/results/0/config/grid":              `"square"`,
		"/results/0/status":                   `"fine"`,
		"/results/0/verified/state":           `"yes"`,
		"/results/0/timing/launches":          `0`,
		"/results/0/timing/stop":              `"bored"`,
		"/results/0/timing/launch":            `0`,
		"/results/0/timing/seconds/n":         `0`,
		"/results/0/rate":                     `0`,
		"/results/0/rate_lo":                  `0`,
		"/results/0/rate_hi":                  `0`,
		"/results/0/rate_fastest":             `0`,
		"/results/0/rate_p95":                 `0`,
		"/results/0/of_peak":                  `0`,
	}}
}

// What no record has is refused.
func TestSchemaIsTight(t *testing.T) {
	bad := badRecord(t)
	schematest.Tight(t, schematest.Compile(t, SchemaJSON), func() any { return &Record{} }, bad.Good, encoded(t, full()))
	schematest.Refuses(t, SchemaJSON, bad)
}
