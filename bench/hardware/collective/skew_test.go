package collective_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"zbench/bench/hardware/collective"
)

func TestSkewDividesEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SampledFrom([]string{"uniform", "zipf:1.2", "zipf:8", "3 1\n1,2"}).Draw(t, "skew")
		s, err := collective.ReadSkew(text)
		require.NoError(t, err)
		n := 4
		if s == "" {
			n = rapid.IntRange(1, 64).Draw(t, "ranks")
		}
		elements, elt := rapid.Int64Range(0, 1<<40).Draw(t, "elements"), rapid.SampledFrom([]int{1, 2, 4, 8}).Draw(t, "width")
		counts := s.Counts(elements, n, elt)
		sum := int64(0)
		for _, c := range counts {
			require.GreaterOrEqual(t, c, int64(0))
			sum += c
		}
		require.Len(t, counts, n)
		require.Equal(t, elements, sum)
	})
}

func TestSkewIsRead(t *testing.T) {
	s, err := collective.ReadSkew("3 1\n1,2")
	require.NoError(t, err)
	require.Equal(t, []int64{12, 4, 4, 8}, s.Counts(28, 4, 4))
	require.Nil(t, s.Counts(28, 5, 4), "there are four weights")
	s, err = collective.ReadSkew("zipf:1")
	require.NoError(t, err)
	require.Equal(t, []int64{600, 300, 200}, s.Counts(1100, 3, 4))
	require.Equal(t, "skew zipf:1", s.String())
	for _, text := range []string{"zipf:", "zipf:0", "zipf:9", "zipf:x", "1,-1", "0 0", "1,x", "NaN", "1e308 1e308", "hot"} {
		_, err := collective.ReadSkew(text)
		require.Error(t, err, text)
	}
}
