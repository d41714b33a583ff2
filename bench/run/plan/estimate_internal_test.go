package plan

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/hardware/collective"
	"zbench/bench/run/record"
)

// What a case takes is known from its own earlier pass, else from the nearest size of its
// curve, within the more the farther that is.
func TestExpectedIsOfTheNearestSize(t *testing.T) {
	sum := func(size int64) Case {
		c, err := collective.ByName("all_reduce")
		require.NoError(t, err)
		return Case{Collective: c, Op: "sum", Requested: size, Key: c.Name + string(rune('a'+size))}
	}
	other := sum(64)
	other.Key, other.Split.Group = "groups", 4
	graph := sum(64)
	graph.Key, graph.Graph = "graph", 2
	cases := []Case{sum(1), sum(16), other, graph, sum(64), sum(256)}
	for i := range cases {
		for j := range i {
			require.NotEqual(t, cases[j].Key, cases[i].Key)
		}
	}
	part := func(seconds float64) []record.Part {
		return []record.Part{{Burst: &record.BurstSamples{Mean: []float64{seconds}}}}
	}
	taken := &Taken{Parts: map[string][]record.Part{"groups": part(100), "graph": part(100)}}
	c := cases[4]
	require.Zero(t, taken.expected(cases, c), "nothing of this curve has run")

	taken.Parts[cases[0].Key] = part(1)
	require.Equal(t, expected{8, 16}, taken.expected(cases, c), "from half of 1 to twice 64")
	taken.Parts[cases[1].Key] = part(2)
	require.Equal(t, expected{4, 4}, taken.expected(cases, c), "the nearer one: from half of 2 to twice 8")
	require.Equal(t, expected{8, 8}, taken.expected(cases, cases[5]))
	taken.Parts[cases[5].Key] = part(12)
	require.Equal(t, expected{4, 4}, taken.expected(cases, c), "of two that are as near the first")
	delete(taken.Parts, cases[1].Key)
	require.Equal(t, expected{6, 4}, taken.expected(cases, c), "from half of 3 to twice 12")
	taken.Parts[c.Key] = part(5)
	require.Equal(t, expected{5, 2}, taken.expected(cases, c), "its own")
}

// The last launches of an order that has isolated ones are these, whatever it does first.
func TestBatchOfIsolatedLaunches(t *testing.T) {
	during, launches, ok := Preparation{First: Batches{Isolated: 7}}.batch()
	require.True(t, ok)
	require.Equal(t, record.DuringIsolated, during)
	require.Equal(t, 7, launches)
	during, launches, _ = Verify{}.batch()
	require.Equal(t, record.DuringVerification, during)
	require.Equal(t, 1, launches)
}
