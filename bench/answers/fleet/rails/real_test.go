package rails

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/finding"
)

func open(t *testing.T, name string) *os.File {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name))
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// Seventeen nodes in two sets: pairs within a set have 23.6 GB/s, those between them 5 to 7. No
// node passes, and none fails.
func TestTwoSetsOfNodes(t *testing.T) {
	m, notes, err := ReadMatrix(open(t, "two_sets.csv"))
	require.NoError(t, err)
	d := OfVerdict(OfMatrix, "two_sets.csv", m, Judge(m.Data()), notes)
	require.Equal(t, finding.Unclear, d.State)
	require.Empty(t, d.Pass)
	require.Empty(t, d.Fail)
	require.Len(t, d.Unclear, 17)
	require.Contains(t, d.Questions[0].What, "64 about 23.6 GB/s and 67 about 5.8 GB/s; the fast ones join the ends to 2 sets")
	for _, l := range d.Verdict() {
		require.NotEqual(t, CodeHealthy, l.Code)
		require.NotEqual(t, finding.OK, l.Severity)
		require.NotContains(t, l.Text, "share no end")
	}
}

// A summary has no ends: the error names what a table of pairs needs.
func TestASummaryIsNoMatrix(t *testing.T) {
	_, _, err := ReadMatrix(open(t, "summary.csv"))
	require.ErrorIs(t, err, ErrFormat)
	require.ErrorContains(t, err, "line 2: the columns file, test, N, G, nodes, minBytes")
	require.ErrorContains(t, err, "two columns of ends")
}

// Rank 5 has the largest median lateness and is never last; rank 4 is last at three of five.
func TestFiveCollectivesBlameNoRank(t *testing.T) {
	times, err := ReadTimes(open(t, "five_collectives.csv"))
	require.NoError(t, err)
	d := OfLateness("five", times, Arrivals(times.Calls, times.Node))
	require.Equal(t, finding.NotChecked, d.State)
	require.Empty(t, d.Findings)
	require.Contains(t, d.Unchecked[0], "rank 4 was last at 3")
	require.Equal(t, "rank 4", d.Ranking[0].Name)
}

// Every kind of component is a kind of subject, and every line begins with a word.
func TestFindingsOfComponents(t *testing.T) {
	for _, p := range Parts() {
		require.Contains(t, finding.Kinds(), finding.Kind(p))
	}
	d := &Document{
		Kind: Measured, State: finding.Faulty, Unchecked: []string{"links"}, Survey: &Survey{Simulated: true, Fabric: "f"},
		Findings:  []NamedSlow{{Name: "rail 2 of a", Part: Rail, Nodes: []string{"a"}, Lost: 0.5, Level: "high", Reasons: []string{"slow in all 11"}}},
		Questions: []NamedQuestion{{What: "a pair is slow", Candidates: []string{"a", "b"}, Next: "measure again"}},
	}
	all := d.Verdict()
	require.Equal(t, finding.Finding{
		Code: CodeSlow, Severity: finding.Fault, Share: 0.5, Subject: &finding.Subject{Kind: finding.Rail, Name: "rail 2 of a", Nodes: []string{"a"}},
		Text: "rail 2 of a has lost 50 % of its bandwidth (confidence high): slow in all 11", Evidence: []string{"slow in all 11"},
	}, all[0])
	require.Equal(t, []finding.Subject{{Name: "a"}, {Name: "b"}}, all[1].Candidates)
	require.Equal(t, "measure again", all[1].Hint)
	var words []string
	for _, f := range all {
		word, _ := f.Word()
		words = append(words, word)
	}
	require.Equal(t, []string{"FAULT", "UNCLEAR", "NOT CHECKED", "SIMULATED"}, words)
}
