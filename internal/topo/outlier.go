package topo

import "slices"

// outliers holds values against each other. usual is the value of more than half of those
// that have one, odd are the others. Without such a majority nothing is odd, and split
// are the values: what is right cannot be told.
func outliers[T any](all []T, value func(T) string) (usual string, odd []T, split []string) {
	counts, with := map[string]int{}, 0
	for _, one := range all {
		if v := value(one); v != "" {
			counts[v]++
			with++
		}
	}
	for v, n := range counts {
		if n*2 > with {
			usual = v
		}
		split = append(split, v)
	}
	slices.Sort(split)
	if usual == "" {
		if len(split) < 2 {
			split = nil
		}
		return "", nil, split
	}
	for _, one := range all {
		if v := value(one); v != "" && v != usual {
			odd = append(odd, one)
		}
	}
	return usual, odd, nil
}
