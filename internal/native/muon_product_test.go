package native

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"zbench/bench/hardware/matrix"
	"zbench/test/longtest"
)

// halves are matrices of bf16 one behind the other, rows filled up with zeros
// to a multiple of eight, and a guard behind them.
type halves struct {
	batch, rows, cols int
	bits              []uint16
}

const (
	guardHalves = 512 // with them the Go allocator aligns to more than 16 bytes
	guardBits   = 0xbeef
)

func padded(cols int) int { return (cols + 7) / 8 * 8 }

func newHalves(batch, rows, cols int) halves {
	h := halves{batch, rows, cols, make([]uint16, batch*rows*padded(cols)+guardHalves)}
	for i := range h.bits {
		h.bits[i] = guardBits
	}
	return h
}

// random fills them with normal numbers, and with zeros between the rows.
func (h halves) random(rng *rand.Rand) halves {
	for i := range h.batch * h.rows * padded(h.cols) {
		h.bits[i] = 0
		if i%padded(h.cols) < h.cols {
			h.bits[i] = matrix.ToBF16(float32(rng.NormFloat64()))
		}
	}
	return h
}

func (h halves) index(b, i, j int) int { return (b*h.rows+i)*padded(h.cols) + j }

// dense is one of them in float64.
func (h halves) dense(b int) *mat.Dense {
	d := mat.NewDense(h.rows, h.cols, nil)
	for i := range h.rows {
		for j := range h.cols {
			d.Set(i, j, float64(matrix.FromBF16(h.bits[h.index(b, i, j)])))
		}
	}
	return d
}

// one is a copy of one of them, alone.
func (h halves) one(b int) halves {
	c := newHalves(1, h.rows, h.cols)
	n := h.rows * padded(h.cols)
	copy(c.bits, h.bits[b*n:(b+1)*n])
	return c
}

// clean tells whether rows end in zeros and nothing lies behind the end.
func (h halves) clean() bool {
	for i, bits := range h.bits {
		switch {
		case i >= h.batch*h.rows*padded(h.cols):
			if bits != guardBits {
				return false
			}
		case i%padded(h.cols) >= h.cols && bits&0x7fff != 0:
			return false
		}
	}
	return true
}

// product is one launch's operands and shape.
type product struct {
	tile        int
	symmetric   bool
	alpha, beta float32
	a, b, s     halves
}

// geometry of a launch on the host, where a wave is one thread.
func (p product) launch(t testing.TB, run launcher) (c, transposed halves) {
	m, n := p.a.rows, p.b.rows
	rows, cols := ceilDiv(m, p.tile), ceilDiv(n, p.tile)
	name, blocks := fmt.Sprintf("zb_product_%d", p.tile), rows*cols
	c, transposed = newHalves(p.a.batch, m, n), newHalves(p.a.batch, n, m)
	at := address(&transposed.bits[0])
	if p.symmetric {
		name, blocks = fmt.Sprintf("zb_triangle_%d", p.tile), rows*(rows+1)/2
		at = nil
	}
	var s any = uint64(0)
	if p.beta != 0 {
		s = address(&p.s.bits[0])
	}
	l := Launch{Grid: [3]uint32{uint32(blocks), uint32(p.a.batch), 1}, Block: [3]uint32{4 * run.wave, 1, 1}}
	var to any = uint64(0)
	if at != nil {
		to = at
	}
	require.NoError(t, run.launch(name, l, address(&c.bits[0]), to, address(&p.a.bits[0]), address(&p.b.bits[0]), s,
		p.alpha, p.beta, m, n, p.a.cols))
	return c, transposed
}

// launcher runs the product kernels with so many lanes a wave.
type launcher struct {
	wave   uint32
	launch func(name string, l Launch, args ...any) error
}

// loops are the kernels that the loopback runs.
var loops = launcher{1, func(name string, l Launch, args ...any) error { return runKernel(name, l, false, args...) }}

// reference is the product in float64, and for each element what adding up in
// float may be off by.
func (p product) reference(b int) (want, slack *mat.Dense) {
	want, slack = new(mat.Dense), new(mat.Dense)
	x, y := p.a.dense(b), p.b.dense(b)
	want.Mul(x, y.T())
	abs := func(_, _ int, v float64) float64 { return math.Abs(v) }
	x.Apply(abs, x)
	y.Apply(abs, y)
	slack.Mul(x, y.T())
	want.Scale(float64(p.alpha), want)
	slack.Scale(math.Abs(float64(p.alpha))*float64(p.a.cols+4)*0x1p-24, slack)
	if p.beta != 0 {
		s := p.s.dense(b)
		s.Scale(float64(p.beta), s)
		want.Add(want, s)
		s.Apply(abs, s)
		s.Scale(0x1p-22, s)
		slack.Add(slack, s)
	}
	return want, slack
}

// relative is the largest error over the element, less what adding in float may
// be off by.
func relative(got, want, slack *mat.Dense) float64 {
	worst := 0.0
	rows, cols := want.Dims()
	for i := range rows {
		for j := range cols {
			w := want.At(i, j)
			e := math.Abs(got.At(i, j)-w) - slack.At(i, j)
			if !(e <= 0) {
				worst = math.Max(worst, e/math.Abs(w))
			}
			if math.IsNaN(e) {
				return math.Inf(1)
			}
		}
	}
	return worst
}

