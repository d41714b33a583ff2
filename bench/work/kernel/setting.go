package kernel

import (
	"fmt"
	"strconv"

	"zbench/bench/base/option"
	"zbench/bench/run/spec"
)

// Setting is a flag of a family.
type Setting = option.Row[spec.Kernels]

// UpTo returns a Value for a whole number from 1 to most. bound is the range in words. If off is
// true, 0 is allowed and means the default.
func UpTo(most int, bound string, off bool, field func(*spec.Kernels) *int) option.Value[spec.Kernels] {
	return option.Of(field, func(v string) (int, error) {
		if off && v == "0" {
			return 0, nil
		}
		return between(v, most, bound)
	}, strconv.Itoa)
}

// AllUpTo returns a Value for a list of whole numbers from 1 to most.
func AllUpTo(most int, bound string, field func(*spec.Kernels) *[]int) option.Value[spec.Kernels] {
	return option.List(field, func(v string) (int, error) { return between(v, most, bound) }, strconv.Itoa)
}

// Names returns a Value for a list of names. check converts a name to its usual form.
func Names(field func(*spec.Kernels) *[]string, check func(string) (string, error)) option.Value[spec.Kernels] {
	return option.List(field, check, option.Same)
}

// Shapes returns a Value for the shapes of a request, one per flag. check converts a shape to its
// usual form.
func Shapes(check func(string) (string, error)) option.Value[spec.Kernels] {
	v := Names(func(k *spec.Kernels) *[]string { return &k.Shapes }, check)
	v.Show = func(k *spec.Kernels) []string { return k.Shapes }
	return v
}

func between(v string, most int, bound string) (int, error) {
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 || n > most {
		return 0, fmt.Errorf("%q: "+bound, v, most)
	}
	return n, nil
}
