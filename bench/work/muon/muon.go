// Package muon describes what the Muon optimiser computes, independent of any GPU: its
// coefficients, the weight matrices of known models, the operations of its products, and a float64
// reference.
//
// A step adds the gradient to the momentum matrix, brings the result close to the nearest
// orthogonal matrix by Newton–Schulz iterations, and subtracts that from the weight (Keller Jordan,
// "Muon: An optimizer for hidden layers in neural networks", 2024):
//
//	X = bf16(u) / (‖u‖_F · safety + ε), transposed when it is tall
//	for each (a, b, c): A = X·Xᵀ, B = b·A + c·A², X = a·X + B·X
package muon

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"zbench/bench/base/slice"
	"zbench/bench/base/spell"
)

// Epsilon avoids a division by zero for a zero matrix.
const Epsilon = 1e-7

// Coefficients is a named list of Newton–Schulz steps.
type Coefficients struct {
	Name string
	// Steps has a, b and c of each step.
	Steps [][3]float64
	// Safety is a factor on the norm by which a matrix is divided; 1 changes nothing. With a factor
	// above 1, rounding cannot leave a singular value above the range of convergence.
	Safety float64
	// Source says where the figures come from.
	Source string
}

func repeat(n int, step [3]float64) [][3]float64 {
	return slices.Repeat([][3]float64{step}, n)
}

// sets has the coefficients, the default first.
var sets = []Coefficients{
	{
		"keller-jordan", repeat(5, [3]float64{3.4445, -4.7750, 2.0315}), 1,
		"KellerJordan/Muon, muon.py",
	},
	{
		"you",
		[][3]float64{
			{4.0848, -6.8946, 2.9270},
			{3.9505, -6.3029, 2.6377},
			{3.7418, -5.5913, 2.3037},
			{2.8769, -3.1427, 1.2046},
			{2.8366, -3.0525, 1.2012},
		},
		1,
		"Jiacheng You, x.com/YouJiacheng/status/1905861218138804534",
	},
	{
		"polar-express",
		[][3]float64{
			{8.156554524902461, -22.48329292557795, 15.878769915207462},
			{4.042929935166739, -2.808917465908714, 0.5000178451051316},
			{3.8916678022926607, -2.772484153217685, 0.5060648178503393},
			{3.285753657755655, -2.3681294933425376, 0.46449024233003106},
			{2.3465413258596377, -1.7097828382687081, 0.42323551169305323},
		},
		1.02,
		"Amsel et al., arXiv 2505.16932, as in modded-nanogpt's train_gpt.py",
	},
}

// Sets returns the known coefficients, the default first.
func Sets() []Coefficients { return sets }

// ByName finds coefficients. The error about an unknown name lists the valid ones.
func ByName(name string) (Coefficients, error) {
	return spell.Find("coefficients", sets, name, func(c Coefficients) (string, []string) { return c.Name, nil })
}

// setNames returns the names of the coefficients.
func setNames() []string { return slice.Map(sets, func(c Coefficients) string { return c.Name }) }

// Shape is a batch of weight matrices of one shape.
type Shape struct {
	// Name is the role of the matrices in the model; empty if the user gave the shape.
	Name string `json:"name,omitempty"`
	// Rows is the number of rows of a matrix.
	Rows int `json:"rows"`
	// Cols is the number of columns of a matrix.
	Cols int `json:"cols"`
	// Batch is the number of matrices.
	Batch int `json:"batch"`
}

// Short returns the smaller of the two sides.
func (s Shape) Short() int { return min(s.Rows, s.Cols) }

// Long returns the larger of the two sides.
func (s Shape) Long() int { return max(s.Rows, s.Cols) }

// Scale returns Keller Jordan's factor for the update: max(1, rows / cols)^½. It makes updates
// equally large for every shape.
func (s Shape) Scale() float64 { return math.Sqrt(max(1, float64(s.Rows)/float64(s.Cols))) }

// String returns MxN or MxNxBATCH, which is ParseShape's form.
func (s Shape) String() string {
	if s.Batch == 1 {
		return fmt.Sprintf("%dx%d", s.Rows, s.Cols)
	}
	return fmt.Sprintf("%dx%dx%d", s.Rows, s.Cols, s.Batch)
}

// Title returns the shape and its role in the model.
func (s Shape) Title() string { return strings.TrimSpace(s.String() + " " + s.Name) }

// MaxSide and MaxBatch are the largest sizes that the kernels can address.
const (
	MaxSide  = 1 << 16
	MaxBatch = 1 << 16
)

// Check returns an error for an invalid shape.
func (s Shape) Check() error {
	if s.Rows < 1 || s.Cols < 1 || s.Batch < 1 || s.Rows > MaxSide || s.Cols > MaxSide || s.Batch > MaxBatch {
		return fmt.Errorf("shape %s: sides are 1 to %d, the batch is 1 to %d", s, MaxSide, MaxBatch)
	}
	if int64(s.Rows)*int64(s.Cols) >= math.MaxUint32 {
		return fmt.Errorf("shape %s: a matrix has fewer than 2^32 elements", s)
	}
	return nil
}

// ParseShape reads MxN or MxNxBATCH.
func ParseShape(text string) (Shape, error) {
	s := Shape{Batch: 1}
	parts := strings.Split(text, "x")
	to := []*int{&s.Rows, &s.Cols, &s.Batch}
	if len(parts) < 2 || len(parts) > 3 {
		return s, fmt.Errorf("shape %q: give MxN or MxNxBATCH, as 2048x4096x16", text)
	}
	for i, part := range parts {
		n, err := positive(part)
		if err != nil {
			return s, fmt.Errorf("shape %q: %w", text, err)
		}
		*to[i] = n
	}
	return s, s.Check()
}

// positive reads a whole decimal number without a sign.
func positive(text string) (int, error) {
	n := 0
	for _, c := range text {
		if c < '0' || c > '9' || n > MaxBatch {
			return 0, fmt.Errorf("%q is no whole number of at most %d", text, MaxBatch)
		}
		n = 10*n + int(c-'0')
	}
	if text == "" {
		return 0, fmt.Errorf("a number is missing")
	}
	return n, nil
}
