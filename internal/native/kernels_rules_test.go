package native

import (
	"math"
	"math/bits"
)

// rules are the oracle's contributions for one type, operator and world.
type rules struct {
	e     element
	op, n int
	seed  uint64
}

func mix64(z uint64) uint64 {
	z += 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// hash of an element; stream 0 for reduced data, else 1 + the source.
func hash(seed, index uint64, stream uint32) uint32 {
	key := mix64(seed ^ mix64(index>>32<<32|uint64(stream)))
	x := uint32(index) ^ uint32(key)
	x = (x ^ x>>16) * 0x7feb352d
	x = (x ^ x>>15) + uint32(key>>32)
	x *= 0x846ca68b
	return x ^ x>>16
}

// again is a second hash of an element.
func again(h uint32) uint32 {
	g := h * 0x9e3779b1
	return g ^ g>>15
}

// wide gives as many hash bits as the type has.
func (e element) wide(h uint32) uint64 {
	if e.width == 64 {
		x := uint64(h) * 0x9e3779b97f4a7c15
		return x ^ x>>32
	}
	return e.wrap(uint64(h))
}

// any is any value: of floats the exponent's second bit is not its first.
func (e element) any(h uint32) uint64 {
	v := e.wide(h)
	if e.float() {
		first, second := uint64(1)<<(e.width-2), uint64(1)<<(e.width-3)
		v &^= second
		if v&first == 0 {
			v |= second
		}
	}
	return v
}

func (r rules) holder(index uint64) int {
	turn := uint32(mix64(r.seed^mix64(^(index/4096)))) % uint32(r.n)
	return int((uint32(index%4096) + turn) % uint32(r.n))
}

// in tells whether the rank is its group's member; groups are of 2^k.
func (r rules) in(h uint32, rank, k int) bool {
	return int(h*(uint32(mix64(uint64(rank>>k)))|1)>>(32-k)) == rank%(1<<k)
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }

// weight is rank's in a sum whose weights, one rank twice, may reach top.
// Without room for any set it is the holder's alone.
func (r rules) weight(h uint32, index uint64, rank int, top float64) int {
	if float64(r.n+ceilDiv(r.n, 2)+2) <= top {
		return 1 + count(r.in(h, rank, 1))
	}
	for k := 1; 1<<k <= r.n; k++ {
		if float64(ceilDiv(r.n, 1<<k)+1) <= top {
			return count(r.in(h, rank, k))
		}
	}
	return count(rank == r.holder(index))
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// gives is what rank contributes to element index.
func (r rules) gives(index uint64, rank int) value {
	if r.op == opMulsum {
		sum := r
		sum.op = opSum
		return r.e.divide(rank, sum.gives(index, rank))
	}
	h := hash(r.seed, index, 0)
	switch {
	case r.op == opMax || r.op == opMin:
		return r.extreme(h, index, rank)
	case r.op == opProd:
		return r.factor(h, index, rank)
	case r.e.float():
		return r.scaled(h, index, rank)
	case r.op == opAvg:
		return r.dividend(h, index, rank)
	}
	unit := r.e.wide(h) | 1
	if r.e.signed && h>>31 == 1 {
		unit = -unit
	}
	v := unit * uint64(r.weight(h, index, rank, math.Inf(1)))
	if r.holder(index) == rank {
		v += r.e.wide(again(h)) &^ 3
	}
	return value{i: r.e.wrap(v)}
}

// exponents gives the lowest exponent and how many there are.
func (r rules) exponents() (low, number int) {
	if r.e.bias() != 15 {
		return -32, 64
	}
	log := bits.Len(uint(r.n - 1)) // ceil of log2 n
	span := map[bool]int{true: 4, false: 14}[r.power()] - (log - 14) + 1
	switch r.op {
	case opProd:
		return -8, 16
	case opSum:
		return -12, 16
	}
	return log - 14, 1 << (bits.Len(uint(span)) - 1)
}

func (r rules) power() bool { return r.n&(r.n-1) == 0 }

func (r rules) scaled(h uint32, index uint64, rank int) value {
	low, number := r.exponents()
	top := math.Ldexp(1, r.e.mant+1)
	if r.op == opAvg && !r.power() {
		top = 0
	}
	v := math.Ldexp(float64(r.weight(h, index, rank, top)), low+int(h)&(number-1))
	if h>>31 == 1 && v != 0 {
		v = -v
	}
	return value{f: v}
}

func (r rules) factor(h uint32, index uint64, rank int) value {
	in, holds := r.in(h, rank, 1), r.holder(index) == rank
	if !r.e.float() {
		v := uint64(0xaaaaaaaaaaaaaaab)
		if in {
			v = 3
		}
		if holds {
			v *= r.e.wide(h) | 1
		}
		return value{i: r.e.wrap(v)}
	}
	few := map[string]int{"half": 6, "bfloat16": 60, "float": 60, "double": 900}[r.e.name]
	v := 1.0
	if r.n <= few {
		v = math.Ldexp(1, 2*int(h>>30&1)-1)
	}
	if in {
		v = -v
	}
	if holds {
		low, number := r.exponents()
		v = math.Ldexp(v, low+int(h)&(number-1))
		if h>>31 == 1 {
			v = -v
		}
	}
	return value{f: v}
}

func (r rules) extreme(h uint32, index uint64, rank int) value {
	g := again(h)
	one, other := r.e.any(h), r.e.any(g)
	if g>>31 == 1 || one == other {
		other = one ^ 1
	}
	a, b := r.e.decode(one), r.e.decode(other)
	best := r.e.apply(r.op, a, b)
	if (best == a) == (r.holder(index) == rank) {
		return a
	}
	return b
}

func (r rules) dividend(h uint32, index uint64, rank int) value {
	most := r.e.wrap(math.MaxUint64)
	if r.e.signed {
		most >>= 1
	}
	n := uint64(r.n)
	room, weight, worth := uint64(0), 0, n
	sets := func(weights int) bool {
		room = most / (n * uint64(weights))
		return most/(8*n) >= uint64(weights)
	}
	if sets(r.n + ceilDiv(r.n, 2) + 2) {
		weight = 1 + count(r.in(h, rank, 1))
	} else {
		k := 1
		for 1<<k <= r.n && !sets(ceilDiv(r.n, 1<<k)+1) {
			k++
		}
		weight = count(r.in(h, rank, k%32))
		if 1<<k > r.n {
			room, weight = most/n, count(r.holder(index) == rank)
		}
	}
	var unit uint64
	switch room {
	case 0:
		unit, worth = 1, most
	case 1:
		unit = r.e.wide(h) & 1
	default:
		unit = 1 + r.e.wide(h)&(1<<(min(bits.Len64(room), 17)-1)-1)
	}
	if r.e.signed && h>>31 == 1 {
		unit = -unit
	}
	return value{i: r.e.wrap(unit * worth * uint64(weight))}
}
