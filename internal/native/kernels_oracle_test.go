package native

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// The oracle of the verification kernels: the rules of verify_rule.h written a
// second time, on values instead of bits and without any closed form. What must
// come out is computed by reducing, rounding to the type after each step.

// element is an element type. For integers mant is 0; least is the lowest and
// most the highest exponent of a normal value.
type element struct {
	name        string
	code        int
	width, mant int
	signed      bool
}

func (e element) float() bool { return e.mant > 0 }
func (e element) bytes() int  { return e.width / 8 }
func (e element) bias() int   { return 1<<(e.width-2-e.mant) - 1 }

var elements = []element{
	{"int8", 0, 8, 0, true},
	{"uint8", 1, 8, 0, false},
	{"int32", 2, 32, 0, true},
	{"uint32", 3, 32, 0, false},
	{"int64", 4, 64, 0, true},
	{"uint64", 5, 64, 0, false},
	{"half", 6, 16, 10, true},
	{"float", 7, 32, 23, true},
	{"double", 8, 64, 52, true},
	{"bfloat16", 9, 16, 7, true},
}

var fp8 = []element{{"fp8e4m3", 10, 8, 3, true}, {"fp8e5m2", 11, 8, 2, true}}

const (
	opSum = iota
	opProd
	opMax
	opMin
	opAvg
	opMulsum
)

var opNames = []string{"sum", "prod", "max", "min", "avg", "mulsum"}

// value is one element: f for floats, else i as bits, modulo 2^width.
type value struct {
	f float64
	i uint64
}

// number interprets an integer's bits.
func (e element) number(bits uint64) *big.Int {
	bits &= math.MaxUint64 >> (64 - e.width)
	v := new(big.Int).SetUint64(bits)
	if e.signed && bits>>(e.width-1) == 1 {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(e.width)))
	}
	return v
}

// decode reads bits.
func (e element) decode(bits uint64) value {
	switch {
	case !e.float():
		return value{i: bits}
	case e.width == 64:
		return value{f: math.Float64frombits(bits)}
	}
	exponent := int(bits>>e.mant) & (1<<(e.width-1-e.mant) - 1)
	f := math.Ldexp(float64(bits&(1<<e.mant-1)+1<<e.mant), exponent-e.bias()-e.mant)
	switch {
	case bits<<(65-e.width) == 0:
		f = 0
	case exponent == 0 || exponent == 2*e.bias()+1:
		panic(fmt.Sprintf("%s %#x is not normal", e.name, bits))
	}
	if bits>>(e.width-1) == 1 {
		f = -f
	}
	return value{f: f}
}

// encode writes a value, and tells whether the type can hold it exactly, as a
// normal number. If not, which only a fault may lead to, the bits are a NaN's.
func (e element) encode(v value) (uint64, bool) {
	switch {
	case !e.float():
		return e.wrap(v.i), true
	case e.width == 64:
		return math.Float64bits(v.f), v.f == 0 || math.Abs(v.f) >= 0x1p-1022 && math.Abs(v.f) <= math.MaxFloat64
	case v.f == 0:
		return 0, true
	}
	fraction, exponent := math.Frexp(math.Abs(v.f))
	digits := uint64(math.Ldexp(fraction, e.mant+1))
	bits := uint64(exponent-1+e.bias())<<e.mant + digits - 1<<e.mant
	if exponent-1+e.bias() < 1 || exponent-1 > e.bias() || float64(digits) != math.Ldexp(fraction, e.mant+1) {
		return 1<<(e.width-1) - 1, false
	}
	if v.f < 0 {
		bits |= 1 << (e.width - 1)
	}
	return bits, true
}

// round to nearest even. Overflow and subnormals do not occur without a fault,
// and a fault only has to differ.
func (e element) round(x float64) float64 {
	if x == 0 || e.width == 64 || math.IsInf(x, 0) {
		return x
	}
	_, exponent := math.Frexp(x)
	unit := math.Ldexp(1, exponent-e.mant-1)
	return math.RoundToEven(x/unit) * unit
}

