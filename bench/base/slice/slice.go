// Package slice has functions that loop over a slice and return a slice or a number.
package slice

// Map returns a function's result for each element, in order. An empty slice gives nil.
func Map[T, U any](all []T, of func(T) U) []U {
	var out []U
	for _, x := range all {
		out = append(out, of(x))
	}
	return out
}

// Where returns the elements that meet a condition, in order, or nil if there are none. It does not
// change the given slice.
func Where[T any](all []T, holds func(T) bool) []T {
	var out []T
	for _, x := range all {
		if holds(x) {
			out = append(out, x)
		}
	}
	return out
}

// First returns the first element that meets a condition, or the zero value if there is none.
func First[T any](all []T, holds func(T) bool) (first T) {
	for _, v := range all {
		if holds(v) {
			return v
		}
	}
	return first
}

// Count returns the number of elements that meet a condition.
func Count[T any](all []T, holds func(T) bool) int {
	n := 0
	for _, x := range all {
		if holds(x) {
			n++
		}
	}
	return n
}

// Sum adds up a function's results for the elements, in order.
func Sum[T any, N int | int64 | float64](all []T, of func(T) N) N {
	var sum N
	for _, x := range all {
		sum += of(x)
	}
	return sum
}

// Most returns the greatest of a function's results for the elements, and at least 0.
func Most[T any, N int | int64 | float64](all []T, of func(T) N) N {
	var most N
	for _, x := range all {
		most = max(most, of(x))
	}
	return most
}

// Distinct returns the elements without repetitions, in order, or nil if there are none.
func Distinct[T comparable](all []T) []T {
	once, _ := Group(all, func(x T) T { return x })
	return once
}

// Group groups the elements by key. keys has the keys in order of first appearance.
func Group[T any, K comparable](all []T, key func(T) K) (keys []K, of map[K][]T) {
	of = map[K][]T{}
	for _, x := range all {
		k := key(x)
		if of[k] == nil {
			keys = append(keys, k)
		}
		of[k] = append(of[k], x)
	}
	return keys, of
}

// AsInt returns 1 for true and 0 for false, so that true sorts after false.
func AsInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Numbers returns the numbers below n.
func Numbers(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// Pointers returns a pointer to each element, for reading or changing in place.
func Pointers[T any](all []T) []*T {
	out := make([]*T, len(all))
	for i := range all {
		out[i] = &all[i]
	}
	return out
}
