// Package option describes command-line flags as rows of a table. A row defines both how a flag fills a
// request and how the request prints it again, so that help, records, resumed runs and printed command lines
// agree.
package option

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"zbench/bench/base/slice"
	"zbench/bench/base/spell"
	"zbench/bench/base/unit"
)

// Row is a flag that fills a field of a T.
type Row[T any] struct {
	// Letter is the short form; empty for none. Unit is empty for a switch. Default is zbench's default as a
	// user would type it; empty for the zero value.
	Letter, Name, Unit, Default, Meaning string
	// Fact is true if the flag describes the measured machine, not the measurement. --force may
	// change such a flag when a run is resumed. All other flags determine the cases and cannot
	// change.
	Fact bool
	Value[T]
}

// Value reads and writes the field of a flag.
type Value[T any] struct {
	// Set parses all given values, at least one. A flag that is not a list uses the last one.
	Set func(*T, []string) error
	// Show returns the field's values as on a command line. The flag is omitted if there are no values or
	// only empty values.
	Show func(*T) []string
	// Unset reports whether the field has its zero value. A flag without a default is then omitted.
	// If Unset is nil, the flag is always shown.
	Unset func(*T) bool
}

// Shown returns the values that a command line needs for a request. With no values the flag is
// omitted.
func (r Row[T]) Shown(t *T) []string {
	if r.Default == "" && r.Unset != nil && r.Unset(t) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(r.Show(t)), func(text string) bool { return text == "" })
}

// Typed returns the flag as typed on a command line, once per value.
func (r Row[T]) Typed(t *T) [][]string {
	name := "--" + r.Name
	if r.Letter != "" {
		name = "-" + r.Letter
	}
	return slice.Map(r.Shown(t), func(v string) []string {
		if r.Unit == "" {
			return []string{name}
		}
		return []string{name, v}
	})
}

// Text returns the flag's value for a message.
func (r Row[T]) Text(t *T) string {
	switch list := r.Shown(t); {
	case len(list) > 0:
		return strings.Join(list, " ")
	case r.Unit == "":
		return "false"
	}
	return "none"
}

// Within turns a flag of a part of a request into a flag of the whole request.
func Within[Whole, Part any](r Row[Part], of func(*Whole) *Part) Row[Whole] {
	whole := Row[Whole]{Letter: r.Letter, Name: r.Name, Unit: r.Unit, Default: r.Default, Meaning: r.Meaning, Fact: r.Fact}
	whole.Set = func(t *Whole, values []string) error { return r.Set(of(t), values) }
	whole.Show = func(t *Whole) []string { return r.Shown(of(t)) }
	return whole
}

// Unless returns v with a condition: command lines omit the flag if the function left returns true.
func Unless[T any](left func(*T) bool, v Value[T]) Value[T] {
	show := v.Show
	v.Show = func(t *T) []string {
		if left(t) {
			return nil
		}
		return show(t)
	}
	return v
}

// Of returns a Value that is read by the function parse and printed by the function show.
func Of[T any, V comparable](field func(*T) *V, parse func(string) (V, error), show func(V) string) Value[T] {
	var zero V
	return Value[T]{
		Set: func(t *T, values []string) (err error) {
			*field(t), err = parse(values[len(values)-1])
			return err
		},
		Show:  func(t *T) []string { return []string{show(*field(t))} },
		Unset: func(t *T) bool { return *field(t) == zero },
	}
}

// List returns a Value for a list of comma-separated items, each at most once.
func List[T any, V comparable](field func(*T) *[]V, parse func(string) (V, error), show func(V) string) Value[T] {
	return Value[T]{
		Set: func(t *T, values []string) error {
			var list []V
			for text := range strings.SplitSeq(strings.Join(values, ","), ",") {
				v, err := parse(strings.TrimSpace(text))
				if err != nil {
					return err
				}
				if !slices.Contains(list, v) {
					list = append(list, v)
				}
			}
			*field(t) = list
			return nil
		},
		Show: func(t *T) []string { return []string{strings.Join(slice.Map(*field(t), show), ",")} },
	}
}

