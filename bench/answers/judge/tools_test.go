package judge_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/answers/judge"
	"zbench/bench/hardware/backend"
	"zbench/bench/run/record"
)

// A hint names the tool of the vendor whose GPUs were measured; both where the vendor is not known.
func TestHintsNameTheVendorsTool(t *testing.T) {
	for name, want := range map[string]string{"rocm": "amd-smi", "cuda": "nvidia-smi", backend.Loopback: "amd-smi or nvidia-smi"} {
		rec := &record.Record{Source: record.Source{Backend: name}}
		require.Contains(t, judge.UnstableRemedy(rec), "those of "+want+")", name)
		wrong := record.Result{Case: record.Case{Status: record.WrongData}, Collective: "all_reduce", Ranks: 2}
		rec.Results = []record.Result{wrong}
		for _, f := range judge.Record(rec).Only(judge.CodeWrongData) {
			require.Contains(t, f.Hint, "error counters of "+want+")", name)
		}
		require.NotEmpty(t, judge.Record(rec).Only(judge.CodeWrongData))
	}
}