// rounded is what rounding to the nearest of bf16's eight bits may cost.
// Truncation costs up to twice that.
const rounded = 0x1p-8

func (p product) check(t testing.TB, run launcher) {
	c, transposed := p.launch(t, run)
	require.True(t, c.clean(), "written between rows or behind the end")
	for b := range p.a.batch {
		got := c.dense(b)
		want, slack := p.reference(b)
		require.LessOrEqual(t, relative(got, want, slack), rounded)
		if p.symmetric {
			for i := range c.rows {
				for j := range i {
					require.Equal(t, c.bits[c.index(b, i, j)], c.bits[c.index(b, j, i)], "element %d, %d", i, j)
				}
			}
			continue
		}
		require.True(t, mat.Equal(got.T(), transposed.dense(b)), "the transpose")
	}
	if !p.symmetric {
		require.True(t, transposed.clean(), "written between rows or behind the end")
	}
}

// gram is a product X·Xᵀ; square adds beta of a symmetric S to a symmetric A².
func gram(rng *rand.Rand, tile, batch, m, k int) product {
	x := newHalves(batch, m, k).random(rng)
	return product{tile: tile, symmetric: true, alpha: 1, a: x, b: x}
}

func square(rng *rand.Rand, tile, batch, m int) product {
	a := newHalves(batch, m, m).random(rng)
	for b := range batch {
		for i := range m {
			for j := range i {
				a.bits[a.index(b, j, i)] = a.bits[a.index(b, i, j)]
			}
		}
	}
	return product{tile: tile, symmetric: true, alpha: 2.0315, beta: -4.775, a: a, b: a, s: a}
}

func full(rng *rand.Rand, tile, batch, m, n, k int) product {
	return product{
		tile: tile, alpha: 1, beta: 3.4445, a: newHalves(batch, m, k).random(rng),
		b: newHalves(batch, n, k).random(rng), s: newHalves(batch, m, n).random(rng),
	}
}

var tiles = []int{64, 128}

// The edges of the tiles are in the fixed sizes.
func TestKernelMuonProducts(t *testing.T) { muonProducts(t, 1) }

func TestLongKernelMuonProducts(t *testing.T) {
	longtest.Only(t)
	muonProducts(t, 10)
}

func muonProducts(t *testing.T, random int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(7, 1))
	for _, tile := range tiles {
		for _, d := range []int{1, 7, 63, 64, 65, 128, 129} {
			gram(rng, tile, 1, d, 1+rng.IntN(100)).check(t, loops)
			square(rng, tile, 1, d).check(t, loops)
			full(rng, tile, 1, d, 1+rng.IntN(200), 1+rng.IntN(100)).check(t, loops)
			full(rng, tile, 1, 1+rng.IntN(200), d, d).check(t, loops)
		}
		for range random {
			m, n, k := 1+rng.IntN(576), 1+rng.IntN(576), 1+rng.IntN(576)
			gram(rng, tile, 1, m, k).check(t, loops)
			square(rng, tile, 1, m).check(t, loops)
			full(rng, tile, 1, m, n, k).check(t, loops)
		}
		gram(rng, tile, 1, 1408, 40).check(t, loops)
		full(rng, tile, 1, 1408, 72, 65).check(t, loops)
		full(rng, tile, 1, 33, 65, 1408).check(t, loops)
	}
}

// mirrored is what zb_mirror makes of what lies on and below the diagonal, in plain loops.
func mirrored(c, s halves, beta, shift float32) halves {
	want := newHalves(c.batch, c.rows, c.cols)
	clear(want.bits[:c.batch*c.rows*padded(c.cols)])
	for b := range c.batch {
		for i := range c.rows {
			for j := range i + 1 {
				bits := c.bits[c.index(b, i, j)]
				if beta != 0 || shift != 0 {
					sum := matrix.FromBF16(bits) + float32(beta*matrix.FromBF16(s.bits[s.index(b, i, j)]))
					if i == j {
						sum += shift
					}
					bits = matrix.ToBF16(sum)
				}
				want.bits[c.index(b, i, j)], want.bits[c.index(b, j, i)] = bits, bits
			}
		}
	}
	return want
}

// What another library's products leave above the diagonal and between the rows, not
// even numbers, is not used.
func TestKernelMuonMirror(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 4))
	for _, m := range []int{1, 7, 8, 63, 64, 65, 130, 200} {
		for _, by := range [][2]float32{{0, 0}, {-4.775, 3.4445}, {0.5, 0}, {0, 1}} {
			c, s := newHalves(2, m, m).random(rng), square(rng, 64, 2, m).s
			want := mirrored(c, s, by[0], by[1])
			for b := range c.batch {
				for i := range m {
					for j := i + 1; j < padded(m); j++ {
						c.bits[c.index(b, i, j)] = 0x7fc0 // not a number
					}
				}
			}
			tiles := ceilDiv(m, MuonTile)
			l := Launch{Grid: [3]uint32{uint32(tiles * (tiles + 1) / 2), 2, 1}, Block: [3]uint32{4, 1, 1}}
			require.NoError(t, runKernel("zb_mirror", l, false, address(&c.bits[0]), address(&s.bits[0]), by[0], by[1], m))
			require.True(t, slices.Equal(want.bits, c.bits), "%d, %v", m, by)
		}
	}
}
