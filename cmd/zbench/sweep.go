package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"zbench/bench/collective"
	"zbench/bench/engine"
	"zbench/bench/fabric"
	"zbench/bench/spec"
	"zbench/bench/unit"
	"zbench/internal/native"
)

// peerFlags are rccl-tests' flags, with the same letters, names and meanings.
var peerFlags = []specFlag{
	bytesFlag("b", "minbytes", "1K", "smallest total size", func(s *spec.Spec) *int64 { return &s.Sweep.MinBytes }),
	bytesFlag("e", "maxbytes", "8G", "largest total size", func(s *spec.Spec) *int64 { return &s.Sweep.MaxBytes }),
	withoutSteps(intFlag("f", "stepfactor", "factor", "2", "each size is this times the one before", func(s *spec.Spec) *int { return &s.Sweep.Factor })),
	optional(bytesFlag("i", "stepbytes", "0", "each size is this more than the one before, instead of -f", func(s *spec.Spec) *int64 { return &s.Sweep.StepBytes })),
	intFlag("n", "iters", "launches", "20", "launches in a burst", func(s *spec.Spec) *int { return &s.Sweep.Iterations }),
	intFlag("w", "warmup_iters", "launches", "5", "launches before the first burst, not timed", func(s *spec.Spec) *int { return &s.Sweep.Warmup }),
	{
		letter: "d", name: "datatype", unit: "name", fallback: "float", meaning: "element type, several as float,bfloat16, or all (zbench list dtypes)",
		set: last(func(s *spec.Spec, v string) (err error) {
			_, s.Sweep.Dtype, err = collective.DtypesByName(v)
			return err
		}),
		show: func(s *spec.Spec) []string { return []string{s.Sweep.Dtype} },
	},
	{
		letter: "o", name: "op", unit: "name", fallback: "sum", meaning: "reduction operator, several as sum,max, or all (zbench list ops)",
		set: last(func(s *spec.Spec, v string) (err error) {
			_, s.Sweep.Op, err = collective.OpsByName(v)
			return err
		}),
		show: func(s *spec.Spec) []string { return []string{s.Sweep.Op} },
	},
	intFlag("c", "check", "launches", "1", "launches whose result is verified", func(s *spec.Spec) *int { return &s.Sweep.Checks }),
	factual(intFlag("g", "ngpus", "GPUs", "1", "GPUs that one process drives", func(s *spec.Spec) *int { return &s.World.GPUsPerProcess })),
	optional(intFlag("G", "hipgraph", "replays", "0", "capture a burst's launches into a graph and replay it this many times; bursts only", func(s *spec.Spec) *int { return &s.Sweep.GraphLaunches })),
}

