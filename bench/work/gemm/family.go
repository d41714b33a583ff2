package gemm

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"zbench/bench/base/option"
	"zbench/bench/base/plain"
	"zbench/bench/base/spell"
	"zbench/bench/hardware/device"
	"zbench/bench/job/trainer"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
	"zbench/bench/work/kernel"
)

// Kernel is the kernel name in rows of matrix products.
const Kernel = "gemm"

// Element types that a request can name.
const (
	BF16 = "bfloat16"
	FP16 = "float16"
	F32  = "float32"
	FP8  = "float8"
)

// Dtypes lists the element types.
func Dtypes() []string { return []string{BF16, FP16, F32, FP8} }

// dtypeNames maps other names of the types.
var dtypeNames = map[string]string{"bf16": BF16, "fp16": FP16, "half": FP16, "f32": F32, "fp32": F32, "float": F32, "fp8": FP8}

// Elements returns the sizes, in bytes, of an element of A and B, and of an element of C.
func Elements(dtype string) (in, out int64) {
	switch dtype {
	case F32:
		return 4, 4
	case FP8:
		return 1, 2
	}
	return 2, 2
}

const (
	// DefaultTokens is the number of tokens of a microbatch.
	DefaultTokens = 16384
	// DefaultAround is the number of neighbouring hidden sizes on each side.
	DefaultAround = 4
	// MostChoices is the number of choices of the library's heuristics that are timed.
	MostChoices = 8
	maxTokens   = 1 << 22
	maxAround   = 32
)

// Family is the row of matrix products in the table of families.
var Family = kernel.Register(kernel.Family{
	Name: spec.Gemm, Order: 5, OneDevice: true, Faults: true, MaxTime: "0.3",
	Short: "A model's matrix products, and sizes that run well",
	Long: `Times the matrix products of a model's layers (forward, dgrad, wgrad, with
experts and router) or given ones by hipBLASLt or cuBLASLt: each choice of the
library's heuristics, what PyTorch would call, and the plain product of rocBLAS
or cuBLAS. Each product is checked against float64. Beside the TFLOP/s stand the
tiles over the compute units, the share that they lose, and rows a power of two
apart. --around hidden compares hidden sizes near by; --peak measures the
reachable rate on all GPUs at once, also of several nodes: as zbench collectives
in an allocation or with --hostfile, with one process on each node. Products
whose first choice is slow are listed in tunableop_untuned.csv, for
torch.cuda.tunable.tune_gemm_in_file.

Without a GPU a stand-in on the loopback's virtual clock takes the library's
place: its times are simulated, its results are checked at reduced sizes.`,
	Example: `  zbench gemm --preset zaya1-base --tokens 16384
  zbench gemm --mnk 16384x4096x2048/TN --dtype bf16,fp8
  zbench gemm --preset zaya1-base --around hidden
  zbench gemm --peak
  salloc -N 128 zbench gemm --peak`,
	Most:         []string{"preset", "tokens", "mnk", "dtype", "around", "peak", "choices", "max-time", "out", "format"},
	MostSearched: []string{"resume", "preset", "mnk", "dtype", "max-time", "out", "format"},
	Settings:     settings,
	Everywhere:   func(k *spec.Kernels) bool { return k.Reachable },
	Lacks:        lacks,
	Check: func(k *spec.Kernels) error {
		if _, err := Request(k, record.Device{Units: 304}); err != nil {
			return err
		}
		for _, v := range k.Dtypes {
			if !slices.Contains(Dtypes(), v) {
				return &spell.Unknown{Kind: "dtype", Given: v, Valid: Dtypes()}
			}
		}
		return nil
	},
	Figures: figures, Best: best, Show: show,
	Export: func(rec *record.Record) (name, content string) { return UntunedFile, Untuned(rec) },
})

func lacks(k *spec.Kernels) string {
	asked := 0
	for _, given := range []bool{k.Preset != "", len(k.Shapes) > 0, k.Reachable} {
		if given {
			asked++
		}
	}
	switch {
	case asked != 1:
		return "give one of --preset, --mnk and --peak"
	case k.Around > 0 && k.Preset == "":
		return "--around needs a --preset, whose hidden size it varies"
	}
	return ""
}

