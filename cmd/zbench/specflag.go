package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"zbench/bench/collective"
	"zbench/bench/engine"
	"zbench/bench/fabric"
	"zbench/bench/policy"
	"zbench/bench/slice"
	"zbench/bench/spec"
	"zbench/bench/spell"
	"zbench/bench/unit"
	"zbench/internal/native"
)

// flagRow is a flag that fills a part of a T: its letter and name, unit, default and meaning, and
// how its value is parsed and printed.
type flagRow[T any] struct {
	letter, name, unit, fallback, meaning string
	// set parses all given values: a flag that is not a list takes the last.
	set func(*T, []string) error
	// show returns the values as written on the command line; no values mean the default.
	show func(*T) []string
	// fact says that the flag describes what is measured, not how: --force may change it when a
	// sweep is resumed. The other flags determine the cases, and cannot change.
	fact bool
}

// specFlag is a flag of a request.
type specFlag = flagRow[spec.Spec]

// typed returns the flag as written on a command line for a request: once for each of its values.
func (f flagRow[T]) typed(s *T) [][]string {
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

// unless leaves a flag out of a command line if a condition holds for the request and the text of
// the flag.
func unless(left func(s *spec.Spec, shown string) bool, f specFlag) specFlag {
	show := f.show
	f.show = func(s *spec.Spec) []string {
		list := show(s)
		if left(s, strings.Join(list, " ")) {
			return nil
		}
		return list
	}
	return f
}

// optional leaves a flag out if it is 0 or false.
func optional(f specFlag) specFlag {
	return unless(func(_ *spec.Spec, shown string) bool { return shown == "0" || shown == "false" }, f)
}

func factual(f specFlag) specFlag {
	f.fact = true
	return f
}

// last parses the last given value.
func last[T any](set func(*T, string) error) func(*T, []string) error {
	return func(s *T, values []string) error { return set(s, values[len(values)-1]) }
}

// valueFlag returns a flag of one value, which parse reads and show writes.
func valueFlag[V any](letter, name, unit, fallback, meaning string, of func(*spec.Spec) *V, parse func(string) (V, error), show func(V) string) specFlag {
	return specFlag{
		letter: letter, name: name, unit: unit, fallback: fallback, meaning: meaning,
		set: last(func(s *spec.Spec, v string) (err error) {
			*of(s), err = parse(v)
			return err
		}),
		show: func(s *spec.Spec) []string { return []string{show(*of(s))} },
	}
}

func bytesFlag(letter, name, fallback, meaning string, of func(*spec.Spec) *int64) specFlag {
	return valueFlag(letter, name, "bytes", fallback, meaning, of, unit.ParseBytes, bytesText)
}

func intFlag(letter, name, unit, fallback, meaning string, of func(*spec.Spec) *int) specFlag {
	return valueFlag(letter, name, unit, fallback, meaning, of, natural, strconv.Itoa)
}

// wholeFlag returns a number that zbench checks when it prepares the sweep.
func wholeFlag(name, fallback, meaning string, of func(*spec.Spec) *int) specFlag {
	return valueFlag("", name, "int", fallback, meaning, of, strconv.Atoi, strconv.Itoa)
}

func floatFlag(name, unit, fallback, meaning string, of func(*spec.Spec) *float64) specFlag {
	return valueFlag("", name, unit, fallback, meaning, of, notNegative, func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) })
}

func textFlag(name, fallback, meaning string, of func(*spec.Spec) *string) specFlag {
	return valueFlag("", name, "string", fallback, meaning, of, func(v string) (string, error) { return v, nil }, same)
}

// nameFlag returns a name in any spelling. An unknown name is refused when the run is prepared,
// with the command that lists the known ones.
func nameFlag(name, fallback, meaning string, known []string, of func(*spec.Spec) *string) specFlag {
	return valueFlag("", name, "string", fallback, meaning, of, func(v string) (string, error) {
		own, _ := spell.Match(known, v)
		return cmp.Or(own, v), nil
	}, same)
}

