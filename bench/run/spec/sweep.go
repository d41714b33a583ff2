package spec

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"zbench/bench/base/option"
	"zbench/bench/base/unit"
	"zbench/bench/hardware/collective"
	"zbench/bench/hardware/policy"
)

// Sweep is a sweep of collectives over message sizes, in rccl-tests' terms.
type Sweep struct {
	// Names of the collectives, in order.
	Collectives []string `json:"collectives"`
	// Smallest size, in bytes (-b).
	MinBytes int64 `json:"min_bytes"`
	// Largest size, in bytes (-e).
	MaxBytes int64 `json:"max_bytes"`
	// Factor between sizes (-f); 1 if step_bytes are added instead.
	Factor int `json:"factor" jsonschema:"minimum=1"`
	// Bytes between sizes (-i); absent if sizes are multiplied.
	StepBytes int64 `json:"step_bytes,omitempty" jsonschema:"minimum=1"`
	// Sizes to run instead of the range from the smallest to the largest, in bytes (--sizes); absent if the
	// range is run.
	Sizes []int64 `json:"sizes,omitempty" jsonschema:"minItems=1"`
	// Element types, separated by commas (-d).
	Dtype string `json:"dtype"`
	// Reduction operators, separated by commas (-o).
	Op string `json:"op"`
	// InPlace lists the forms that are run: false for two buffers, true for one.
	InPlace []bool `json:"in_place"`
	// Launches in one burst (-n).
	Iterations int `json:"iterations"`
	// Launches before the first burst (-w).
	Warmup int `json:"warmup"`
	// Verified launches (-c).
	Checks int `json:"checks"`
	// Roots of the collectives that have one, as ranks of the communicator; -1 for each rank (-r); absent for
	// rank 0.
	Roots []int `json:"roots,omitempty" jsonschema:"minItems=1"`
	// Calls says how the libraries are called.
	policy.Calls
	// Half the 95 % interval of the median over the median at which a timing ends, a
	// ratio.
	Precision float64 `json:"precision"`
	// Measured time at which a timing ends, in seconds.
	MaxTime float64 `json:"max_time"`
	// Cache is cold if buffers rotate over twice the last-level cache, and warm if they do not.
	Cache string `json:"cache"`
	// Largest total of all ranks' buffers for which a case is verified on the loopback, in bytes
	// (--verify-budget).
	VerifyBudget int64 `json:"verify_budget"`
	// Sizes of the groups that are run besides the whole world (--groups).
	Groups []int `json:"groups,omitempty" jsonschema:"minimum=2"`
	// Strides of the groups that are run besides the whole world (--strides).
	Strides []int `json:"strides,omitempty" jsonschema:"minimum=2"`
	// Numbers of nodes that are run besides the whole world (--scale).
	Scales []int `json:"scales,omitempty" jsonschema:"minimum=1"`
	// Ways of registering the buffers; each is measured (--register); absent for none.
	Register []string `json:"register,omitempty"`
	// Policies of compute units; each is measured (--cta-policy); absent for the library's own.
	CTAPolicy []string `json:"cta_policy,omitempty"`
	// Distribution of the received data over the ranks, for collectives that have one: zipf:S, or one weight
	// per rank with commas (--skew); absent for equal shares.
	Skew string `json:"skew,omitempty"`
	// Samples are kept for any number of ranks (--keep-samples).
	KeepSamples bool `json:"keep_samples,omitempty"`
	// No sizes are added for the bucket size (--fixed-sizes).
	FixedSizes bool `json:"fixed_sizes,omitempty"`
}

// Cold and Warm are the states of the caches: with Cold, buffers rotate.
const (
	Cold = "cold"
	Warm = "warm"
)

// SamplesRanks is the largest number of ranks whose samples are kept by default.
const SamplesRanks = 64

// FixedSizes is the name of the flag that adds no sizes for the bucket size.
const FixedSizes = "fixed-sizes"

