package kernel

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"zbench/bench/slice"
	"zbench/bench/spec"
)

// Setting is a flag that fills a part of a request.
type Setting struct {
	// Unit is the unit of the value, empty for a switch. Fallback is zbench's default.
	Name, Unit, Fallback, Meaning string
	// Set reads all given values.
	Set func(*spec.Kernels, []string) error
	// Show returns the values in the form of the command line; none is the default.
	Show func(*spec.Kernels) []string
}

// One is a setting with one value, omitted if empty: the last given value counts.
func One(name, unit, fallback, meaning string, set func(*spec.Kernels, string) error, show func(*spec.Kernels) string) Setting {
	return Setting{
		Name: name, Unit: unit, Fallback: fallback, Meaning: meaning,
		Set: func(k *spec.Kernels, values []string) error { return set(k, values[len(values)-1]) },
		Show: func(k *spec.Kernels) []string {
			if v := show(k); v != "" {
				return []string{v}
			}
			return nil
		},
	}
}

// Switch is on or off.
func Switch(name, meaning string, of func(*spec.Kernels) *bool) Setting {
	return One(name, "", "", meaning, func(k *spec.Kernels, v string) (err error) {
		*of(k), err = strconv.ParseBool(v)
		return err
	}, func(k *spec.Kernels) string {
		if *of(k) {
			return "true"
		}
		return ""
	})
}

// Number is a whole number from 1 to most; bound is the range in words. Zero is the default, which
// only a setting that may be switched off accepts as a value.
func Number(name, meaning string, most int, bound string, off bool, of func(*spec.Kernels) *int) Setting {
	return One(name, "int", "", meaning, func(k *spec.Kernels, v string) (err error) {
		if off && v == "0" {
			*of(k) = 0
			return nil
		}
		*of(k), err = between(name, v, most, bound)
		return err
	}, func(k *spec.Kernels) string {
		if *of(k) == 0 {
			return ""
		}
		return strconv.Itoa(*of(k))
	})
}

// Numbers is a list of whole numbers from 1 to most, each once.
func Numbers(name, fallback, meaning string, most int, bound string, of func(*spec.Kernels) *[]int) Setting {
	return list(name, "ints", fallback, meaning, of, func(v string) (int, error) { return between(name, v, most, bound) }, strconv.Itoa)
}

// Names is a list of names, each once; check returns the canonical form of a name.
func Names(name, fallback, meaning string, of func(*spec.Kernels) *[]string, check func(string) (string, error)) Setting {
	return list(name, "names", fallback, meaning, of, check, func(v string) string { return v })
}

func list[T comparable](name, unit, fallback, meaning string, of func(*spec.Kernels) *[]T, read func(string) (T, error), text func(T) string) Setting {
	return Setting{
		Name: name, Unit: unit, Fallback: fallback, Meaning: meaning,
		Set: func(k *spec.Kernels, values []string) error {
			to := of(k)
			*to = nil
			for _, v := range Split(values) {
				one, err := read(v)
				if err != nil {
					return err
				}
				if !slices.Contains(*to, one) {
					*to = append(*to, one)
				}
			}
			return nil
		},
		Show: func(k *spec.Kernels) []string {
			texts := slice.Map(*of(k), text)
			if len(texts) == 0 {
				return nil
			}
			return []string{strings.Join(texts, ",")}
		},
	}
}

// Split returns the values of a flag, given separately or with commas.
func Split(values []string) []string {
	var list []string
	for v := range strings.SplitSeq(strings.Join(values, ","), ",") {
		if v = strings.TrimSpace(v); v != "" {
			list = append(list, v)
		}
	}
	return list
}

func between(flag, v string, most int, bound string) (int, error) {
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 || n > most {
		return 0, fmt.Errorf("--%s %s: "+bound, flag, v, most)
	}
	return n, nil
}