func boolFlag(name, meaning string, of func(*spec.Spec) *bool) specFlag {
	return optional(valueFlag("", name, "", "", meaning, of, strconv.ParseBool, strconv.FormatBool))
}

func listFlag[V any](name, unit, meaning string, of func(*spec.Spec) *[]V, parse func(string) (V, error), show func(V) string) specFlag {
	return specFlag{
		name: name, unit: unit, meaning: meaning,
		set: func(s *spec.Spec, values []string) error {
			var list []V
			for text := range strings.SplitSeq(strings.Join(values, ","), ",") {
				v, err := parse(text)
				if err != nil {
					return err
				}
				list = append(list, v)
			}
			*of(s) = list
			return nil
		},
		show: func(s *spec.Spec) []string { return slice.Map(*of(s), show) },
	}
}

func numbersFlag(name, meaning string, of func(*spec.Spec) *[]int) specFlag {
	return listFlag(name, "intSlice", meaning, of, strconv.Atoi, strconv.Itoa)
}

// wordsFlag returns a list of known words.
func wordsFlag(name, meaning string, known []string, of func(*spec.Spec) *[]string) specFlag {
	return listFlag(name, "list", meaning+": "+strings.Join(known, ", "), of, func(word string) (string, error) {
		if !slices.Contains(known, word) {
			return "", &spell.Unknown{Kind: name, Given: word, Valid: known}
		}
		return word, nil
	}, same)
}

func same(text string) string { return text }

func bytesText(n int64) string { return strconv.FormatInt(n, 10) }

func natural(text string) (int, error) {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%q is not a whole number from 0", text)
	}
	return n, nil
}

func notNegative(text string) (float64, error) {
	f, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || !(f >= 0) {
		return 0, fmt.Errorf("%q is not a number from 0", text)
	}
	return f, nil
}

// text returns the value for a message.
func (f flagRow[T]) text(s *T) string {
	switch list := f.show(s); {
	case len(list) > 0:
		return strings.Join(list, " ")
	case f.unit == "":
		return "false"
	}
	return "none"
}

// flagValue makes a row of a table a pflag.Value.
type flagValue[T any] struct {
	row   flagRow[T]
	to    *T
	texts []string
	given bool
}

func (v *flagValue[T]) String() string   { return strings.Join(v.texts, " ") }
func (v *flagValue[T]) Type() string     { return v.row.unit }
func (v *flagValue[T]) IsBoolFlag() bool { return v.row.unit == "" }
func (v *flagValue[T]) Set(text string) error {
	if !v.given {
		v.texts, v.given = nil, true // of the default
	}
	v.texts = append(v.texts, text)
	return v.row.set(v.to, v.texts)
}

// otherNames are further accepted spellings; --cudagraph is from nccl-tests.
var otherNames = map[string]string{"warmup-iters": "warmup_iters", "cudagraph": "hipgraph"}

// specRows returns the rows of specFlags with these names.
func specRows(names []string) []specFlag {
	return slices.DeleteFunc(slices.Clone(specFlags), func(f specFlag) bool { return !slices.Contains(names, f.name) })
}

// addSpecFlags adds the flags of the table to a command, and the defaults to the request.
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

