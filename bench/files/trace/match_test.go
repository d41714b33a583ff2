package trace

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// alike is a job whose ranks all call the same, a made-up list, in a group of all.
func alike(rng *rand.Rand, ranks, calls int, numbered bool) *Trace {
	t := &Trace{World: ranks, Groups: []Group{{Name: "dp", Size: ranks}}}
	for r := range ranks {
		t.Ranks = append(t.Ranks, &Rank{Rank: r})
	}
	for i := range calls {
		c := Call{Collective: []string{"all_reduce", "all_gather", "broadcast"}[rng.IntN(3)], Dtype: "float", Bytes: 4 * rng.Int64N(9), Sequence: Unknown}
		if numbered {
			c.Sequence = 100 + int64(i)
		}
		for _, r := range t.Ranks {
			r.Calls = append(r.Calls, c)
		}
	}
	return t
}

// A rank that calls another collective, size or type is named with the number and both sides; without it
// all calls are alike.
func TestMismatchIsNamed(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 38))
	for i := range 300 {
		ranks, calls, numbered := 3+rng.IntN(6), 2+rng.IntN(30), i%2 == 0
		tr := alike(rng, ranks, calls, numbered)
		if numbered { // files need not begin with the same call
			tr.Ranks[0].Calls = tr.Ranks[0].Calls[1:]
		}
		m := tr.matched()
		require.Equal(t, []int{ranks, calls}, []int{m.Ranks, m.Calls})
		require.Empty(t, m.Differ)
		require.Equal(t, calls, m.Alike)
		require.GreaterOrEqual(t, m.OnAll, calls-1)

		rank := 1 + rng.IntN(ranks-1)
		at := rng.IntN(calls)
		c := &tr.Ranks[rank].Calls[at]
		was := *c
		switch i % 3 {
		case 0:
			c.Collective = "reduce_scatter"
		case 1:
			c.Bytes += 4
		default:
			c.Dtype = "half"
		}
		m = tr.matched()
		require.Len(t, m.Differ, 1)
		d := m.Differ[0]
		number := int64(at) + 1
		if numbered {
			number = 100 + int64(at)
		}
		if numbered && at == 0 && ranks == 3 { // one against one
			continue
		}
		require.Equal(t, []any{number, []int{rank}, told{bytes: true, dtype: true}.called(c), told{bytes: true, dtype: true}.called(&was)}, []any{d.Number, d.Ranks, d.Call, d.OthersCall})
		require.Contains(t, fmt.Sprint(m.findings()), fmt.Sprintf("MISMATCH: Call %d of group dp, %d ranks: rank %d calls %s, rank", number, ranks, rank, told{bytes: true, dtype: true}.called(c)))
	}
}

func TestRankThatStopsIsNamed(t *testing.T) {
	tr := alike(rand.New(rand.NewPCG(1, 1)), 4, 9, false)
	tr.Ranks[2].Calls = tr.Ranks[2].Calls[:5]
	d := tr.matched().Differ
	require.Len(t, d, 1)
	require.Equal(t, []any{int64(6), []int{2}, ""}, []any{d[0].Number, d[0].Ranks, d[0].Call})
	require.Contains(t, Answer(tr, nil).Findings[1].Text, "rank 2 has no call from there on")
	tr.Ranks = tr.Ranks[1:] // part of the ranks: a file that ends early is no finding
	require.Empty(t, tr.matched().Differ)
}

// Ranks of different communicators with one name are not compared.
func TestOnlyCertainGroupsAreMatched(t *testing.T) {
	tr := alike(rand.New(rand.NewPCG(1, 2)), 8, 4, true)
	tr.Groups[0].Size = 4 // two groups of 4, of which the file does not tell the ranks
	tr.Ranks[7].Calls[1].Bytes += 4
	require.Nil(t, tr.matched())
	all := tr.Ranks
	tr.Ranks = slices.Concat(all[:2], all[6:]) // two of each
	require.Nil(t, tr.matched())
	tr.Ranks = all
	tr.Groups[0] = Group{Name: "pp", Size: 8}
	tr.Ranks[7].Calls[1].Collective = "send_recv"
	require.Empty(t, tr.matched().Differ, "sends and receives differ from rank to rank")
	for i := range tr.Ranks {
		tr.Ranks[i].Calls[2] = Call{Collective: "all_to_all", Bytes: int64(i), Sequence: 102}
	}
	require.Empty(t, tr.matched().Differ, "so do the sizes of an all_to_all")
	tr.Ranks[1].Rank = 0
	require.Nil(t, tr.matched(), "a rank that is there twice")
}

// What a file does not tell of one rank's call is no difference: a profile may end within it.
func TestWhatIsNotToldIsNoDifference(t *testing.T) {
	tr := alike(rand.New(rand.NewPCG(1, 2)), 4, 6, true)
	last := &tr.Ranks[3].Calls[len(tr.Ranks[3].Calls)-1]
	bytes := last.Bytes
	last.Bytes, last.Dtype, last.Op = Unknown, "", ""
	require.Empty(t, tr.matched().Differ)
	last.Bytes = bytes + 4
	require.NotEmpty(t, tr.matched().Differ, "what is told still counts")
}
