package gemm

import (
	"fmt"
	"math/bits"
)

// Tile is the part of C that one block of threads computes, in rows and columns.
type Tile struct{ M, N int64 }

func (t Tile) String() string { return fmt.Sprintf("%dx%d", t.M, t.N) }

// Tiles returns the tiles with which kernels come close to the rate of the matrix units, the
// largest first. Smaller tiles load their operands too often.
func Tiles() []Tile { return []Tile{{256, 256}, {256, 128}, {128, 256}, {128, 128}} }

// Filling describes how the tiles of a product fill the compute units, if each unit computes one
// tile at a time. Kernels that also divide the depth lose less.
type Filling struct {
	Tile Tile
	// Tiles is the number of tiles in the whole batch. Waves is the number of rounds in which all
	// units compute one tile each.
	Tiles, Waves int64
	// Edge is the share of the tiles' area that lies beyond the edges of C. Idle is the share of
	// the units' time without a tile. Lost is the share that both lose together. Each is from 0 to
	// 1.
	Edge, Idle, Lost float64
}

// Fill describes the filling of a number of units by tiles of one size.
func Fill(s Shape, t Tile, units int) Filling {
	rows, cols, u := ceil(s.M, t.M), ceil(s.N, t.N), int64(max(1, units))
	f := Filling{Tile: t, Tiles: rows * cols * s.Batch}
	f.Waves = ceil(f.Tiles, u)
	f.Edge = 1 - float64(s.M)*float64(s.N)/(float64(rows*t.M)*float64(cols*t.N))
	f.Idle = 1 - float64(f.Tiles)/float64(f.Waves*u)
	f.Lost = 1 - (1-f.Edge)*(1-f.Idle)
	return f
}

// Best returns the filling that loses least. Among equal fillings it returns the one with the
// larger tile.
func Best(s Shape, units int) Filling {
	var best Filling
	for i, t := range Tiles() {
		if f := Fill(s, t, units); i == 0 || f.Lost < best.Lost {
			best = f
		}
	}
	return best
}

func ceil(a, b int64) int64 { return (a + b - 1) / b }

// leastStride is the row length, in bytes, from which powers of two matter: rows at such a distance
// begin in the same channel and bank.
const leastStride = 4096

// Strides names the matrices among A, B and C whose rows are a power of two of bytes apart, 4 KiB
// or more. The arguments are sizes of elements in bytes: the first for A and B, and the second for
// C.
func (s Shape) Strides(in, out int64) string {
	a, b, c := s.Sides()
	var flagged []byte
	for i, bytes := range []int64{a[1] * in, b[1] * in, c[1] * out} {
		if bytes >= leastStride && bits.OnesCount64(uint64(bytes)) == 1 {
			flagged = append(flagged, "ABC"[i])
		}
	}
	return string(flagged)
}
