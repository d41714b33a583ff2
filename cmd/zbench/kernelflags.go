package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"zbench/bench/engine"
	method "zbench/bench/muon"
	"zbench/bench/spec"
	"zbench/bench/spell"
	"zbench/bench/trainer"
	"zbench/bench/unit"
	"zbench/hbm"
)

// giga is the unit of --peak, in bytes per second.
const giga = 1e9

// timingFlags are those of every benchmark of kernels, whose timings end after so
// many seconds.
func timingFlags(maxTime string) []specFlag {
	return []specFlag{
		named("backend", "libraries underneath"),
		optional(wholeFlag("device", "0", "index of the GPU", func(s *spec.Spec) *int { return &s.Kernels.Device })),
		floatFlag("precision", "share", "0.01", "end a timing when half the 95 % interval is within this fraction of the median", func(s *spec.Spec) *float64 { return &s.Kernels.Precision }),
		floatFlag("max-time", "seconds", maxTime, "end a timing after this many seconds", func(s *spec.Spec) *float64 { return &s.Kernels.MaxTime }),
		named("seed", "seed of the data"),
	}
}

// memoryFlags are those of streams and fused kernels.
var memoryFlags = []specFlag{
	boolFlag("all-gpus", "all GPUs of this machine at once; outliers are named", func(s *spec.Spec) *bool { return &s.Kernels.AllGPUs }),
	{
		name: "peak", unit: "GB/s", meaning: "the memory's peak, instead of the published one",
		set: last(func(s *spec.Spec, v string) error {
			peak := 0.0
			err := setFloat(&peak, v)
			if err == nil && peak > engine.MaxPeak/giga {
				err = fmt.Errorf("--peak is %g: the memory's peak in GB/s must be a number from 0 to %g", peak, engine.MaxPeak/giga)
			}
			s.Kernels.Peak = peak * giga
			return err
		}),
		show: func(s *spec.Spec) []string {
			if s.Kernels.Peak == 0 {
				return nil
			}
			return []string{strconv.FormatFloat(s.Kernels.Peak/giga, 'g', -1, 64)}
		},
	},
	named("fault", `plant a fault into the loopback: "store 0 BYTE" flips a bit of that byte of the output after each launch`),
}

// hbmFlags are those of hbm.
var hbmFlags = slices.Concat([]specFlag{
	{
		name: "size", unit: "bytes", meaning: "size of one array (default four times the last level of cache, on a GPU at least 1 GiB)",
		set: last(func(s *spec.Spec, v string) (err error) {
			if s.Kernels.Size, err = unit.ParseBytes(v); err == nil && s.Kernels.Size < hbm.MinArray {
				err = fmt.Errorf("--size is %s: an array has at least %d B", v, hbm.MinArray)
			}
			return err
		}),
		show: func(s *spec.Spec) []string {
			if s.Kernels.Size == 0 {
				return nil
			}
			return []string{strconv.FormatInt(s.Kernels.Size, 10)}
		},
	},
	boolFlag("sweep", "also run every size from 256 KiB up: shows the levels of cache, and marks launch-bound sizes", func(s *spec.Spec) *bool { return &s.Kernels.Sweep }),
	boolFlag("tune", "try up to 16 configurations of each kernel and measure the best", func(s *spec.Spec) *bool { return &s.Kernels.Tune }),
	namesFlag("kernels", "", "streams to run: "+strings.Join(hbm.StreamNames(), ", ")+" (default all)", func(s *spec.Spec) *[]string { return &s.Kernels.Streams }, func(name string) (string, error) {
		st, ok := hbm.StreamByName(name)
		if !ok {
			return "", &spell.Unknown{Kind: "kernel", Given: name, Valid: hbm.StreamNames()}
		}
		return st.Name, nil
	}),
	dtypeFlag(hbm.TypeNames(), hbm.TypeNames(), hbm.TypeByName),
	{
		name: "data", unit: "name", fallback: hbm.DataKinds[0], meaning: "data in the arrays: " + strings.Join(hbm.DataKinds, ", ") + "; zeros let some GPUs clock higher",
		set: last(func(s *spec.Spec, v string) error {
			if !slices.Contains(hbm.DataKinds, v) {
				return &spell.Unknown{Kind: "--data", Given: v, Valid: hbm.DataKinds}
			}
			s.Kernels.Data = v
			return nil
		}),
		show: func(s *spec.Spec) []string { return []string{s.Kernels.Data} },
	},
}, memoryFlags, timingFlags("1"))

// fusedFlags are those of a fused kernel over the rows of a matrix.
func fusedFlags(f hbm.Family) []specFlag {
	return slices.Concat(fusedShapes, []specFlag{dtypeFlag(f.TypeNames()[:1], f.TypeNames(), f.TypeByName)}, memoryFlags, timingFlags("1"))
}