// ownFlags are zbench's: rccl-tests has no such flags.
var ownFlags = []specFlag{
	{
		name: "sizes", unit: "list", meaning: "measure these total sizes instead of those of -b, -e, -f and -i: 64K,1M,8M",
		set: func(s *spec.Spec, values []string) error {
			s.Sweep.Sizes = nil
			for text := range strings.SplitSeq(strings.Join(values, ","), ",") {
				size, err := unit.ParseBytes(text)
				if err != nil {
					return err
				}
				s.Sweep.Sizes = append(s.Sweep.Sizes, size)
			}
			return nil
		},
		show: func(s *spec.Spec) []string {
			var list []string
			for _, size := range s.Sweep.Sizes {
				list = append(list, strconv.FormatInt(size, 10))
			}
			return list
		},
	},
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
	{
		name: "cache", unit: "name", fallback: engine.Cold, meaning: "cold: buffers rotate over twice the last level of cache; warm: they do not",
		set: last(func(s *spec.Spec, v string) error {
			if v != engine.Cold && v != engine.Warm {
				return fmt.Errorf("%q is not one of %s, %s", v, engine.Cold, engine.Warm)
			}
			s.Sweep.Cache = v
			return nil
		}),
		show: func(s *spec.Spec) []string { return []string{s.Sweep.Cache} },
	},
	bytesFlag("", "verify-budget", "256M", "on the loopback, verify if all ranks' buffers fit into this", func(s *spec.Spec) *int64 { return &s.Sweep.VerifyBudget }),
	factual(wholeFlag("nodes", "1", "number of nodes", func(s *spec.Spec) *int { return &s.World.Nodes })),
	factual(optional(wholeFlag("gpus-per-node", "0", "GPUs used on each node (default all)", func(s *spec.Spec) *int { return &s.World.GPUsPerNode }))),
	{
		name: "ranks-per-gpu", unit: "int", meaning: "ranks that share each GPU (NCCL 2.30, NCCL_MULTI_RANK_GPU_ENABLE=1; default 1)",
		set: last(func(s *spec.Spec, v string) error {
			n, err := strconv.Atoi(v)
			if err == nil && n < 1 {
				err = fmt.Errorf("%d: it must be at least 1", n)
			}
			s.World.RanksPerGPU = max(0, n)
			return err
		}),
		show: func(s *spec.Spec) []string {
			if s.World.RanksPerGPU == 0 {
				return nil
			}
			return []string{strconv.Itoa(s.World.RanksPerGPU)}
		},
	},
	factual(nameFlag("fabric", fabric.Default, "hardware to simulate (zbench list fabrics)", fabric.Names(), func(s *spec.Spec) *string { return &s.Fabric })),
	factual(textFlag("backend", "auto", "libraries: auto, "+strings.Join(native.Backends(), ", "), func(s *spec.Spec) *string { return &s.Backend })),
	{
		name: "seed", unit: "uint64", fallback: "1", meaning: "seed of the simulated noise and of the verification's data", fact: true,
		set: last(func(s *spec.Spec, v string) (err error) {
			s.Seed, err = strconv.ParseUint(v, 0, 64)
			return err
		}),
		show: func(s *spec.Spec) []string { return []string{strconv.FormatUint(s.Seed, 10)} },
	},
	{
		name: "fault", unit: "stringArray", meaning: "plant a fault into the simulation (zbench list faults); may be repeated", fact: true,
		set: func(s *spec.Spec, v []string) error {
			s.Faults = nil
			for _, text := range v {
				s.Faults = append(s.Faults, fabric.SpellFault(text))
			}
			return nil
		},
		show: func(s *spec.Spec) []string { return s.Faults },
	},
	listFlag("groups", "also run all disjoint groups of this many GPUs of all nodes at once: 2,4,8", func(s *spec.Spec) *[]int { return &s.Sweep.Groups }),
	listFlag("strides", "also run all groups of ranks with these strides at once, as expert or tensor parallelism forms them: 2,8", func(s *spec.Spec) *[]int { return &s.Sweep.Strides }),
	listFlag("scale", "also run only the first 1, 2, 4 … nodes while the others wait: 1,2,4", func(s *spec.Spec) *[]int { return &s.Sweep.Scales }),
	boolFlag("keep-samples", fmt.Sprintf("write samples.f32 above %d ranks too", engine.SamplesRanks), func(s *spec.Spec) *bool { return &s.Sweep.KeepSamples }),
	boolFlag(fixedSizes, "with a model: measure only the sizes of -b, -e, -f and -i, without those added for the bucket size", func(s *spec.Spec) *bool { return &s.Sweep.FixedSizes }),
}

// fixedSizes may change when a sweep is resumed.
const fixedSizes = "fixed-sizes"

// specFlags is the table of them all.
var specFlags = slices.Concat(peerFlags, ownFlags)

// withoutSteps leaves the factor out of a command line where sizes grow by steps.
func withoutSteps(f specFlag) specFlag {
	show := f.show
	f.show = func(s *spec.Spec) []string {
		if s.Sweep.StepBytes > 0 {
			return nil
		}
		return show(s)
	}
	return f
}

// places maps --place to the forms that are run: in place or not.
var places = map[string][]bool{"out": {false}, "in": {true}, "both": {false, true}}

func names[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }
