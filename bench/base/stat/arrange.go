package stat

import (
	"math"
	"math/bits"
	"slices"
)

// arrange returns the series sorted, and its centred ranks in time order; equal values share their
// middle rank.
//
// One sort of 64-bit words does both. The low ⌈log₂ n⌉ bits hold the index in the series and the
// others the leading bits of the value. Values with equal leading bits (to 1e-12 up to n = 4,000)
// share a rank, because no clock resolves the difference.
func arrange(series []float64) (sorted, ranks []float64) {
	n := len(series)
	width := bits.Len(uint(max(n-1, 0)))
	place := uint64(1)<<width - 1
	words := make([]uint64, n)
	for i, v := range series {
		words[i] = ordered(v)&^place | uint64(i)
	}
	words = sortWords(words, width)
	both := make([]float64, 2*n)
	sorted, ranks = both[:n:n], both[n:]
	for i := 0; i < n; {
		j := i
		for ; j < n && words[j]&^place == words[i]&^place; j++ {
			sorted[j] = series[words[j]&place]
		}
		middle := float64(i+j-n) / 2 // of i … j−1, less (n−1)/2
		for ; i < j; i++ {
			ranks[words[i]&place] = middle
		}
	}
	slices.Sort(sorted) // almost sorted already: this corrects the order within shared ranks
	return sorted, ranks
}

// ordered maps floats to words of the same order: the sign bit flips, and of
// negative numbers every other one.
func ordered(v float64) uint64 {
	b := math.Float64bits(v)
	if b>>63 == 1 {
		return ^b
	}
	return b | 1<<63
}

// sortWords sorts by the bits from the given one upwards, byte by byte from the lowest (Knuth,
// TAOCP 3, §5.2.5). Words that agree in these bits keep their order. It does not branch on the
// data, which on new data makes it several times faster than comparing. Bytes that are equal in all
// words cost one pass over the counts: times that differ by per cents share the highest bytes.
func sortWords(words []uint64, from int) []uint64 {
	spare := make([]uint64, len(words))
	for shift := from; shift < 64; shift += 8 {
		var ends [256]int
		for _, w := range words {
			ends[w>>shift&255]++
		}
		if len(words) == 0 || ends[words[0]>>shift&255] == len(words) {
			continue
		}
		at := 0
		for i, count := range ends {
			ends[i] = at
			at += count
		}
		for _, w := range words {
			b := w >> shift & 255
			spare[ends[b]] = w
			ends[b]++
		}
		words, spare = spare, words
	}
	return words
}