// SweepFlags are the flags of a sweep. The flags of rccl-tests come first, with the same letters, names and
// meanings. zbench's own flags come last.
var SweepFlags = []option.Row[Spec]{
	{Letter: "b", Name: "minbytes", Unit: "bytes", Default: "1K", Meaning: "smallest total size", Value: option.Bytes(func(s *Spec) *int64 { return &s.Sweep.MinBytes })},
	{Letter: "e", Name: "maxbytes", Unit: "bytes", Default: "8G", Meaning: "largest total size", Value: option.Bytes(func(s *Spec) *int64 { return &s.Sweep.MaxBytes })},
	{
		Letter: "f", Name: "stepfactor", Unit: "factor", Default: "2", Meaning: "each size is this times the one before",
		Value: option.Unless(func(s *Spec) bool { return s.Sweep.StepBytes > 0 }, option.Natural(func(s *Spec) *int { return &s.Sweep.Factor })),
	},
	{Letter: "i", Name: "stepbytes", Unit: "bytes", Meaning: "each size is this more than the one before, instead of -f", Value: option.Bytes(func(s *Spec) *int64 { return &s.Sweep.StepBytes })},
	{Letter: "n", Name: "iters", Unit: "launches", Default: "20", Meaning: "launches in a burst", Value: option.Natural(func(s *Spec) *int { return &s.Sweep.Iterations })},
	{Letter: "w", Name: "warmup_iters", Unit: "launches", Default: "5", Meaning: "launches before the first burst, not timed", Value: option.Natural(func(s *Spec) *int { return &s.Sweep.Warmup })},
	{
		Letter: "d", Name: "datatype", Unit: "name", Default: "float", Meaning: "element type, several as float,bfloat16, or all (zbench list dtypes)",
		Value: option.Read(func(s *Spec) *string { return &s.Sweep.Dtype }, func(v string) (string, error) { _, text, err := collective.DtypesByName(v); return text, err }),
	},
	{
		Letter: "o", Name: "op", Unit: "name", Default: "sum", Meaning: "reduction operator, several as sum,max, or all (zbench list ops)",
		Value: option.Read(func(s *Spec) *string { return &s.Sweep.Op }, func(v string) (string, error) { _, text, err := collective.OpsByName(v); return text, err }),
	},
	{Letter: "c", Name: "check", Unit: "launches", Default: "1", Meaning: "launches whose result is verified", Value: option.Natural(func(s *Spec) *int { return &s.Sweep.Checks })},
	{
		Letter: "r", Name: "root", Unit: "list", Meaning: "root of collectives that have one, a rank of the communicator, several as 0,8, or all; 0 if absent",
		Value: option.List(func(s *Spec) *[]int { return &s.Sweep.Roots }, readRoot, showRoot),
	},
	{Letter: "m", Name: "agg_iters", Unit: "launches", Meaning: "launches that are in one group; a burst has -n groups; bursts only", Value: option.Natural(func(s *Spec) *int { return &s.Sweep.Aggregate })},
	{Letter: "z", Name: "blocking", Unit: "0|1|2", Meaning: "1: the host waits for each launch of a burst, or group of -m, and meets the other hosts; 2: it only waits", Value: option.Natural(func(s *Spec) *int { return &s.Sweep.Blocking })},
	{
		Letter: "Y", Name: "memory_type", Unit: "name", Meaning: "memory of the buffers: coarse (coarse-grained, if absent), fine",
		Value: option.Of(func(s *Spec) *string { return &s.Sweep.MemoryType }, readMemory, option.Same),
	},
	{Letter: "u", Name: "cumask", Unit: "words", Meaning: "compute units that launches may use, as hexadecimal words of 32 bits, the lowest first: ffffffff,ffff", Value: option.Read(func(s *Spec) *string { return &s.Sweep.CUMask }, policy.ReadMask)},
	{Letter: "G", Name: "hipgraph", Unit: "replays", Meaning: "capture a burst's launches into a graph and replay it this many times; bursts only", Value: option.Natural(func(s *Spec) *int { return &s.Sweep.GraphLaunches })},
	{
		Name: "sizes", Unit: "list", Meaning: "measure these total sizes instead of those of -b, -e, -f and -i: 64K,1M,8M",
		Value: option.List(func(s *Spec) *[]int64 { return &s.Sweep.Sizes }, unit.ParseBytes, option.Decimal),
	},
	{Name: "precision", Unit: "share", Default: "0.01", Meaning: "precision that ends a timing: half the 95 % interval over the median", Value: option.Float(func(s *Spec) *float64 { return &s.Sweep.Precision })},
	{Name: "max-time", Unit: "seconds", Default: "0.4", Meaning: "measured time after which a timing of a case ends", Value: option.Float(func(s *Spec) *float64 { return &s.Sweep.MaxTime })},
	{Name: "place", Unit: "name", Default: "both", Meaning: "buffers: " + placeNames, Value: option.Value[Spec]{Set: setPlace, Show: showPlace}},
	{Name: "cache", Unit: "name", Default: Cold, Meaning: "cold: buffers rotate over twice the last level of cache; warm: they do not", Value: option.OneOf([]string{Cold, Warm}, func(s *Spec) *string { return &s.Sweep.Cache })},
	{Name: "verify-budget", Unit: "bytes", Default: "256M", Meaning: "on the loopback, verify whole cases whose buffers of all ranks fit into this", Value: option.Bytes(func(s *Spec) *int64 { return &s.Sweep.VerifyBudget })},
	{
		Name: "groups", Unit: "intSlice", Meaning: "also run all disjoint groups of this many neighbouring GPUs at once, of a node or of several: 2,8,16",
		Value: option.Numbers(func(s *Spec) *[]int { return &s.Sweep.Groups }),
	},
	{
		Name: "strides", Unit: "intSlice", Meaning: "also run all groups of ranks with these strides at once, as expert or tensor parallelism forms them: 2,8",
		Value: option.Numbers(func(s *Spec) *[]int { return &s.Sweep.Strides }),
	},
	{Name: "scale", Unit: "intSlice", Meaning: "also run only the first 1, 2, 4 … nodes while the others wait: 1,2,4", Value: option.Numbers(func(s *Spec) *[]int { return &s.Sweep.Scales })},
	{
		Name: "register", Unit: "list", Meaning: "register the buffers with the library, several by turns: " + strings.Join(policy.Registers(), ", "),
		Value: option.Words("register", policy.Registers(), func(s *Spec) *[]string { return &s.Sweep.Register }),
	},
	{
		Name: "cta-policy", Unit: "list", Meaning: "policy of compute units, several by turns; zero asks for copy engines: " + strings.Join(policy.CTAs(), ", "),
		Value: option.Words("cta-policy", policy.CTAs(), func(s *Spec) *[]string { return &s.Sweep.CTAPolicy }),
	},
	{Name: "nonblocking", Meaning: "make communicators by non-blocking calls, as PyTorch does with TORCH_NCCL_USE_COMM_NONBLOCKING=1", Value: option.Switch(func(s *Spec) *bool { return &s.Sweep.NonBlocking })},
	{
		Name: "skew", Unit: "string", Meaning: "how unequally ranks receive in alltoallv: uniform, zipf:1.2, or a FILE with a weight for each rank",
		Value: option.Text(func(s *Spec) *string { return &s.Sweep.Skew }),
	},
	{Name: "keep-samples", Meaning: fmt.Sprintf("write samples.f32 above %d ranks too", SamplesRanks), Value: option.Switch(func(s *Spec) *bool { return &s.Sweep.KeepSamples })},
	{
		Name: FixedSizes, Meaning: "with a model: measure only the sizes of -b, -e, -f and -i, without those added for the bucket size",
		Value: option.Switch(func(s *Spec) *bool { return &s.Sweep.FixedSizes }),
	},
}

