package matrix

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// mostLines is the number of lines of a failed product that are recomputed element by element.
const mostLines = 16

// Wrong describes the defects of a product that failed its check.
type Wrong struct {
	// Elements is the number of wrong elements, which are off by more than rounding explains. Of is
	// the number of recomputed elements. Lines is the number of rows or columns that failed the
	// check.
	Elements, Of, Lines int
	// Rows and Cols are the first and the last row and column with a wrong element.
	Rows, Cols [2]int
	// Row and Col are the place of the element that is farthest off. Got is its value, Want is the
	// right value.
	Row, Col  int
	Got, Want float64
	// Worst is the error of that element as a share of the error that rounding explains.
	Worst float64
}

func nothingWrong(h Half) Wrong {
	return Wrong{Rows: [2]int{h.Rows, -1}, Cols: [2]int{h.Cols, -1}}
}

// hold compares one element. The argument `of` is a function that returns the element's value, the
// right value, and the largest error that rounding explains.
func (w *Wrong) hold(i, j int, of func(i, j int) (got, want, most float64)) {
	got, want, most := of(i, j)
	over := finite(math.Abs(got-want) / most)
	w.Of++
	if over > w.Worst {
		w.Worst, w.Row, w.Col, w.Got, w.Want = over, i, j, got, want
	}
	if over > 2 { // an error of up to 2 means that the element was rounded, but not to nearest
		w.Elements++
		w.Rows, w.Cols = spread(w.Rows, i), spread(w.Cols, j)
	}
}

// Against compares each element with its exact value before rounding. slack is the possible error
// of that value.
func (h Half) Against(of func(i, j int) (want, slack float64)) Wrong {
	w := nothingWrong(h)
	for i := range h.Rows {
		for j := range h.Cols {
			w.hold(i, j, func(i, j int) (float64, float64, float64) {
				want, slack := of(i, j)
				return h.At(i, j), want, h.number().halfUnit(want) + slack
			})
		}
	}
	return w
}

// Isolated reports whether only a few single elements are wrong, as after memory errors: fewer
// elements than a single store of 16 bytes writes.
func (w Wrong) Isolated() bool { return w.Elements > 0 && w.Elements <= 4 && w.Lines <= 4 }

// Text describes where the product is wrong and by how much.
func (w Wrong) Text() string {
	if w.Elements == 0 {
		return fmt.Sprintf("each of %d elements made again is near what it must be: rounding is coarser than to the nearest, or one-sided", w.Of)
	}
	return fmt.Sprintf("%d of %d elements made again are wrong, in rows %d to %d and columns %d to %d; row %d, column %d is %.4g, must be %.4g",
		w.Elements, w.Of, w.Rows[0], w.Rows[1], w.Cols[0], w.Cols[1], w.Row, w.Col, w.Got, w.Want)
}

// Wrong recomputes up to mostLines lines of the product in float64. It takes rows or columns that
// failed the check, whichever are fewer. If none failed, it takes rows at equal distances.
func (c *Claim) Wrong(found Residuals) Wrong {
	w := nothingWrong(c.C)
	hold := func(i, j int) { w.hold(i, j, c.element) }
	byColumn := len(found.Cols) > 0 && (len(found.Rows) == 0 || len(found.Cols) < len(found.Rows))
	if byColumn {
		w.Lines = len(found.Cols)
		for _, j := range some(found.Cols, c.C.Cols) {
			for i := range c.C.Rows {
				hold(i, j)
			}
		}
		return w
	}
	w.Lines = len(found.Rows)
	for _, i := range some(found.Rows, c.C.Rows) {
		for j := range c.C.Cols {
			hold(i, j)
		}
	}
	return w
}

// Function `some` returns up to mostLines of the given lines. If there are none, it returns lines
// at equal distances out of n.
func some(lines []int, n int) []int {
	if len(lines) == 0 {
		for i := range min(n, mostLines) {
			lines = append(lines, i*n/min(n, mostLines))
		}
	}
	slices.SortFunc(lines, cmp.Compare[int])
	return lines[:min(len(lines), mostLines)]
}

func spread(box [2]int, i int) [2]int { return [2]int{min(box[0], i), max(box[1], i)} }

// element returns the value of an element of C, the right value, and the largest error that
// rounding explains.
func (c *Claim) element(i, j int) (got, want, most float64) {
	x, y, s := c.A.Row(i, make([]float64, c.A.Cols)), c.B.Row(j, make([]float64, c.A.Cols)), 0.0
	if c.S != nil {
		s = c.S.At(i, j)
	}
	want = c.Alpha*dot(x, y) + c.Beta*s
	if i == j {
		want += c.Shift
	}
	got = c.C.At(i, j)
	return got, want, c.rounding(i, j, want, s, math.Sqrt(dot(x, x))*math.Sqrt(dot(y, y)))
}

// Sample returns the largest relative error of randomly chosen elements, after subtraction of the
// error of float sums in any order. If C is rounded to nearest, the result is at most 2^-8.
func (c *Claim) Sample(rng *rand.Rand, elements int) float64 {
	worst := 0.0
	for range elements {
		worst = math.Max(worst, c.relative(rng.IntN(c.C.Rows), rng.IntN(c.C.Cols)))
	}
	return worst
}

func (c *Claim) relative(i, j int) float64 {
	size, depth := 0.0, c.A.Cols
	x, y := c.A.Row(i, make([]float64, depth)), c.B.Row(j, make([]float64, depth))
	for k, v := range x {
		size += math.Abs(v * y[k])
	}
	got, want, _ := c.element(i, j)
	slack := math.Abs(c.Alpha) * size * float64(depth+4) * 0x1p-24
	if c.Split {
		slack += c.split(math.Abs(want), math.Sqrt(dot(x, x)*dot(y, y)))
	}
	if c.S != nil {
		slack += math.Abs(c.Beta*c.S.At(i, j)) * 0x1p-22
	}
	e := math.Abs(got-want) - slack
	switch {
	case math.IsNaN(e):
		return math.Inf(1)
	case e <= 0:
		return 0
	}
	return e / math.Abs(want)
}
