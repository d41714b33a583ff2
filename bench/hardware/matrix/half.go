// Package matrix compares matrices of a GPU's element types with float64 results: whole products by
// Freivalds' check, and single elements.
package matrix

import (
	"cmp"
	"encoding/binary"
	"math"

	"gonum.org/v1/gonum/mat"
)

// Half is a matrix in memory, row by row. Rows are Stride elements apart.
type Half struct {
	Rows, Cols, Stride int
	Raw                []byte
	// Number is the element type; nil means bf16.
	Number *Number
}

func (h Half) number() *Number { return cmp.Or(h.Number, &bf16) }

// Bits returns the bits of a bf16 element.
func (h Half) Bits(i, j int) uint16 {
	return binary.LittleEndian.Uint16(h.Raw[2*(i*h.Stride+j):])
}

// At returns the value of an element.
func (h Half) At(i, j int) float64 {
	n := h.number()
	return n.get(h.Raw[n.Bytes*(i*h.Stride+j):])
}

// Row decodes a row into a slice of Cols elements and returns the slice.
func (h Half) Row(i int, into []float64) []float64 {
	n := h.number()
	raw := h.Raw[n.Bytes*i*h.Stride:][:n.Bytes*h.Cols]
	if n != &bf16 {
		for j := range into {
			into[j] = n.get(raw[n.Bytes*j:])
		}
		return into
	}
	for j := range into {
		into[j] = float64(FromBF16(uint16(raw[2*j]) | uint16(raw[2*j+1])<<8))
	}
	return into
}

// Norm returns the Frobenius norm.
func (h Half) Norm() float64 {
	sum, row := 0.0, make([]float64, h.Cols)
	for i := range h.Rows {
		h.Row(i, row)
		sum += dot(row, row)
	}
	return math.Sqrt(sum)
}

// Dense converts the matrix to float64.
func (h Half) Dense() *mat.Dense {
	d := mat.NewDense(h.Rows, h.Cols, nil)
	for i := range h.Rows {
		h.Row(i, d.RawRowView(i))
	}
	return d
}

// NotTransposeOf counts the elements whose bits differ from the bits at the transposed place of
// another matrix. If the other matrix is h itself, each asymmetric pair counts twice.
func (h Half) NotTransposeOf(of Half) int {
	differ := 0
	parallel(h.Rows, func(from, to int) func() {
		part := 0
		tiles(from, to, h.Cols, func(i, j int) {
			if h.Bits(i, j) != of.Bits(j, i) {
				part++
			}
		})
		return func() { differ += part }
	})
	return differ
}

// Transposed returns a transposed copy.
func (h Half) Transposed() Half {
	size := h.number().Bytes
	t := Half{h.Cols, h.Rows, h.Rows, make([]byte, size*h.Rows*h.Cols), h.Number}
	parallel(h.Rows, func(from, to int) func() {
		tiles(from, to, h.Cols, func(i, j int) {
			into, of := size*(j*t.Stride+i), size*(i*h.Stride+j)
			for k := range size {
				t.Raw[into+k] = h.Raw[of+k]
			}
		})
		return func() {}
	})
	return t
}

// tiles visits rows and columns in small squares. Data that are accessed by columns then stay in a
// cache until the square is done.
func tiles(from, to, cols int, do func(i, j int)) {
	const side = 8
	for top := from; top < to; top += side {
		for left := 0; left < cols; left += side {
			for i := top; i < min(top+side, to); i++ {
				for j := left; j < min(left+side, cols); j++ {
					do(i, j)
				}
			}
		}
	}
}