// apply reduces two values as a library would, in the type itself.
func (e element) apply(op int, a, b value) value {
	switch op {
	case opMax, opMin:
		less := a.f < b.f
		if !e.float() && e.signed {
			shift := 64 - e.width
			less = int64(a.i<<shift) < int64(b.i<<shift)
		} else if !e.float() {
			less = a.i < b.i
		}
		if less == (op == opMax) {
			return b
		}
		return a
	case opProd:
		return value{f: e.round(a.f * b.f), i: e.wrap(a.i * b.i)}
	}
	return value{f: e.round(a.f + b.f), i: e.wrap(a.i + b.i)}
}

func (e element) wrap(bits uint64) uint64 { return bits & (math.MaxUint64 >> (64 - e.width)) }

// quotient divides a sum by n: integers towards zero, floats to nearest even.
func (e element) quotient(v value, n int) value {
	if !e.float() {
		q := new(big.Int).Quo(e.number(v.i), big.NewInt(int64(n)))
		return value{i: e.wrap(q.And(q, new(big.Int).SetUint64(math.MaxUint64)).Uint64())}
	}
	q := new(big.Float).SetPrec(uint(e.mant + 1)).SetMode(big.ToNearestEven)
	q.Quo(new(big.Float).SetPrec(53).SetFloat64(v.f), new(big.Float).SetInt64(int64(n)))
	f, _ := q.Float64()
	return value{f: f}
}

// multiplier is what the library multiplies a rank's data by under mulsum.
func (e element) multiplier(rank int) uint64 {
	one := uint64(3)
	if e.float() {
		one = 2
	}
	if rank%2 == 1 {
		return one * one
	}
	return one
}

// multiply is what a library makes of a rank's data before it reduces them.
func (e element) multiply(op, rank int, v value) value {
	if op != opMulsum {
		return v
	}
	m := e.multiplier(rank)
	return value{f: e.round(v.f * float64(m)), i: e.wrap(v.i * m)}
}

// divide reverts multiply.
func (e element) divide(rank int, v value) value {
	m := e.multiplier(rank)
	if e.float() {
		return value{f: v.f / float64(m)}
	}
	inverse := new(big.Int).ModInverse(new(big.Int).SetUint64(m), new(big.Int).Lsh(big.NewInt(1), 64))
	return value{i: e.wrap(v.i * inverse.Uint64())}
}

// reduce merges the contributions in one of several orders.
func (e element) reduce(op int, order string, n int, given []value, rng *rand.Rand) value {
	list := append([]value(nil), given...)
	scaled := op == opAvg && e.float() && order != "ring"
	if scaled { // multiply by 1/n first, as NCCL does
		inverse := e.quotient(value{f: 1}, n)
		for i := range list {
			list[i].f = e.round(list[i].f * inverse.f)
		}
	}
	switch order {
	case "ring":
		for i := 1; i < len(list); i++ {
			list[0] = e.apply(op, list[0], list[i])
		}
	case "tree":
		for step := 1; step < len(list); step *= 2 {
			for i := 0; i+step < len(list); i += 2 * step {
				list[i] = e.apply(op, list[i], list[i+step])
			}
		}
	case "random":
		for len(list) > 1 {
			last := len(list) - 1
			i, j := rng.IntN(last), rng.IntN(last+1)
			list[j], list[last] = list[last], list[j]
			list[i] = e.apply(op, list[last], list[i])
			list = list[:last]
		}
	}
	if op == opAvg && !scaled {
		return e.quotient(list[0], n)
	}
	return list[0]
}

// A library rounds 1/n to double, to float and then to the type; for every n
// that may be, that is the rounding of 1/n, which the kernels have.
func TestKernelAverageRoundsOnce(t *testing.T) {
	for n := 1; n <= MaxVerifiedRanks; n++ {
		inverse := float64(float32(1 / float64(n)))
		for _, e := range elements {
			if e.float() && e.width < 64 && e.quotient(value{f: 1}, n).f != e.round(inverse) {
				t.Fatalf("%s %d", e.name, n)
			}
		}
	}
}
