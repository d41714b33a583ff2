package rails

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/finding"
	"zbench/bench/run/record"
	"zbench/bench/show/document"
	"zbench/bench/show/table"
	"zbench/test/schematest"
)

// full has everything that a survey's document can have.
func full() *Document {
	n := uint64(7)
	s := &Survey{
		Simulated: true, Backend: "loopback", Fabric: "mi300x-pollara", Faults: []string{"f"}, Seed: 1, Nodes: []string{"a", "b"}, GPUs: 2,
		Leaves: [][]string{{"x", ""}, {"y", "y"}}, Bytes: 1 << 20, Launches: 5, Rounds: 4, NetworkRounds: 3,
		Counters: []record.NICCounters{{Node: "a", NIC: "ionic_0", GPU: -1, Sent: &n, Received: &n, Retransmits: &n, CNPs: &n, Pauses: &n, LinkDowns: &n, PCI: []string{"0000:05:00.0"}}},
	}
	s.ActualRails = []ActualRail{
		{Node: "a", Use: Crossed, Expected: []string{"x"}, Actual: []string{"y"}},
		{Node: "b", Use: SharedUse, Expected: []string{"x"}, Actual: []string{"x", "y"}},
		{Node: "b", GPU: 1, Use: UseUnknown, Expected: []string{}, Actual: []string{}, Why: "no NIC was read"},
	}
	timings := []Timing{
		{Kind: Network, Pair: Pair{A: Place{}, B: Place{Node: 1}}, Seconds: []float64{1e-3}},
		{Kind: XGMI, Pair: Pair{A: Place{}, B: Place{GPU: 1}}, Seconds: []float64{1e-3}},
	}
	v := &Verdict{
		State: finding.Faulty, Reference: "the fleet's median", NetworkLimit: 0.06, Unchecked: []string{"u"},
		Findings:  []Slow{{Component: Component{Part: Link, B: 1}, Lost: 0.2, Intermittent: true, Confidence: 0.9, Reasons: []string{"r"}}},
		Questions: []Question{{What: "w", Lost: 0.1, Next: "n", Candidates: []Component{{Part: Rail}}}},
		Ranking:   []Ranked{{Component: Component{Part: Rail}, Lost: 0.1, Slow: 1, All: 2}},
	}
	return OfSurvey(s, timings, v)
}

// What every kind of input writes fits the schema, and what nothing writes is refused.
func TestSchemaRefuses(t *testing.T) {
	schema := schematest.Read(t, "schema/v1.json")
	s := schematest.Compile(t, schema)
	m, notes := read(t, "a,b,46\nb,c,45\na,c,\n")
	matrix := schematest.Written(t, OfVerdict(OfMatrix, "f.csv", m, Judge(m.Data()), notes))
	require.NoError(t, schematest.Fits(t, s, matrix))
	times, err := ReadTimes(strings.NewReader("0,all_reduce,8,0,1\n1,all_reduce,8,0,1\n"))
	require.NoError(t, err)
	require.NoError(t, schematest.Fits(t, s, schematest.Written(t, OfLateness("f.csv", times, Arrivals(times.Calls, times.Node)))))
	d := full()
	d.Pass, d.Unclear = []string{"c"}, []string{"d"}
	good := schematest.Written(t, d)
	schematest.Refuses(t, schema, schematest.Changes{Good: good, Bad: map[string]string{
		"/schema":                       `"zbench.rails/0"`,
		"/sha256":                       `"none"`,
		"/kind":                         `"guessed"`,
		"/state":                        `"fine"`,
		"/limit":                        `1.5`,
		"/findings/0/lost":              `1.5`,
		"/findings/0/confidence":        `1.5`,
		"/findings/0/part":              `"cable"`,
		"/findings/0/level":             `"certain"`,
		"/questions/0/lost":             `1.5`,
		"/ranking/0/lost":               `1.5`,
		"/survey/network_seconds":       `0`,
		"/survey/xgmi_seconds":          `0`,
		"/survey/counters/0/gpu":        `-2`,
		"/survey/actual_rails/0/use":    `"wrong"`,
		"/survey/counters/0/sent_bytes": `-1`,
	}}, schematest.Changes{Good: matrix, Bad: map[string]string{"/kind": `"measured"`}}) // without a survey
}

// The document says which GPUs use another NIC, and why some were not checked.
func TestActualRailsInTheDocument(t *testing.T) {
	d := full()
	notes := strings.Join(d.Notes, "\n")
	require.Contains(t, notes, "GPU 0 of b sent through NICs x, y; the expected NIC by PCI parents is x")
	require.Contains(t, notes, "0 of 3 GPUs sent through the NIC that PCI parents expect, 1 through another one")
	require.Contains(t, d.Unchecked, "the rail that a GPU really uses (GPU 1 of b): no NIC was read")
	var rows bytes.Buffer
	others, expected := d.Survey.ActualTables()
	require.False(t, expected.Filled())
	require.NoError(t, table.Text(&rows, 120, others))
	require.Regexp(t, `(?s)a +0 +x +y +crossed.*b +0 +x +x, y +shared with others.*b +1 +– +– +NOT CHECKED: no NIC was read`, rows.String())
}

// The rows that are as expected are folded, so that a page of 128 nodes keeps to what matters.
func TestExpectedNICsAreFolded(t *testing.T) {
	s := Survey{ActualRails: []ActualRail{{Node: "a", Use: AsExpected}, {Node: "b", Use: Crossed}, {Node: "c", Use: AsExpected}}}
	others, expected := s.ActualTables()
	require.Len(t, others.Groups[0].Rows, 1)
	blocks := document.Apart("NICs", others, expected, "as expected")
	require.Equal(t, others, blocks[0].(document.Sheet).Table)
	require.Len(t, blocks[1].(document.Details).Blocks[0].(document.Sheet).Groups[0].Rows, 2)
	require.Len(t, document.Apart("NICs", table.Table{}, expected, "as expected"), 1)
}