// addFlags adds rows of flags to a command, and their defaults to the request.
func addFlags[T any](cmd *cobra.Command, to *T, rows []flagRow[T]) {
	for _, row := range rows {
		value := &flagValue[T]{row: row, to: to}
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

// peerFlags are the flags of rccl-tests, with the same letters, names and meanings.
var peerFlags = []specFlag{
	bytesFlag("b", "minbytes", "1K", "smallest total size", func(s *spec.Spec) *int64 { return &s.Sweep.MinBytes }),
	bytesFlag("e", "maxbytes", "8G", "largest total size", func(s *spec.Spec) *int64 { return &s.Sweep.MaxBytes }),
	unless(func(s *spec.Spec, _ string) bool { return s.Sweep.StepBytes > 0 }, // if sizes grow by steps
		intFlag("f", "stepfactor", "factor", "2", "each size is this times the one before", func(s *spec.Spec) *int { return &s.Sweep.Factor })),
	optional(bytesFlag("i", "stepbytes", "0", "each size is this more than the one before, instead of -f", func(s *spec.Spec) *int64 { return &s.Sweep.StepBytes })),
	intFlag("n", "iters", "launches", "20", "launches in a burst", func(s *spec.Spec) *int { return &s.Sweep.Iterations }),
	intFlag("w", "warmup_iters", "launches", "5", "launches before the first burst, not timed", func(s *spec.Spec) *int { return &s.Sweep.Warmup }),
	valueFlag("d", "datatype", "name", "float", "element type, several as float,bfloat16, or all (zbench list dtypes)",
		func(s *spec.Spec) *string { return &s.Sweep.Dtype }, func(v string) (string, error) { _, text, err := collective.DtypesByName(v); return text, err }, same),
	valueFlag("o", "op", "name", "sum", "reduction operator, several as sum,max, or all (zbench list ops)",
		func(s *spec.Spec) *string { return &s.Sweep.Op }, func(v string) (string, error) { _, text, err := collective.OpsByName(v); return text, err }, same),
	intFlag("c", "check", "launches", "1", "launches whose result is verified", func(s *spec.Spec) *int { return &s.Sweep.Checks }),
	factual(intFlag("g", "ngpus", "GPUs", "1", "GPUs that one process drives", func(s *spec.Spec) *int { return &s.World.GPUsPerProcess })),
	optional(intFlag("G", "hipgraph", "replays", "0", "capture a burst's launches into a graph and replay it this many times; bursts only", func(s *spec.Spec) *int { return &s.Sweep.GraphLaunches })),
}

// ownFlags are zbench's own flags: rccl-tests does not have them.
var ownFlags = []specFlag{
	listFlag("sizes", "list", "measure these total sizes instead of those of -b, -e, -f and -i: 64K,1M,8M", func(s *spec.Spec) *[]int64 { return &s.Sweep.Sizes }, unit.ParseBytes, bytesText),
	floatFlag("precision", "share", "0.01", "precision that ends a timing: half the 95 % interval over the median", func(s *spec.Spec) *float64 { return &s.Sweep.Precision }),
	floatFlag("max-time", "seconds", "0.4", "measured time after which a timing of a case ends", func(s *spec.Spec) *float64 { return &s.Sweep.MaxTime }),
	{
		name: "place", unit: "name", fallback: "both", meaning: "buffers: " + strings.Join(names(places), ", "),
		set: last(func(s *spec.Spec, v string) error {
			list, ok := places[v]
			if !ok {
				return fmt.Errorf("%q is not one of %s", v, strings.Join(names(places), ", "))
			}
			s.Sweep.InPlace = list
			return nil
		}),
		show: func(s *spec.Spec) []string {
			for name, list := range places {
				if slices.Equal(list, s.Sweep.InPlace) {
					return []string{name}
				}
			}
			return nil
		},
	},
	valueFlag("", "cache", "name", engine.Cold, "cold: buffers rotate over twice the last level of cache; warm: they do not", func(s *spec.Spec) *string { return &s.Sweep.Cache }, func(v string) (string, error) {
		if v != engine.Cold && v != engine.Warm {
			return "", fmt.Errorf("%q is not one of %s, %s", v, engine.Cold, engine.Warm)
		}
		return v, nil
	}, same),
	bytesFlag("", "verify-budget", "256M", "on the loopback, verify whole cases whose buffers of all ranks fit into this", func(s *spec.Spec) *int64 { return &s.Sweep.VerifyBudget }),
	factual(wholeFlag("nodes", "1", "number of nodes", func(s *spec.Spec) *int { return &s.World.Nodes })),
	factual(optional(wholeFlag("gpus-per-node", "0", "GPUs used on each node (default all)", func(s *spec.Spec) *int { return &s.World.GPUsPerNode }))),
	optional(valueFlag("", "ranks-per-gpu", "int", "", "ranks that share each GPU (NCCL 2.30, NCCL_MULTI_RANK_GPU_ENABLE=1; default 1)", func(s *spec.Spec) *int { return &s.World.RanksPerGPU }, func(v string) (int, error) {
		n, err := strconv.Atoi(v)
		if err == nil && n < 1 {
			err = fmt.Errorf("%d: it must be at least 1", n)
		}
		return max(0, n), err
	}, strconv.Itoa)),
	factual(nameFlag("fabric", fabric.Default, "hardware to simulate (zbench list fabrics)", fabric.Names(), func(s *spec.Spec) *string { return &s.Fabric })),
	factual(textFlag("backend", "auto", "libraries: auto, "+strings.Join(native.Backends(), ", "), func(s *spec.Spec) *string { return &s.Backend })),
	factual(valueFlag("", "seed", "uint64", "1", "seed of the simulated noise and of the verification's data", func(s *spec.Spec) *uint64 { return &s.Seed },
		func(v string) (uint64, error) { return strconv.ParseUint(v, 0, 64) }, func(v uint64) string { return strconv.FormatUint(v, 10) })),
	{
		name: "fault", unit: "stringArray", meaning: "plant a fault into the simulation (zbench list faults); may be repeated", fact: true,
		set: func(s *spec.Spec, v []string) error {
			s.Faults = slice.Map(v, fabric.SpellFault)
			return nil
		},
		show: func(s *spec.Spec) []string { return s.Faults },
	},
	numbersFlag("groups", "also run all disjoint groups of this many neighbouring GPUs at once, of a node or of several: 2,8,16", func(s *spec.Spec) *[]int { return &s.Sweep.Groups }),
	numbersFlag("strides", "also run all groups of ranks with these strides at once, as expert or tensor parallelism forms them: 2,8", func(s *spec.Spec) *[]int { return &s.Sweep.Strides }),
	numbersFlag("scale", "also run only the first 1, 2, 4 … nodes while the others wait: 1,2,4", func(s *spec.Spec) *[]int { return &s.Sweep.Scales }),
	wordsFlag("register", "register the buffers with the library, several by turns", policy.Registers(), func(s *spec.Spec) *[]string { return &s.Sweep.Register }),
	wordsFlag("cta-policy", "policy of compute units, several by turns; zero asks for copy engines", policy.CTAs(), func(s *spec.Spec) *[]string { return &s.Sweep.CTAPolicy }),
	optional(valueFlag("", "skew", "string", "", "how unequally ranks receive in alltoallv: uniform, zipf:1.2, or a FILE with a weight for each rank", func(s *spec.Spec) *string { return &s.Sweep.Skew },
		func(v string) (string, error) { return v, nil }, same)),
	boolFlag("keep-samples", fmt.Sprintf("write samples.f32 above %d ranks too", engine.SamplesRanks), func(s *spec.Spec) *bool { return &s.Sweep.KeepSamples }),
	boolFlag(fixedSizes, "with a model: measure only the sizes of -b, -e, -f and -i, without those added for the bucket size", func(s *spec.Spec) *bool { return &s.Sweep.FixedSizes }),
}

// fixedSizes may change when a sweep is resumed.
const fixedSizes = "fixed-sizes"

// specFlags is the table of all of them.
var specFlags = slices.Concat(peerFlags, ownFlags)

// places maps --place to the forms to run: in place or out of place.
var places = map[string][]bool{"out": {false}, "in": {true}, "both": {false, true}}

func names[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }

// sizesAgree refuses two contradictory ways of giving the sizes.
func sizesAgree(f *pflag.FlagSet) error {
	switch {
	case f.Changed("stepbytes") && f.Changed("stepfactor"):
		return usagef("-f multiplies sizes, -i adds to them", "-i and -f exclude each other")
	case f.Changed("sizes") && (f.Changed("minbytes") || f.Changed("maxbytes") || f.Changed("stepfactor") || f.Changed("stepbytes")):
		return usagef("--sizes lists all sizes; leave -b, -e, -f and -i out", "--sizes and -b, -e, -f, -i exclude each other")
	}
	return nil
}
