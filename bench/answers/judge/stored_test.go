package judge

import (
	"bytes"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/finding"
	"zbench/bench/base/stat"
	"zbench/bench/run/record"
)

// oneLate is a record in which rank 11 of 16 is late.
func oneLate() *record.Record {
	rec := launches(16, 0x1p-15, 0x1p-16, []record.LateCount{{Rank: 11, Count: 38}, {Rank: 3, Count: 2}})
	rec.Schema, rec.Source.Kind = record.Schema, record.Measured
	r := &rec.Results[0]
	r.Key, r.Verified.State = "k", record.NotVerified
	of := func(v float64) *stat.Summary { return stat.Summarize(slices.Repeat([]float64{v}, 40)) }
	r.Isolated.MaxOfRanks, r.Isolated.Spread = of(0x1p-15), of(0x1p-16)
	return rec
}

// A record that was made keeps its findings through its file, whatever a later zbench would find.
func TestRecordsKeepTheirFindings(t *testing.T) {
	rec := oneLate()
	Store(rec)
	require.Equal(t, Rules, rec.Judgement.Rules)
	require.Equal(t, finding.Fail, rec.Judgement.State)
	require.Equal(t, Record(rec), Of(rec))
	late := rec.Judgement.Findings.Only(CodeLate)
	require.Len(t, late, 1)
	require.Equal(t, finding.Rank, late[0].Subject.Kind)

	rec.Judgement.Findings[0].Text = "what an earlier version said"
	var file bytes.Buffer
	require.NoError(t, rec.WriteJSON(&file))
	back, err := record.Decode(bytes.NewReader(file.Bytes()))
	require.NoError(t, err)
	Read(back)
	require.Equal(t, rec.Judgement.Findings, Of(back), "with subjects, shares and hints")
	require.Empty(t, Of(back).Only(CodeOnReading))

	// Edited figures: what was found of the others is not of them.
	edited := bytes.Replace(file.Bytes(), []byte("what an earlier version said"), []byte("nothing is wrong"), 1)
	back, err = record.Decode(bytes.NewReader(edited))
	require.NoError(t, err)
	require.Nil(t, back.Judgement)
	Read(back)
	require.Equal(t, CodeEdited, Of(back)[0].Code)
	require.NotContains(t, Of(back)[1].Text, "nothing is wrong")

	// Without a checksum nobody knows whether the findings fit: an edit that is meant removes it.
	unsealed := regexp.MustCompile(`,\s*"sha256": "[0-9a-f]*"`).ReplaceAll(edited, nil)
	require.NotEqual(t, edited, unsealed)
	back, err = record.Decode(bytes.NewReader(unsealed))
	require.NoError(t, err)
	require.Nil(t, back.Judgement)

	// Found to be edited after it was read, as samples beside it can be.
	rec.Warnings = append(rec.Warnings, record.Warning{Code: record.CodeEdited, Message: "samples.json was edited"})
	require.Equal(t, CodeEdited, Of(rec)[0].Code)
}

// A record of an earlier version is judged once, by the same rules, and says so.
func TestFormerRecordsAreJudgedOnReading(t *testing.T) {
	rec := oneLate()
	want := Record(rec)
	Read(rec)
	got := Of(rec)
	require.Equal(t, want, got[:len(want)])
	require.Len(t, got, len(want)+1)
	require.Equal(t, CodeOnReading, got[len(want)].Code)
	first := rec.Judgement
	Read(rec)
	require.Same(t, first, rec.Judgement)
}

// What was not measured, or not to its end, has not passed; candidates are unclear.
func TestStates(t *testing.T) {
	state := func(l finding.List) finding.State { return judgement(l).State }
	require.Equal(t, finding.NotChecked, state(Record(nil)))
	fine := finding.Finding{Code: CodeNoFault, Severity: finding.OK}
	require.Equal(t, finding.Pass, state(finding.List{fine}))
	require.Equal(t, finding.NotChecked, state(finding.List{{Code: CodeInterrupted, Severity: finding.Warning}, fine}))
	require.Equal(t, finding.Unclear, state(finding.List{{Code: CodeLate, Severity: finding.Fault, Candidates: []finding.Subject{{Kind: finding.Node}}}}))
}

// What was not checked and what did not run stand in the verdict, with the reasons; without any checked data
// there is no OK, unless nobody asked for a check.
func TestUnverifiedDataAreSaid(t *testing.T) {
	rec := oneLate()
	rec.Results = append(rec.Results, rec.Results[0], rec.Results[0])
	rec.Results[0].Verified.Reason = "no compiler\nof any kind"
	rec.Results[1].Verified.State = record.VerifiedOK
	rec.Results[2].Status, rec.Results[2].Reason = record.Skipped, "rounds to 0: 4 B over 16 ranks"
	beside := Record(rec).Only(finding.CodeNotChecked)
	require.Len(t, beside, 1, "beside a fault, too")
	require.Contains(t, beside[0].Text, "in 1: no compiler. 1 case skipped: fewer than 16 bytes per rank.")
	for i := range rec.Results {
		rec.Results[i].Isolated.Late = nil
	}
	said := func() finding.Finding { return Record(rec)[0] }
	require.Equal(t, CodeNoFault, said().Code)
	require.Contains(t, said().Text, "Data checked in 1; not in 1: no compiler. 1 case skipped")
	require.Contains(t, said().Text, "not judged: no reference", "no table is of this hardware")
	rec.Results[0].Verified = rec.Results[1].Verified
	require.Contains(t, said().Text, "Data checked in all.")
	for _, c := range []struct {
		first, second string
		state         finding.State
	}{
		{"memory: all ranks' buffers take 2 GiB", "log says N/A", finding.NotChecked},
		{"no verification requested (-c 0)", "log says N/A", finding.NotChecked},
		{"no verification requested (-c 0)", "no verification requested (-c 0)", finding.Pass},
	} {
		rec.Results[0].Verified = record.Verified{State: record.NotVerified, Reason: c.first}
		rec.Results[1].Verified = record.Verified{State: record.NotVerified, Reason: c.second}
		Store(rec)
		require.Equal(t, c.state, rec.Judgement.State, c.first)
		require.Contains(t, said().Text, short(c.first))
		require.Equal(t, c.state == finding.Pass, said().Severity == finding.OK)
	}
}
