package slice_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/slice"
)

func TestLoops(t *testing.T) {
	given := []int{3, 1, 4, 1, 5}
	odd := func(n int) bool { return n%2 == 1 }
	require.Equal(t, []string{"3", "1", "4", "1", "5"}, slice.Map(given, strconv.Itoa))
	require.Equal(t, []int{3, 1, 1, 5}, slice.Where(given, odd))
	require.Equal(t, 4, slice.First(given, func(n int) bool { return n > 3 }))
	require.Zero(t, slice.First(given, func(n int) bool { return n > 5 }))
	require.Equal(t, 4, slice.Count(given, odd))
	require.Equal(t, int64(28), slice.Sum(given, func(n int) int64 { return 2 * int64(n) }))
	require.Equal(t, 5, slice.Most(given, func(n int) int { return n }))
	require.Zero(t, slice.Most(given, func(n int) float64 { return -float64(n) }), "at least 0")
	keys, of := slice.Group(given, odd)
	require.Equal(t, []bool{true, false}, keys, "in the order in which they are met")
	require.Equal(t, map[bool][]int{true: {3, 1, 1, 5}, false: {4}}, of)
	require.Equal(t, []int{3, 1, 4, 1, 5}, given)
	require.Nil(t, slice.Map([]int(nil), strconv.Itoa))
	require.Nil(t, slice.Where(given, func(n int) bool { return n > 5 }))
}
