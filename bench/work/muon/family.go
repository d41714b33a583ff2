package muon

import (
	"strings"

	"zbench/bench/base/option"
	"zbench/bench/job/trainer"
	"zbench/bench/run/spec"
	"zbench/bench/work/kernel"
)

// Family is Muon's row in the table of families.
var Family = kernel.Register(kernel.Family{
	Name: spec.Muon, Order: 10, OneDevice: true, MaxTime: "0.4",
	Short: "The Muon step: products, Newton–Schulz, passes over memory",
	Long: `Times a Muon step on one GPU, product by product, for a model's weight matrices
or a shape, against our own kernel without symmetry and the vendor's product,
and compares the results with float64. docs/METHOD.md defines what is counted.

Without a GPU the kernels are emulated: results are checked, rates are not
shown, and shapes that would take minutes are refused; --reduce checks reduced
shapes instead. The run writes a folder with a page, JSON and CSV; --resume DIR
continues an interrupted run.`,
	Example: `  zbench kernels muon --preset moonlight-16b
  zbench kernels muon --shape 2048x4096x16 --coefficients polar-express
  zbench kernels muon                                  one small shape, seconds without a GPU
  zbench kernels muon --preset zaya1-base --reduce 192 reduced shapes, seconds too`,
	Most:         []string{"preset", "shape", "coefficients", "reduce", "device", "max-time", "out", "format"},
	MostSearched: []string{"resume", "preset", "shape", "device", "max-time", "out", "format"},
	Settings:     settings(),
	Lacks: func(k *spec.Kernels) string {
		if (k.Preset == "") == (len(k.Shapes) == 0) {
			return "give either --preset or --shape"
		}
		return ""
	},
	Check: func(k *spec.Kernels) error {
		_, _, err := Shapes(k)
		if err == nil {
			_, err = ByName(k.Coefficients)
		}
		return err
	},
	Figures: products, Best: best, Show: show,
})

func settings() []kernel.Setting {
	names := setNames()
	return []kernel.Setting{
		{
			Name: "preset", Unit: "name", Meaning: "a model's matrices: " + strings.Join(trainer.PresetNames(), ", "),
			Value: option.Read(func(k *spec.Kernels) *string { return &k.Preset }, trainer.PresetName), // an alias is recorded as the preset's own name
		},
		{
			Name: "shape", Unit: "MxNxBATCH", Meaning: "matrices to step, as MxN or MxNxBATCH; may be repeated",
			Value: kernel.Shapes(func(text string) (string, error) {
				s, err := ParseShape(text)
				return s.String(), err
			}),
		},
		{
			Name: "coefficients", Unit: "name", Default: names[0], Meaning: "of Newton–Schulz: " + strings.Join(names, ", "),
			Value: option.Read(func(k *spec.Kernels) *string { return &k.Coefficients }, func(v string) (string, error) {
				c, err := ByName(v)
				return c.Name, err
			}),
		},
		{
			Name: "reduce", Unit: "int", Meaning: "without a GPU: check each shape with its longer side reduced to at most this, batches to 2",
			Value: kernel.UpTo(MaxSide, "a side is 1 to %d", true, func(k *spec.Kernels) *int { return &k.Reduce }),
		},
	}
}

// Shapes returns the shapes of a request. The result few is true if the batches are the
// batches of a model.
func Shapes(k *spec.Kernels) (shapes []Shape, few bool, err error) {
	if k.Preset != "" {
		shapes, err = PresetShapes(k.Preset)
		return shapes, true, err
	}
	for _, text := range k.Shapes {
		s, err := ParseShape(text)
		if err != nil {
			return nil, false, err
		}
		shapes = append(shapes, s)
	}
	return shapes, false, nil
}
