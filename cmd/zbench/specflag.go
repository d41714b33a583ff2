package main

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"zbench/bench/spec"
	"zbench/bench/spell"
	"zbench/bench/unit"
)

// specFlag is a flag that fills a part of the request: its letter and name, in
// which unit it is, zbench's default, what it means, how it is read and how it is
// written again.
type specFlag struct {
	letter, name, unit, fallback, meaning string
	// set reads all values that were given: a flag that is no list takes the last.
	set func(*spec.Spec, []string) error
	// show is the values as the command line has them; none is the default.
	show func(*spec.Spec) []string
	// fact is true if the flag describes what is measured, not how: --force may change
	// it when a sweep is resumed. The others decide which cases there are, and stay.
	fact bool
}

// typed is the flag as a command line has it for a request: once for each of its values.
func (f specFlag) typed(s *spec.Spec) [][]string {
	name := "--" + f.name
	if f.letter != "" {
		name = "-" + f.letter
	}
	var all [][]string
	for _, v := range f.show(s) {
		if f.unit == "" {
			all = append(all, []string{name})
			continue
		}
		all = append(all, []string{name, v})
	}
	return all
}

// optional leaves a flag out of a command line where it is 0.
func optional(f specFlag) specFlag {
	show := f.show
	f.show = func(s *spec.Spec) []string {
		if list := show(s); len(list) != 1 || list[0] != "0" {
			return list
		}
		return nil
	}
	return f
}

func factual(f specFlag) specFlag {
	f.fact = true
	return f
}

// last reads the last value that was given.
func last(set func(*spec.Spec, string) error) func(*spec.Spec, []string) error {
	return func(s *spec.Spec, values []string) error { return set(s, values[len(values)-1]) }
}

func bytesFlag(letter, name, fallback, meaning string, of func(*spec.Spec) *int64) specFlag {
	return specFlag{
		letter: letter, name: name, unit: "bytes", fallback: fallback, meaning: meaning,
		set: last(func(s *spec.Spec, v string) (err error) {
			*of(s), err = unit.ParseBytes(v)
			return err
		}),
		show: func(s *spec.Spec) []string { return []string{strconv.FormatInt(*of(s), 10)} },
	}
}

func intFlag(letter, name, unit, fallback, meaning string, of func(*spec.Spec) *int) specFlag {
	return specFlag{
		letter: letter, name: name, unit: unit, fallback: fallback, meaning: meaning,
		set:  last(func(s *spec.Spec, v string) error { return setInt(of(s), v) }),
		show: func(s *spec.Spec) []string { return []string{strconv.Itoa(*of(s))} },
	}
}

// wholeFlag is a number that zbench checks when it prepares the sweep.
func wholeFlag(name, fallback, meaning string, of func(*spec.Spec) *int) specFlag {
	f := intFlag("", name, "int", fallback, meaning, of)
	f.set = last(func(s *spec.Spec, v string) (err error) {
		*of(s), err = strconv.Atoi(v)
		return err
	})
	return f
}

func floatFlag(name, unit, fallback, meaning string, of func(*spec.Spec) *float64) specFlag {
	return specFlag{
		name: name, unit: unit, fallback: fallback, meaning: meaning,
		set:  last(func(s *spec.Spec, v string) error { return setFloat(of(s), v) }),
		show: func(s *spec.Spec) []string { return []string{strconv.FormatFloat(*of(s), 'g', -1, 64)} },
	}
}

func textFlag(name, fallback, meaning string, of func(*spec.Spec) *string) specFlag {
	return specFlag{
		name: name, unit: "string", fallback: fallback, meaning: meaning,
		set:  last(func(s *spec.Spec, v string) error { *of(s) = v; return nil }),
		show: func(s *spec.Spec) []string { return []string{*of(s)} },
	}
}