// EveryRoot among the roots stands for each rank.
const EveryRoot = -1

func readRoot(text string) (int, error) {
	if text == collective.Every {
		return EveryRoot, nil
	}
	return option.ParseNatural(text)
}

func showRoot(root int) string {
	if root == EveryRoot {
		return collective.Every
	}
	return strconv.Itoa(root)
}

func readMemory(text string) (string, error) {
	switch text {
	case policy.Coarse:
		return "", nil
	case policy.Fine:
		return text, nil
	}
	return "", fmt.Errorf("%q is not one of %s, %s", text, policy.Coarse, policy.Fine)
}

// Places maps --place to the forms to run: in place or not.
var Places = map[string][]bool{"out": {false}, "in": {true}, "both": {false, true}}

var placeNames = strings.Join(slices.Sorted(maps.Keys(Places)), ", ")

func setPlace(s *Spec, values []string) error {
	last := values[len(values)-1]
	list, ok := Places[last]
	if !ok {
		return fmt.Errorf("%q is not one of %s", last, placeNames)
	}
	s.Sweep.InPlace = list
	return nil
}

func showPlace(s *Spec) []string {
	for name, list := range Places {
		if slices.Equal(list, s.Sweep.InPlace) {
			return []string{name}
		}
	}
	return nil
}

func (s *Sweep) check() error {
	switch {
	case !slices.Contains([]string{Cold, Warm}, s.Cache):
		return fmt.Errorf("cache %q: valid are cold, warm", s.Cache)
	case len(s.InPlace) > 2, len(s.InPlace) == 2 && s.InPlace[0] == s.InPlace[1]:
		return fmt.Errorf("in_place lists %v", s.InPlace)
	case s.VerifyBudget < 0:
		return fmt.Errorf("verify_budget is %d", s.VerifyBudget)
	case len(s.Groups)+len(s.Strides)+len(s.Scales) > maxSplits:
		return fmt.Errorf("more than %d groups, strides and scales", maxSplits)
	}
	if err := policy.Check(s.Register, s.CTAPolicy); err != nil {
		return err
	}
	return s.CheckCalls(policy.All(s.Register, s.CTAPolicy))
}
