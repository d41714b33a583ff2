package recommend

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Of more than 512 tensors the sums are found in a walk for each bin: the same as of
// all pairs the least in each.
func TestBinnedSumsAreTheLeastOfAllPairs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.SampledFrom([]int64{0, 1, 2, 64, 2048, 65_536, 2048 * 1408, 1 << 40})
		before := []int64{0}
		for range rapid.IntRange(1, 90).Draw(t, "tensors") {
			before = append(before, before[len(before)-1]+size.Draw(t, "elements")+rapid.Int64Range(0, 3).Draw(t, "more"))
		}
		lo := rapid.Int64Range(0, 1<<17).Draw(t, "lo")
		hi := before[len(before)-1]
		least := map[uint64]int64{}
		for _, s := range allSums(before, max(1, lo), hi) {
			if b := bin(s); least[b] == 0 || s < least[b] {
				least[b] = s
			}
		}
		var want []int64
		for _, s := range least {
			want = append(want, s)
		}
		slices.Sort(want)
		require.Equal(t, want, binnedSums(before, lo, hi))
	})
}

// One walk at most for each bin, whatever the tensors are.
func BenchmarkSums(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		params := many(n)
		total := int64(0)
		for _, p := range params {
			total += p.Elements
		}
		b.Run(Count(int64(n)), func(b *testing.B) {
			for b.Loop() {
				sums(params, leastSetting, total, maxEdges)
			}
		})
	}
}
