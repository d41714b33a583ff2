// Package gemm describes the matrix products of a model's layers: their sizes, how their tiles fill
// the compute units of a GPU, and better sizes nearby.
//
// Of lists the products of a model. Best counts the tiles of a product. Models and Advise compare
// hidden sizes.
package gemm

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"zbench/bench/base/plain"
	"zbench/bench/job/trainer"
)

// The products of a linear layer Y = X·Wᵀ. X has tokens × in elements, and W has out × in elements.
const (
	Forward = "forward" // Y = X·Wᵀ
	Dgrad   = "dgrad"   // dX = dY·W
	Wgrad   = "wgrad"   // dW = dYᵀ·X
)

// Layouts in BLAS's notation, by columns: the letters say whether the first and the second operand
// are transposed.
const (
	TN = "TN"
	NN = "NN"
	NT = "NT"
)

// Shape is a matrix product C = op(A)·op(B) in row-major order.
type Shape struct {
	// Name is the name of the layers in the model; empty if the user gave the shape.
	Name string
	// Pass is Forward, Dgrad or Wgrad; empty if the user gave the shape.
	Pass string
	// Layout is TN for C = A·Bᵀ, NN for C = A·B, and NT for C = Aᵀ·B.
	Layout string
	// M and N are the rows and columns of C, and K is the depth.
	M, N, K int64
	// Batch is the number of equal products in a launch, such as the experts of a layer.
	Batch int64
	// Count is the number of such launches in a microbatch.
	Count int64
}

// Flop returns the number of operations in a launch.
func (s Shape) Flop() float64 {
	return 2 * float64(s.M) * float64(s.N) * float64(s.K) * float64(s.Batch)
}

// Size returns MxNxK, or MxNxKxBATCH, which is ParseShape's form without the layout.
func (s Shape) Size() string {
	text := fmt.Sprintf("%dx%dx%d", s.M, s.N, s.K)
	if s.Batch > 1 {
		text += "x" + strconv.FormatInt(s.Batch, 10)
	}
	return text
}

// String returns the size and the layout, in ParseShape's form.
func (s Shape) String() string { return s.Size() + "/" + s.Layout }

// Sides returns the numbers of rows and columns of A, B and C in memory, row by row.
func (s Shape) Sides() (a, b, c [2]int64) {
	a, b, c = [2]int64{s.M, s.K}, [2]int64{s.K, s.N}, [2]int64{s.M, s.N}
	if s.Layout == TN {
		b = [2]int64{s.N, s.K}
	}
	if s.Layout == NT {
		a = [2]int64{s.K, s.M}
	}
	return a, b, c
}

// Turned returns the number of operands that must be transposed in memory for a library that only
// accepts TN, and the number of their elements.
func (s Shape) Turned() (operands int, elements int64) {
	a, b, _ := s.Sides()
	switch s.Layout {
	case NN:
		return 1, b[0] * b[1] * s.Batch
	case NT:
		return 2, (a[0]*a[1] + b[0]*b[1]) * s.Batch
	}
	return 0, 0
}

// MaxSide and MaxBatch are the largest allowed sizes. Libraries count sides in 32 bits.
const (
	MaxSide  = 1 << 24
	MaxBatch = 1 << 12
)

// ParseShape reads MxNxK or MxNxKxBATCH, optionally followed by a slash and the layout. The default
// layout is TN.
func ParseShape(text string) (Shape, error) {
	size, layout, given := strings.Cut(text, "/")
	s := Shape{Layout: strings.ToUpper(layout), Batch: 1, Count: 1}
	if !given {
		s.Layout = TN
	}
	parts := strings.Split(strings.ToLower(size), "x")
	if len(parts) < 3 || len(parts) > 4 || !slices.Contains([]string{TN, NN, NT}, s.Layout) {
		return Shape{}, fmt.Errorf("shape %q: give MxNxK or MxNxKxBATCH, and /NN, /NT or /TN behind it", plain.Line(text))
	}
	for i, to := range []*int64{&s.M, &s.N, &s.K, &s.Batch}[:len(parts)] {
		n, err := strconv.ParseInt(parts[i], 10, 64)
		if most := [4]int64{MaxSide, MaxSide, MaxSide, MaxBatch}[i]; err != nil || n < 1 || n > most {
			return Shape{}, fmt.Errorf("shape %q: sides are 1 to %d, the batch is 1 to %d", plain.Line(text), MaxSide, MaxBatch)
		}
		*to = n
	}
	return s, nil
}