var settings = []kernel.Setting{
	{
		Name: "preset", Unit: "name", Meaning: "a model's products: " + strings.Join(trainer.PresetNames(), ", "),
		Value: option.Read(func(k *spec.Kernels) *string { return &k.Preset }, trainer.PresetName),
	},
	{
		Name: "tokens", Unit: "int", Meaning: "tokens of a microbatch with --preset (default " + strconv.Itoa(DefaultTokens) + ")",
		Value: kernel.UpTo(maxTokens, "a microbatch has 1 to %d tokens", true, func(k *spec.Kernels) *int { return &k.Tokens }),
	},
	{
		Name: "mnk", Unit: "MxNxK[xBATCH][/LAYOUT]", Meaning: "products to time, with TN, NN or NT as BLAS has it (default TN); may be repeated",
		Value: kernel.Shapes(func(text string) (string, error) {
			s, err := ParseShape(text)
			return s.String(), err
		}),
	},
	{
		Name: "dtype", Unit: "names", Default: BF16, Meaning: "element types: bfloat16, float16, float32, float8 (e4m3, in the form that the GPU has)",
		Value: kernel.Names(func(k *spec.Kernels) *[]string { return &k.Dtypes }, func(name string) (string, error) {
			if other, ok := dtypeNames[strings.ToLower(name)]; ok {
				return other, nil
			}
			if !slices.Contains(Dtypes(), name) {
				return "", &spell.Unknown{Kind: "dtype", Given: name, Valid: Dtypes()}
			}
			return name, nil
		}),
	},
	{
		Name: "around", Unit: "hidden[:N]", Meaning: "also time the preset at N hidden sizes on each side, 64 apart (default N 4)",
		Value: option.Of(func(k *spec.Kernels) *int { return &k.Around }, parseAround, func(n int) string { return fmt.Sprintf("hidden:%d", n) }),
	},
	{
		Name: "peak", Meaning: "measure the reachable rate instead: sizes that fill the compute units, on all GPUs at once",
		Value: option.Switch(func(k *spec.Kernels) *bool { return &k.Reachable }),
	},
	{
		Name: "choices", Unit: "int", Meaning: "how many choices of the heuristics to time (default " + strconv.Itoa(MostChoices) + ")",
		Value: kernel.UpTo(MostChoices, "choices are 1 to %d", true, func(k *spec.Kernels) *int { return &k.Choices }),
	},
}

func parseAround(v string) (int, error) {
	what, text, given := strings.Cut(v, ":")
	if what != "hidden" {
		return 0, errors.New("--around " + v + ": give hidden, or hidden:N")
	}
	if !given {
		return DefaultAround, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxAround {
		return 0, fmt.Errorf("--around %s: N is 1 to %d", v, maxAround)
	}
	return n, nil
}

// Request returns the products that a request asks for on a GPU.
func Request(k *spec.Kernels, gpu record.Device) ([]Shape, error) {
	var all []Shape
	if k.Reachable {
		for _, text := range device.PointsOf(gpu.Name) {
			s, err := ParseShape(text)
			if err != nil {
				return nil, err
			}
			s.Name = "published"
			all = append(all, s)
		}
		return append(all, Peaks(gpu.Units)...), nil
	}
	add := func(s Shape) {
		if !slices.ContainsFunc(all, func(o Shape) bool { return o.String() == s.String() && o.Pass == s.Pass }) {
			all = append(all, s)
		}
	}
	for _, text := range k.Shapes {
		s, err := ParseShape(text)
		if err != nil {
			return nil, err
		}
		add(s)
	}
	if k.Preset == "" {
		return all, nil
	}
	models, err := Models(k)
	if err != nil {
		return nil, err
	}
	for _, m := range models {
		for _, s := range m.Shapes {
			add(s)
		}
	}
	return all, nil
}

// Models returns the model of a request at its hidden size, and then at neighbouring sizes.
func Models(k *spec.Kernels) ([]Model, error) {
	tokens := int64(k.Tokens)
	if tokens == 0 {
		tokens = DefaultTokens
	}
	first, err := Of(k.Preset, tokens, 0)
	if err != nil {
		return nil, err
	}
	all := []Model{first}
	if k.Around > 0 {
		for _, h := range Hiddens(first.Hidden, k.Around) {
			if h == first.Hidden {
				continue
			}
			m, err := Of(k.Preset, tokens, h)
			if err != nil {
				return nil, err
			}
			all = append(all, m)
		}
	}
	return all, nil
}

// Peaks returns nearly square products that give every compute unit the same number of large tiles,
// from one to four. Each has two depths that are not powers of two.
func Peaks(units int) []Shape {
	var all []Shape
	for waves := 1; waves <= 4; waves++ {
		tiles := int64(units * waves)
		rows := int64(1)
		for r := int64(1); r*r <= tiles; r++ {
			if tiles%r == 0 {
				rows = r
			}
		}
		for _, k := range []int64{4160, 8256} {
			all = append(all, Shape{Name: plain.Count(waves, "tile") + " per unit", Layout: TN, M: tiles / rows * Tiles()[0].M, N: rows * Tiles()[0].N, K: k, Batch: 1, Count: 1})
		}
	}
	return all
}