var fusedShapes = []specFlag{
	{
		name: "rows", unit: "int", meaning: "rows, as tokens (default 32,768 on a GPU, 8 without)",
		set: last(func(s *spec.Spec, v string) (err error) {
			s.Kernels.Rows, err = between("rows", v, hbm.MaxRows, "a matrix has 1 to %d rows")
			return err
		}),
		show: func(s *spec.Spec) []string {
			if s.Kernels.Rows == 0 {
				return nil
			}
			return []string{strconv.Itoa(s.Kernels.Rows)}
		},
	},
	{
		name: "hidden", unit: "ints", fallback: "1024,4096,8192,16384", meaning: "elements of a row, 1 to 65,536",
		set: func(s *spec.Spec, values []string) error {
			s.Kernels.Hidden = nil
			for _, v := range split(values) {
				h, err := between("hidden", v, hbm.MaxHidden, "a row has 1 to %d elements")
				if err != nil {
					return err
				}
				if !slices.Contains(s.Kernels.Hidden, h) {
					s.Kernels.Hidden = append(s.Kernels.Hidden, h)
				}
			}
			return nil
		},
		show: func(s *spec.Spec) []string {
			var list []string
			for _, h := range s.Kernels.Hidden {
				list = append(list, strconv.Itoa(h))
			}
			return []string{strings.Join(list, ",")}
		},
	},
}

// muonFlags are those of Muon.
var muonFlags = slices.Concat([]specFlag{
	{
		name: "preset", unit: "name", meaning: "a model's matrices: " + strings.Join(trainer.PresetNames(), ", "),
		set: last(func(s *spec.Spec, v string) error {
			p, err := method.PresetByName(v)
			s.Kernels.Preset = p.Name // an alias is recorded under the preset's own name
			return err
		}),
		show: func(s *spec.Spec) []string { return present(s.Kernels.Preset) },
	},
	{
		name: "shape", unit: "MxNxBATCH", meaning: "matrices to step, as MxN or MxNxBATCH; may be repeated",
		set: func(s *spec.Spec, values []string) error {
			s.Kernels.Shapes = nil
			for _, v := range values {
				shape, err := method.ParseShape(v)
				if err != nil {
					return err
				}
				if !slices.Contains(s.Kernels.Shapes, shape.String()) {
					s.Kernels.Shapes = append(s.Kernels.Shapes, shape.String())
				}
			}
			return nil
		},
		show: func(s *spec.Spec) []string { return s.Kernels.Shapes },
	},
	{
		name: "coefficients", unit: "name", fallback: method.Sets()[0].Name, meaning: "of Newton–Schulz: " + strings.Join(setNames(), ", "),
		set: last(func(s *spec.Spec, v string) error {
			c, err := method.ByName(v)
			s.Kernels.Coefficients = c.Name
			return err
		}),
		show: func(s *spec.Spec) []string { return []string{s.Kernels.Coefficients} },
	},
	{
		name: "reduce", unit: "int", meaning: "without a GPU: check each shape with its longer side reduced to at most this, batches to 2",
		set: last(func(s *spec.Spec, v string) (err error) {
			if v == "0" {
				s.Kernels.Reduce = 0
				return nil
			}
			s.Kernels.Reduce, err = between("reduce", v, method.MaxSide, "a side is 1 to %d")
			return err
		}),
		show: func(s *spec.Spec) []string {
			if s.Kernels.Reduce == 0 {
				return nil
			}
			return []string{strconv.Itoa(s.Kernels.Reduce)}
		},
	},
}, timingFlags("0.4"))

func setNames() []string {
	var names []string
	for _, c := range method.Sets() {
		names = append(names, c.Name)
	}
	return names
}

// named is a flag of collectives with another meaning.
func named(name, meaning string) specFlag {
	f := ownFlags[slices.IndexFunc(ownFlags, func(f specFlag) bool { return f.name == name })]
	if name == "backend" {
		meaning = f.meaning
	}
	f.meaning, f.fact = meaning, false
	return f
}

// namesFlag is a list of names; check brings each to its one form.
func namesFlag(name, fallback, meaning string, of func(*spec.Spec) *[]string, check func(string) (string, error)) specFlag {
	return specFlag{
		name: name, unit: "names", fallback: fallback, meaning: meaning,
		set: func(s *spec.Spec, values []string) error {
			list := of(s)
			*list = nil
			for _, v := range split(values) {
				known, err := check(v)
				if err != nil {
					return err
				}
				if !slices.Contains(*list, known) {
					*list = append(*list, known)
				}
			}
			return nil
		},
		show: func(s *spec.Spec) []string { return present(strings.Join(*of(s), ",")) },
	}
}

func dtypeFlag(usual, valid []string, byName func(string) (hbm.Type, bool)) specFlag {
	return namesFlag("dtype", strings.Join(usual, ","), "element types: "+strings.Join(valid, ", "), func(s *spec.Spec) *[]string { return &s.Kernels.Dtypes }, func(name string) (string, error) {
		t, ok := byName(name)
		if !ok {
			return "", &spell.Unknown{Kind: "--dtype", Given: name, Valid: valid}
		}
		return t.Name, nil
	})
}

// split are the values of a flag that were given one by one or with commas.
func split(values []string) []string {
	var list []string
	for v := range strings.SplitSeq(strings.Join(values, ","), ",") {
		if v = strings.TrimSpace(v); v != "" {
			list = append(list, v)
		}
	}
	return list
}

// between reads a whole number from 1 to most; says is the bound in words.
func between(flag, v string, most int, says string) (int, error) {
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 || n > most {
		return 0, fmt.Errorf("--%s %s: "+says, flag, v, most)
	}
	return n, nil
}

// present is a text's list of values: none where it is empty.
func present(v string) []string {
	if v == "" {
		return nil
	}
	return []string{v}
}
