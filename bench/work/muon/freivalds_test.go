package muon

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"

	"zbench/bench/hardware/matrix"
	"zbench/test/longtest"
)

func randomHalf(rng *rand.Rand, rows, cols int) matrix.Half {
	h := emptyHalf(rows, cols)
	for i := range rows {
		for j := range cols {
			set(h, i, j, matrix.ToBF16(float32(rng.NormFloat64()/math.Sqrt(float64(cols)))))
		}
	}
	return h
}

func emptyHalf(rows, cols int) matrix.Half {
	stride := (cols + 7) / 8 * 8
	return matrix.Half{Rows: rows, Cols: cols, Stride: stride, Raw: make([]byte, 2*rows*stride)}
}

func set(h matrix.Half, i, j int, bits uint16) {
	binary.LittleEndian.PutUint16(h.Raw[2*(i*h.Stride+j):], bits)
}

func copied(h matrix.Half) matrix.Half {
	h.Raw = append([]byte(nil), h.Raw...)
	return h
}

// truncated drops the bits that bf16 has no room for.
func truncated(v float32) uint16 { return uint16(math.Float32bits(v) >> 16) }

// made is a claim that is true: each sum in float, in the order of the depth, rounded once.
func made(rng *rand.Rand, rows, cols, depth int, p Product, c [3]float64, round func(float32) uint16) *matrix.Claim {
	one := &matrix.Claim{A: randomHalf(rng, rows, depth), Alpha: 1}
	one.B = one.A
	switch p {
	case Gram:
	case Square:
		for i := range rows {
			for j := range i {
				set(one.A, j, i, one.A.Bits(i, j))
			}
		}
		one.S, one.Alpha, one.Beta = &one.A, c[2], c[1]
	case Apply:
		one.B = randomHalf(rng, cols, depth)
		s := randomHalf(rng, rows, cols)
		one.S, one.Beta = &s, c[0]
	}
	one.C = emptyHalf(rows, cols)
	a, b := elements(one.A), elements(one.B)
	for i := range rows {
		for j := range cols {
			sum, with := float32(0), b[j*depth:]
			for k, x := range a[i*depth : (i+1)*depth] {
				sum += x * with[k]
			}
			sum *= float32(one.Alpha)
			if one.S != nil {
				sum += float32(one.Beta) * matrix.FromBF16(one.S.Bits(i, j))
			}
			set(one.C, i, j, round(sum))
		}
	}
	return one
}

// elements are those of all rows, one after the other.
func elements(h matrix.Half) []float32 {
	all := make([]float32, 0, h.Rows*h.Cols)
	for i := range h.Rows {
		for j := range h.Cols {
			all = append(all, matrix.FromBF16(h.Bits(i, j)))
		}
	}
	return all
}

func nearest(v float32) uint16 { return matrix.ToBF16(v) }

// of makes a claim for a shape as the step's products have it.
func of(rng *rand.Rand, m, n int, p Product, c [3]float64, round func(float32) uint16) *matrix.Claim {
	rows, cols, depth := p.Dims(Shape{Rows: m, Cols: n, Batch: 1})
	return made(rng, rows, cols, depth, p, c, round)
}

var odd = [][2]int{{1, 1}, {1, 7}, {7, 1}, {1, 65}, {65, 1}, {3, 5}, {5, 3}, {2, 300}, {16, 16}, {9, 64}, {17, 33}, {64, 64}, {63, 130}, {130, 63}}

// Rounding to nearest never fails the check: every product, coefficients and shape.
func TestFreivaldsHasNoFalseAlarm(t *testing.T) {
	runs := 6
	if testing.Short() {
		runs = 1
	}
	noFalseAlarm(t, odd, runs)
	noFalseAlarm(t, [][2]int{{192, 34}, {96, 192}}, 1)
}

func TestLongFreivaldsHasNoFalseAlarm(t *testing.T) {
	longtest.Only(t)
	noFalseAlarm(t, odd, 300)
	noFalseAlarm(t, [][2]int{{192, 192}, {40, 1000}, {5, 8000}}, 5)
}

func noFalseAlarm(t *testing.T, shapes [][2]int, runs int) {
	rng := rand.New(rand.NewPCG(33, 1))
	most, checks := matrix.Residuals{}, 0
	for _, set := range Sets() {
		for _, s := range shapes {
			for run := range runs {
				for _, p := range Products() {
					c := of(rng, s[0], s[1], p, set.Steps[run%len(set.Steps)], nearest)
					found := c.Check(rng)
					require.True(t, found.OK(), "%s %v %s: %+v", set.Name, s, p, found)
					most.RMS, most.Max = max(most.RMS, found.RMS), max(most.Max, found.Max)
					checks++
				}
			}
		}
	}
	t.Logf("%d checks, at the most %.2f in all and %.2f of a line", checks, most.RMS, most.Max)
}