// Bytes returns a Value for a size in bytes. K, M and G are binary.
func Bytes[T any](field func(*T) *int64) Value[T] {
	return Of(field, unit.ParseBytes, Decimal)
}

// Natural returns a Value for a whole number of at least 0.
func Natural[T any](field func(*T) *int) Value[T] {
	return Of(field, ParseNatural, strconv.Itoa)
}

// Whole returns a Value for a whole number. Its range is checked when the run is prepared.
func Whole[T any](field func(*T) *int) Value[T] { return Of(field, strconv.Atoi, strconv.Itoa) }

// Numbers returns a Value for a list of whole numbers. Their range is checked when the run is
// prepared.
func Numbers[T any](field func(*T) *[]int) Value[T] { return List(field, strconv.Atoi, strconv.Itoa) }

// Float returns a Value for a number of at least 0.
func Float[T any](field func(*T) *float64) Value[T] {
	return Of(field, NotNegative, func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) })
}

// Scaled returns a Value for a number. least and most are its limits. The unit of the number is 1/scale of
// the field's unit. It prints twelve digits, which hide the rounding of the conversion.
func Scaled[T any](least, most float64, name string, scale float64, field func(*T) *float64) Value[T] {
	return Of(field, func(text string) (float64, error) {
		f, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		switch {
		case err != nil || !(f > 0) || math.IsInf(f, 0):
			err = fmt.Errorf("%q is not a number above 0", text)
		case f < least || f > most:
			err = fmt.Errorf("%q is outside the plausible range of %g to %g %s", text, least, most, name)
		}
		return f * scale, err
	}, func(v float64) string { return strconv.FormatFloat(v/scale, 'g', 12, 64) })
}

// Switch returns a Value for a flag that is on or off.
func Switch[T any](field func(*T) *bool) Value[T] {
	return Of(field, strconv.ParseBool, strconv.FormatBool)
}

// Text returns a Value for any text.
func Text[T any](field func(*T) *string) Value[T] {
	return Read(field, func(v string) (string, error) { return v, nil })
}

// Read returns a Value for a text. The function parse checks and normalises the text.
func Read[T any](field func(*T) *string, parse func(string) (string, error)) Value[T] {
	return Of(field, parse, Same)
}

// Named returns a Value for a name in any spelling. An unknown name is refused later, when the run
// is prepared, with a list of the known names.
func Named[T any](known []string, field func(*T) *string) Value[T] {
	return Read(field, func(v string) (string, error) {
		own, _ := spell.Match(known, v)
		return cmp.Or(own, v), nil
	})
}

// OneOf returns a Value for one of several words.
func OneOf[T any](known []string, field func(*T) *string) Value[T] {
	return Read(field, func(v string) (string, error) {
		if !slices.Contains(known, v) {
			return "", fmt.Errorf("%q is not one of %s", v, strings.Join(known, ", "))
		}
		return v, nil
	})
}

// Words returns a Value for a list of known words. kind names the words in errors.
func Words[T any](kind string, known []string, field func(*T) *[]string) Value[T] {
	return List(field, func(word string) (string, error) {
		if !slices.Contains(known, word) {
			return "", &spell.Unknown{Kind: kind, Given: word, Valid: known}
		}
		return word, nil
	}, Same)
}

// Same returns its argument.
func Same(text string) string { return text }

// Decimal prints a whole number.
func Decimal(n int64) string { return strconv.FormatInt(n, 10) }

// ParseNatural reads a whole number of at least 0.
func ParseNatural(text string) (int, error) {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%q is not a whole number from 0", text)
	}
	return n, nil
}

// ParseCount reads a count of at least 1. k, M and G are decimal.
func ParseCount(text string) (int64, error) {
	n, err := unit.ParseCount(text)
	if err == nil && n == 0 {
		err = fmt.Errorf("%q: it must be at least 1", text)
	}
	return n, err
}

// NotNegative reads a number of at least 0.
func NotNegative(text string) (float64, error) {
	f, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || !(f >= 0) {
		return 0, fmt.Errorf("%q is not a number from 0", text)
	}
	return f, nil
}