// Model has the products of a model at one hidden size.
type Model struct {
	Hidden int64
	// Shapes are in descending order of operations.
	Shapes []Shape
}

// Of returns the products of a model for the tokens of a microbatch. hidden is the hidden size; 0
// means the published one. Every expert gets an equal share of the tokens, and the experts of a
// layer form a batch. Layers of equal size share one shape. Convolutions and attention's own
// products are left out.
func Of(preset string, tokens, hidden int64) (Model, error) {
	m, err := trainer.PresetAt(preset, hidden)
	if err != nil {
		return Model{}, err
	}
	var model Model
	for _, l := range layers(m.Params) {
		if model.Hidden == 0 {
			model.Hidden = l.hidden
		}
		if l.work > 0 {
			model.add(l, tokens)
		}
	}
	slices.SortStableFunc(model.Shapes, func(a, b Shape) int {
		return cmp.Compare(b.Flop()*float64(b.Count), a.Flop()*float64(a.Count))
	})
	return model, nil
}

// layer is a kind of linear layer.
type layer struct {
	name            string
	out, in, hidden int64
	// work is the share of the tokens for which the layer computes.
	work float64
	// blocks is the number of blocks that have the layer. count is the number of its copies in all
	// blocks, such as experts.
	blocks, count int64
}

// layers groups the two-dimensional tensors by role. The embedding comes first and has no work of
// its own, but it has the sides of an output layer that shares its table.
func layers(params []trainer.Param) []*layer {
	work := trainer.Work(params)
	var list []*layer
	at := map[string]*layer{}
	seen := map[string]map[int]bool{}
	for i, p := range params {
		sides := p.Shape
		if len(sides) == 0 && p.Elements == 0 && work[i] > 0 && len(list) > 0 { // an output layer that shares the embedding
			sides = []int64{list[0].out, list[0].in}
		}
		if len(sides) != 2 {
			continue
		}
		key := fmt.Sprint(p.Role(), sides)
		l := at[key]
		if l == nil {
			l = &layer{name: p.Role(), out: sides[0], in: sides[1], hidden: sides[1], work: work[i] / float64(sides[0]*sides[1])}
			at[key], seen[key] = l, map[int]bool{}
			list = append(list, l)
		}
		l.count++
		seen[key][p.Block] = true
		l.blocks = int64(len(seen[key]))
	}
	return list
}

// add adds the three products of a layer.
func (m *Model) add(l *layer, tokens int64) {
	t := max(1, int64(math.Ceil(float64(tokens)*l.work)))
	batch := l.count / l.blocks
	for _, s := range []Shape{
		{Pass: Forward, Layout: TN, M: t, N: l.out, K: l.in},
		{Pass: Dgrad, Layout: NN, M: t, N: l.in, K: l.out},
		{Pass: Wgrad, Layout: NT, M: l.out, N: l.in, K: t},
	} {
		s.Name, s.Batch, s.Count = l.name, batch, l.blocks
		i := slices.IndexFunc(m.Shapes, func(o Shape) bool { return o.Pass == s.Pass && o.String() == s.String() })
		if i < 0 {
			m.Shapes = append(m.Shapes, s)
			continue
		}
		m.Shapes[i].Count += s.Count
		m.Shapes[i].Name += ", " + s.Name
	}
}
