package compare

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/run/record"
)

// copied is a run under another name, as a copied folder is.
func copied(r Run, name string) Run {
	rec := *r.Record
	rec.Results = append([]record.Result(nil), r.Record.Results...)
	return Run{name, &rec}
}

// A run that is on both sides has no difference and is no evidence of any: it is refused,
// as a copy elsewhere, as the part of it that an interruption left, and beside other runs.
func TestARunIsNotComparedWithItself(t *testing.T) {
	base, fresh := plantedSide("base", 1, 3, 0.01, nil), plantedSide("new", 10, 3, 0.01, nil)
	part := copied(base[1], "part")
	part.Record.Results = part.Record.Results[:4]
	for name, sides := range map[string][2][]Run{
		"the same":             {base[:1], base[:1]},
		"a copy":               {base[:1], {copied(base[0], "elsewhere")}},
		"a part":               {base, {fresh[0], part}},
		"one of several":       {base, {fresh[0], fresh[1], base[2]}},
		"twice on one side":    {base, {fresh[0], copied(fresh[0], "again")}},
		"twice in BASE":        {{base[0], copied(base[0], "again")}, fresh},
		"a part on one side":   {{base[1], part}, fresh},
		"all of both, in turn": {base, {base[2], base[0], base[1]}},
	} {
		_, err := Compare(sides[0], sides[1], Defaults())
		var refused *RefusedError
		require.ErrorAs(t, err, &refused, name)
		require.Contains(t, refused.Why, "one run", name)
		require.NotEmpty(t, refused.Hint, name)
	}
	_, err := Compare(base[:1], []Run{copied(base[0], "elsewhere")}, Defaults())
	require.EqualError(t, err, "base0 (BASE) and elsewhere (NEW) are equal in all 10 times that both have: they are one run, compared with itself")
	_, err = Compare(base, fresh, Defaults())
	require.NoError(t, err)
}

// Logs print few digits: two runs of one size may print the same. Only logs that are equal
// in more, or one file twice, are one run.
func TestShortLogsMayPrintTheSame(t *testing.T) {
	short := func(name, sum string, sizes int) Run {
		r := planted(1, 0.01, nil)
		r.Source = record.Source{Kind: record.Imported, Imports: []record.Import{{File: name, SHA256: sum}}}
		r.Results = r.Results[:sizes]
		return Run{name, r}
	}
	_, err := Compare([]Run{short("a", "1", 1)}, []Run{short("b", "2", 1)}, Defaults())
	require.NoError(t, err)
	_, err = Compare([]Run{short("a", "1", 1)}, []Run{short("b", "1", 1)}, Defaults())
	require.ErrorContains(t, err, "one run")
	_, err = Compare([]Run{short("a", "1", 10)}, []Run{short("b", "2", 10)}, Defaults())
	require.ErrorContains(t, err, "one run")
}

// What failed in NEW alone is said as that: nothing became slower.
func TestBrokenIsNotCalledSlower(t *testing.T) {
	base, fresh := plantedSide("base", 1, 3, 0.001, nil), plantedSide("new", 10, 3, 0.001, nil)
	fresh[1].Record.Results[3].Status, fresh[1].Record.Results[3].Reason = record.WrongData, "17 wrong elements"
	d, err := Compare(base, fresh, Defaults())
	require.NoError(t, err)
	require.Equal(t, "BROKEN IN NEW: of 10 cases 1 broken, 9 the same within 2 %.", d.Headline())
	require.Equal(t, Slower, d.Verdict)
	fresh = plantedSide("new", 10, 3, 0.001, slowerAt(1, 0.2))
	fresh[1].Record.Results[3].Status, fresh[1].Record.Results[3].Reason = record.WrongData, "17 wrong elements"
	d, err = Compare(base, fresh, Defaults())
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(d.Headline(), "SLOWER: of 10 cases 1 broken, "), d.Headline())
}

// Of logs, too, the number of launches in a burst is listed; a list of many hosts is cut in
// tables and whole in the document; and a log of several runs is said to count as one.
func TestWhatElseDiffersInLogs(t *testing.T) {
	base, fresh := log(t, 0, "2.22.3", 0), log(t, 1, "2.22.3", 0)
	for i := range fresh.Record.Results {
		fresh.Record.Results[i].Burst.Iterations = 1000
		fresh.Record.Results[i].Burst.MeanOfRanks.N = 3
	}
	for i := range 128 {
		fresh.Record.World.Hosts = append(fresh.Record.World.Hosts, "x3006c0s1b"+strings.Repeat("n", i))
	}
	d, err := Compare([]Run{base}, []Run{fresh}, Defaults())
	require.NoError(t, err)
	found := map[string]Change{}
	for _, c := range d.Changes {
		found[c.What] = c
	}
	require.Equal(t, Change{What: "launches in a burst (-n)", Base: []string{"20"}, New: []string{"1000"}}, found["launches in a burst (-n)"])
	require.Greater(t, len(found["hosts"].New[0]), 1000)
	for _, g := range d.ChangeTable().Groups {
		for _, row := range g.Rows {
			require.Less(t, len(strings.Join(row.Cells, "")), 200)
		}
	}
	require.Contains(t, d.Notes, "2.22.3 run 1 has up to 3 measurements of a case, which count as one run: give each run a log of its own.")
}
