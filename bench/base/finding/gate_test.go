package finding

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// classOf is a class of equal parts but for those at the given places, which have lost so much.
func classOf(n int, lost float64, at ...int) Compared[int] {
	c := Compared[int]{Class: "parts", Limit: 0.1}
	for i := range n {
		c.Figures = append(c.Figures, Figure[int]{Subject: i, Rate: 50})
	}
	for _, i := range at {
		c.Figures[i].Rate *= 1 - lost
	}
	return c
}

func subjects(of []Figure[int]) (out []int) {
	for _, f := range of {
		out = append(out, f.Subject)
	}
	return out
}

// A part that has lost more than the limit is behind wherever it stands and however many there are; one
// that has lost less is not.
func TestOnePartIsBehind(t *testing.T) {
	for n := 2; n < 40; n++ {
		for i := range n {
			behind := classOf(n, 0.101, i).Behind()
			require.Equal(t, []int{i}, subjects(behind), "%d parts", n)
			require.InDelta(t, 0.101, behind[0].Lost, 1e-9)
			require.Empty(t, classOf(n, 0.099, i).Behind(), "%d parts", n)
		}
		require.Empty(t, classOf(n, 0).Behind())
	}
}

// Up to half of the parts may be slow; of two or three all but one.
func TestSeveralPartsAreBehind(t *testing.T) {
	for n, slow := range map[int][]int{2: {1}, 3: {0, 2}, 4: {0, 3}, 5: {1, 2}, 8: {0, 1, 2, 7}, 56: {3, 4, 5, 6}} {
		require.Equal(t, slow, subjects(classOf(n, 0.5, slow...).Behind()), "%d parts", n)
	}
	require.Empty(t, classOf(5, 0.5, 0, 1, 2, 3).Behind(), "the majority decides")
}

// The gate leaves out what is accounted for, and has checked only what has a peer.
func TestGate(t *testing.T) {
	nobody := func(int) bool { return false }
	for name, x := range map[string]struct {
		compared []Compared[int]
		doubts   int
		checked  bool
	}{
		"nothing":            {nil, 0, false},
		"alike":              {[]Compared[int]{classOf(4, 0), classOf(2, 0)}, 0, true},
		"one class behind":   {[]Compared[int]{classOf(4, 0), classOf(8, 0.2, 3)}, 1, true},
		"two classes behind": {[]Compared[int]{classOf(2, 0.2, 0), classOf(8, 0.2, 3)}, 2, true},
		"a part alone":       {[]Compared[int]{classOf(4, 0), classOf(1, 0)}, 0, false},
		"a class without":    {[]Compared[int]{classOf(4, 0), classOf(0, 0)}, 0, false},
	} {
		doubts, checked := Gate(x.compared, nobody)
		require.Len(t, doubts, x.doubts, name)
		require.Equal(t, x.checked, checked, name)
	}
	of := []Compared[int]{classOf(8, 0.2, 3, 5)}
	doubts, _ := Gate(of, func(i int) bool { return i == 3 })
	require.Equal(t, []int{5}, subjects(doubts[0].Figures))
	doubts, _ = Gate(of, func(int) bool { return true })
	require.Empty(t, doubts)
	require.Len(t, of[0].Figures, 8, "the caller's figures stay")
}
