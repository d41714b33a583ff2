// Package matrix compares matrices of a GPU's element types with float64: whole products by
// Freivalds' check, and single elements.
package matrix

import (
	"cmp"
	"encoding/binary"
	"math"

	"gonum.org/v1/gonum/mat"
)

// Half is a matrix in memory: by rows, each Stride elements long.
type Half struct {
	Rows, Cols, Stride int
	Raw                []byte
	// Number is the element type; nil is bf16.
	Number *Number
}

func (h Half) number() *Number { return cmp.Or(h.Number, &bf16) }

// Bits returns the bits of an element of bf16.
func (h Half) Bits(i, j int) uint16 {
	return binary.LittleEndian.Uint16(h.Raw[2*(i*h.Stride+j):])
}

// At returns an element.
func (h Half) At(i, j int) float64 {
	n := h.number()
	return n.get(h.Raw[n.Bytes*(i*h.Stride+j):])
}

// Row decodes a row into a slice of Cols.
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

// Norm returns the root of the sum of squares.
func (h Half) Norm() float64 {
	sum, row := 0.0, make([]float64, h.Cols)
	for i := range h.Rows {
		h.Row(i, row)
		sum += dot(row, row)
	}
	return math.Sqrt(sum)
}

// Dense widens the matrix.
func (h Half) Dense() *mat.Dense {
	d := mat.NewDense(h.Rows, h.Cols, nil)
	for i := range h.Rows {
		h.Row(i, d.RawRowView(i))
	}
	return d
}

// NotTransposeOf counts elements whose bits differ from their mirror's in another matrix. With h
// itself, each asymmetric pair counts twice.
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

// Transposed returns a copy by columns.
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

// tiles walks rows and columns in squares, so that data accessed by columns stay in a cache for the
// length of a square.
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