// nameFlag is a name in any spelling; an unknown one is refused when the run is
// prepared, with what lists the known.
func nameFlag(name, fallback, meaning string, known []string, of func(*spec.Spec) *string) specFlag {
	f := textFlag(name, fallback, meaning, of)
	f.set = last(func(s *spec.Spec, v string) error {
		own, _ := spell.Match(known, v)
		*of(s) = cmp.Or(own, v)
		return nil
	})
	return f
}

func boolFlag(name, meaning string, of func(*spec.Spec) *bool) specFlag {
	return specFlag{
		name: name, meaning: meaning,
		set: last(func(s *spec.Spec, v string) (err error) {
			*of(s), err = strconv.ParseBool(v)
			return err
		}),
		show: func(s *spec.Spec) []string {
			if !*of(s) {
				return nil
			}
			return []string{"true"}
		},
	}
}

func listFlag(name, meaning string, of func(*spec.Spec) *[]int) specFlag {
	return specFlag{
		name: name, unit: "intSlice", meaning: meaning,
		set: func(s *spec.Spec, values []string) error {
			var list []int
			for v := range strings.SplitSeq(strings.Join(values, ","), ",") {
				n, err := strconv.Atoi(v)
				if err != nil {
					return err
				}
				list = append(list, n)
			}
			*of(s) = list
			return nil
		},
		show: func(s *spec.Spec) []string {
			var list []string
			for _, n := range *of(s) {
				list = append(list, strconv.Itoa(n))
			}
			return list
		},
	}
}

func setInt(to *int, v string) error {
	n, err := strconv.Atoi(strings.TrimSpace(v))
	if err != nil || n < 0 {
		return fmt.Errorf("%q is not a whole number from 0", v)
	}
	*to = n
	return nil
}

func setFloat(to *float64, v string) error {
	f, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
	if err != nil || !(f >= 0) {
		return fmt.Errorf("%q is not a number from 0", v)
	}
	*to = f
	return nil
}

// text is the value for a message.
func (f specFlag) text(s *spec.Spec) string {
	switch list := f.show(s); {
	case len(list) > 0:
		return strings.Join(list, " ")
	case f.unit == "":
		return "false"
	}
	return "none"
}

// specValue makes a row of the table a pflag.Value.
type specValue struct {
	row   specFlag
	to    *spec.Spec
	texts []string
	given bool
}

func (v *specValue) String() string   { return strings.Join(v.texts, " ") }
func (v *specValue) Type() string     { return v.row.unit }
func (v *specValue) IsBoolFlag() bool { return v.row.unit == "" }
func (v *specValue) Set(text string) error {
	if !v.given {
		v.texts, v.given = nil, true // the default's
	}
	v.texts = append(v.texts, text)
	return v.row.set(v.to, v.texts)
}

// otherNames are spellings that are taken too; --cudagraph is nccl-tests'.
var otherNames = map[string]string{"warmup-iters": "warmup_iters", "cudagraph": "hipgraph"}

// addSpecFlags puts the table on a command and the defaults into the request.
func addSpecFlags(cmd *cobra.Command, to *spec.Spec) {
	*to = spec.Spec{Schema: spec.Schema, Benchmark: spec.Collectives, Sweep: &spec.Sweep{}}
	addFlags(cmd, to, specFlags)
	cmd.Flags().SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if other, ok := otherNames[name]; ok {
			name = other
		}
		return pflag.NormalizedName(name)
	})
}

// addFlags puts rows of flags on a command and their defaults into the request.
func addFlags(cmd *cobra.Command, to *spec.Spec, rows []specFlag) {
	for _, row := range rows {
		value := &specValue{row: row, to: to}
		if row.fallback != "" {
			if err := value.Set(row.fallback); err != nil {
				panic("default of --" + row.name + ": " + err.Error()) // a test parses every row
			}
			value.given = false
		}
		f := cmd.Flags().VarPF(value, row.name, row.letter, row.meaning)
		if value.IsBoolFlag() {
			f.NoOptDefVal = "true"
		}
	}
}