// Each fault is found in every draw of the vectors, and its clean twin passes. What is
// wrong in a few elements is told from what is wrong in tiles or everywhere.
func TestFreivaldsFinds(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 2))
	draws, products := 4, Products()
	if testing.Short() {
		draws, products = 1, products[:1] // the race detector sees as much in one: the goroutines are bench/hardware/matrix's
	}
	step := Sets()[0].Steps[0]
	for _, p := range products {
		clean := of(rng, 192, 192, p, step, nearest)
		require.True(t, clean.Check(rng).OK(), "the twin")
		for name, spoil := range faults {
			for range draws {
				c := *clean
				c.C = copied(c.C)
				spoil(rng, &c)
				found := c.Check(rng)
				require.False(t, found.OK(), "%s, %s: %+v", p, name, found)
				w := c.Wrong(found)
				require.Equal(t, strings.HasPrefix(name, "one"), w.Isolated(), "%s, %s: %s", p, name, w.Text())
				require.Contains(t, w.Text(), " are wrong, in rows ")
			}
		}
		for range 2 {
			c := of(rng, 192, 192, p, step, truncated)
			found := c.Check(rng)
			require.False(t, found.OK(), "%s truncated: %+v", p, found)
			require.Zero(t, c.Wrong(found).Elements)
			require.Contains(t, c.Wrong(found).Text(), "one-sided")
		}
	}
}

var faults = map[string]func(rng *rand.Rand, c *matrix.Claim){
	"one element, off by the size of its row's": func(rng *rand.Rand, c *matrix.Claim) {
		i, j := rng.IntN(c.C.Rows), rng.IntN(c.C.Cols)
		row := c.C.Row(i, make([]float64, c.C.Cols))
		set(c.C, i, j, matrix.ToBF16(float32(row[j]+floats.Norm(row, 2)/math.Sqrt(float64(len(row))))))
	},
	"one element, not a number": func(rng *rand.Rand, c *matrix.Claim) {
		set(c.C, rng.IntN(c.C.Rows), rng.IntN(c.C.Cols), 0x7fc0)
	},
	"a tile of zeros": func(rng *rand.Rand, c *matrix.Claim) {
		i, j := 64*rng.IntN(c.C.Rows/64), 64*rng.IntN(c.C.Cols/64)
		each(64, func(r, k int) { set(c.C, i+r, j+k, 0) })
	},
	"a tile that lacks one stage of its depth": func(rng *rand.Rand, c *matrix.Claim) {
		i, j := 64*rng.IntN(c.C.Rows/64), 64*rng.IntN(c.C.Cols/64)
		each(64, func(r, k int) {
			v := c.C.At(i+r, j+k)
			for d := range Depth {
				v -= c.Alpha * c.A.At(i+r, d) * c.B.At(j+k, d)
			}
			set(c.C, i+r, j+k, nearest(float32(v)))
		})
	},
	"two tiles swapped": func(_ *rand.Rand, c *matrix.Claim) {
		each(64, func(r, k int) {
			x, y := c.C.Bits(r, k), c.C.Bits(64+r, 128+k)
			set(c.C, r, k, y)
			set(c.C, 64+r, 128+k, x)
		})
	},
}

func each(n int, do func(r, k int)) {
	for r := range n {
		for k := range n {
			do(r, k)
		}
	}
}

// One bad tile of 1,024, which 256 random elements miss in 78 of 100 runs.
func TestFreivaldsFindsOneTileOfMany(t *testing.T) {
	if testing.Short() {
		t.Skip("seconds under the race detector, and the goroutines of TestFreivaldsFinds")
	}
	rng := rand.New(rand.NewPCG(33, 3))
	c := made(rng, 2048, 2048, 8, Gram, [3]float64{}, nearest)
	require.True(t, c.Check(rng).OK())
	each(64, func(r, k int) { set(c.C, 640+r, 1024+k, 0) })
	found := c.Check(rng)
	require.False(t, found.OK())
	for _, lines := range [][2][]int{{found.Rows, {640, 703}}, {found.Cols, {1024, 1087}}} {
		require.Greater(t, len(lines[0]), 32)
		for _, i := range lines[0] {
			require.True(t, i >= lines[1][0] && i <= lines[1][1], "line %d", i)
		}
	}
}

// Elements held one by one: rounding to nearest passes, truncation and one wrong element
// do not.
func TestAgainst(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 5))
	for _, s := range odd {
		rounded, cut := emptyHalf(s[0], s[1]), emptyHalf(s[0], s[1])
		exact := gaussian(rng, s[0], s[1])
		for i := range s[0] {
			for j := range s[1] {
				set(rounded, i, j, nearest(float32(exact.At(i, j))))
				set(cut, i, j, truncated(float32(exact.At(i, j))))
			}
		}
		of := func(i, j int) (float64, float64) { return exact.At(i, j), 0x1p-22 * math.Abs(exact.At(i, j)) }
		require.LessOrEqual(t, rounded.Against(of).Worst, 1.0)
		w := cut.Against(of)
		if s[0]*s[1] > 20 {
			require.Greater(t, w.Worst, 1.5)
		}
		require.Zero(t, w.Elements)
		set(rounded, s[0]-1, 0, 0x7fc0)
		w = rounded.Against(of)
		require.True(t, w.Isolated())
		require.Equal(t, [2]int{s[0] - 1, 0}, [2]int{w.Row, w.Col})
	}
}
