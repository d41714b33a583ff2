package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/answers/advice"
	"zbench/bench/answers/judge"
	"zbench/bench/answers/recommend"
	"zbench/bench/base/exit"
	"zbench/bench/base/finding"
	"zbench/bench/engine"
	"zbench/bench/run/record"
	"zbench/test/longtest"
)

// sickFolder is a sweep with a rail that has lost half of its bandwidth, and its record.
func sickFolder(t *testing.T) (dir string, rec *record.Record) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "sick")
	code, _, stderr := printed(t, "collectives", "reduce_scatter", "all_gather", "--nodes", "2", "--place", "in", "-b", "64K", "-f", "4", "-e", "64M",
		"-q", "--out", dir, "--fault", "slow_rail:node=1,rail=2,left=0.5")
	require.Equal(t, exit.Regression, code, stderr)
	text, err := os.ReadFile(filepath.Join(dir, engine.ResultsFile))
	require.NoError(t, err)
	rec, err = record.Decode(bytes.NewReader(text))
	require.NoError(t, err)
	return dir, rec
}

// A recommendation that lies beside a record with a fault, from a version that did not look
// for one, is not shown.
func TestLongOldAdviceOnAFaultIsIgnored(t *testing.T) {
	longtest.Only(t)
	dir, rec := sickFolder(t)
	require.NotNil(t, faultOf(rec))
	d, err := advice.AskAssumed([]recommend.Source{recommend.SourceOf(rec, nil)})
	require.NoError(t, err)
	require.True(t, d.Answered(), "nobody looked for the fault")
	var file bytes.Buffer
	require.NoError(t, d.WriteJSON(&file))
	require.NoError(t, os.WriteFile(filepath.Join(dir, engine.AdviceFile), file.Bytes(), 0o600))
	code, _, stderr := printed(t, "report", dir)
	require.Zero(t, code, stderr)
	require.Contains(t, stderr, "is ignored: the record shows a fault, which comes before a bucket size")
	page, err := os.ReadFile(filepath.Join(dir, "report.html"))
	require.NoError(t, err)
	require.NotContains(t, string(page), d.Knob()+" ")
	require.Contains(t, string(page), "zbench rails --nodes 2")
}

// What voids a bucket size, and what does not: the limit is a tenth on both sides.
func TestFaultsThatVoidABucketSize(t *testing.T) {
	longtest.OneGoroutine(t)
	_, rec := sickFolder(t)
	require.Equal(t, judge.CodeLostBusBW, judge.FixFirst(rec).Code)
	with := func(change func(r *record.Result)) *finding.Finding {
		other := *rec
		other.Results = make([]record.Result, len(rec.Results))
		for i, r := range rec.Results {
			// The sick rail's times become those of a sound one.
			other.Results[i] = r
			change(&other.Results[i])
		}
		return judge.FixFirst(&other)
	}
	require.Nil(t, with(func(r *record.Result) { r.Burst, r.Isolated = nil, nil }), "nothing was timed")
	wrong := with(func(r *record.Result) {
		r.Burst, r.Isolated = nil, nil
		r.Status, r.Verified.State = record.WrongData, record.VerifiedWrong
	})
	require.Equal(t, judge.CodeWrongData, wrong.Code, "no share of wrong data is small")
	require.Nil(t, with(func(r *record.Result) { r.Status, r.Reason = record.Failed, "out of memory" }), "a case that failed is no fault of the fabric")
	// An imported log has no model that it is compared with.
	imported := *rec
	imported.Simulated, imported.Fabric, imported.Spec = false, nil, nil
	require.Nil(t, judge.FixFirst(&imported))
	require.Equal(t, "zbench rails --nodes 2 --gpus-per-node 8", railsLine(&imported))
}
