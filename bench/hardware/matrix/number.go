package matrix

import (
	"encoding/binary"
	"math"
	"sort"
	"sync"
)

// Number is an element type of matrices.
type Number struct {
	// Name is zbench's name of the type. Bytes is the size of an element.
	Name  string
	Bytes int
	// half is half a unit in the last place of 1. smallest is the smallest normal number.
	half     float64
	smallest float64
	get      func([]byte) float64
	put      func([]byte, float64)
}

// Names of the types. FP8 is e4m3 of the Open Compute Project. FP8FNUZ is the form of gfx942, which
// has no infinities, no negative zero and a single not-a-number.
const (
	BF16    = "bfloat16"
	FP16    = "float16"
	F32     = "float32"
	FP8     = "float8_e4m3"
	FP8FNUZ = "float8_e4m3fnuz"
)

var bf16 = Number{
	BF16, 2, 0x1p-8, 0x1p-126,
	func(b []byte) float64 { return float64(FromBF16(binary.LittleEndian.Uint16(b))) },
	func(b []byte, v float64) { binary.LittleEndian.PutUint16(b, ToBF16(float32(v))) },
}

// numbers returns all types. The tables of small types are made on first use, so that only a
// process that checks a product makes them.
var numbers = sync.OnceValue(func() []*Number {
	return []*Number{
		&bf16,
		small(FP16, 5, 10, 15, 0x1p-14, 2),
		{
			F32, 4, 0x1p-24, 0x1p-126,
			func(b []byte) float64 { return float64(math.Float32frombits(binary.LittleEndian.Uint32(b))) },
			func(b []byte, v float64) { binary.LittleEndian.PutUint32(b, math.Float32bits(float32(v))) },
		},
		small(FP8, 4, 3, 7, 0x1p-6, 1),
		small(FP8FNUZ, 4, 3, 8, 0x1p-7, 1),
	}
})

// NumberOf returns a type by its name, or nil if the name is unknown.
func NumberOf(name string) *Number {
	for _, n := range numbers() {
		if n.Name == name {
			return n
		}
	}
	return nil
}

// Put writes v at the beginning of a slice, rounded to the nearest number, ties to even.
func (n *Number) Put(to []byte, v float64) { n.put(to, v) }

// Get reads the number at the beginning of a slice.
func (n *Number) Get(from []byte) float64 { return n.get(from) }

// halfUnit returns half a unit in the last place of v, but at least the smallest normal number,
// because a GPU may flush smaller numbers to zero.
func (n *Number) halfUnit(v float64) float64 {
	bits := math.Float64bits(v) &^ (1<<63 | 1<<52 - 1) // the power of two at or below v
	return max(math.Float64frombits(bits)*n.half, n.smallest)
}

// small makes a type of at most 16 bits, with a table of its positive numbers.
func small(name string, exponent, digits, bias int, smallest float64, bytes int) *Number {
	half := 1 << (exponent + digits)
	table := make([]float64, 0, half)
	for bits := range half {
		e, f := bits>>digits, float64(bits&(1<<digits-1))
		v := math.Ldexp(f, 1-bias-digits)
		if e > 0 {
			v = math.Ldexp(1+math.Ldexp(f, -digits), e-bias)
		}
		switch {
		case name == FP16 && e == 1<<exponent-1 && f == 0:
			v = math.Inf(1)
		case name == FP16 && e == 1<<exponent-1, name == FP8 && bits == half-1:
			v = math.NaN()
		}
		table = append(table, v)
	}
	finite := sort.Search(half, func(i int) bool { return math.IsNaN(table[i]) || math.IsInf(table[i], 0) })
	load := func(b []byte) int {
		if bytes == 1 {
			return int(b[0])
		}
		return int(binary.LittleEndian.Uint16(b))
	}
	return &Number{
		name, bytes, math.Ldexp(1, -digits-1), smallest,
		func(b []byte) float64 {
			bits := load(b)
			if name == FP8FNUZ && bits == half {
				return math.NaN()
			}
			v := table[bits&(half-1)]
			if bits >= half {
				return -v
			}
			return v
		},
		func(b []byte, v float64) {
			bits := nearest(table[:finite], math.Abs(v))
			if v < 0 && (bits > 0 || name != FP8FNUZ) {
				bits |= half
			}
			b[0] = byte(bits)
			if bytes == 2 {
				b[1] = byte(bits >> 8)
			}
		},
	}
}

// nearest returns the index of the number nearest to v. A tie goes to the even index. Beyond the
// table's last number it returns the last index.
func nearest(table []float64, v float64) int {
	i := sort.SearchFloat64s(table, v)
	switch {
	case i == len(table):
		return i - 1
	case i == 0 || table[i] == v:
		return i
	}
	below, above := v-table[i-1], table[i]-v
	if below < above || below == above && i%2 == 1 {
		return i - 1
	}
	return i
}

// RoundBF16 rounds to bfloat16, to nearest and ties to even.
func RoundBF16(v float64) float64 {
	return float64(FromBF16(ToBF16(float32(v))))
}

// ToBF16 rounds a float to the bits of a bfloat16, to nearest, ties to even.
func ToBF16(v float32) uint16 {
	u := math.Float32bits(v)
	if u&0x7fffffff > 0x7f800000 {
		return uint16(u>>16) | 0x40
	}
	return uint16((u + 0x7fff + u>>16&1) >> 16)
}

// FromBF16 widens a bfloat16.
func FromBF16(bits uint16) float32 { return math.Float32frombits(uint32(bits) << 16) }
