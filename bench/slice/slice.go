// Package slice has the loops that make a slice or a number of a slice's elements.
package slice

// Map returns what a function gives for each element, in order; nil for none.
func Map[T, U any](all []T, of func(T) U) []U {
	var out []U
	for _, x := range all {
		out = append(out, of(x))
	}
	return out
}

// Where returns the elements for which a condition holds, in order; nil for none. It leaves the given slice as it is.
func Where[T any](all []T, holds func(T) bool) []T {
	var out []T
	for _, x := range all {
		if holds(x) {
			out = append(out, x)
		}
	}
	return out
}

// Count returns the number of elements for which a condition holds.
func Count[T any](all []T, holds func(T) bool) int {
	n := 0
	for _, x := range all {
		if holds(x) {
			n++
		}
	}
	return n
}

// Sum adds what a function gives for each element, in order.
func Sum[T any, N int | int64 | float64](all []T, of func(T) N) N {
	var sum N
	for _, x := range all {
		sum += of(x)
	}
	return sum
}

// Most returns the greatest of what a function gives for the elements, and of 0.
func Most[T any, N int | int64 | float64](all []T, of func(T) N) N {
	var most N
	for _, x := range all {
		most = max(most, of(x))
	}
	return most
}

// Distinct returns the elements without those that were met before, in order; nil for none.
func Distinct[T comparable](all []T) []T {
	once, _ := Group(all, func(x T) T { return x })
	return once
}

// Group returns the elements by a key, and the keys in the order in which they were met.
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
