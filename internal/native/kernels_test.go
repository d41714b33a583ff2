package native

import (
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"zbench/test/longtest"
)

// tensor is a buffer of elements with a guard behind them.
type tensor struct {
	e     element
	count int
	bytes []byte
}

const (
	guard  = 16
	poison = uint32(0xdeadbeef)
)

func newTensor(e element, count int) tensor {
	t := tensor{e, count, make([]byte, (count+guard)*e.bytes())}
	for i := range t.bytes {
		t.bytes[i] = byte(poison >> (8 * (i % 4)))
	}
	return t
}

func (t tensor) at(i int) uint64 {
	var bits uint64
	for b := range t.e.bytes() {
		bits |= uint64(t.bytes[i*t.e.bytes()+b]) << (8 * b)
	}
	return bits
}

func (t tensor) set(i int, bits uint64) {
	for b := range t.e.bytes() {
		t.bytes[i*t.e.bytes()+b] = byte(bits >> (8 * b))
	}
}

// intact tells whether nothing was written behind the elements.
func (t tensor) intact() bool {
	fresh := newTensor(t.e, t.count)
	end := t.count * t.e.bytes()
	return string(t.bytes[end:]) == string(fresh.bytes[end:])
}

func address[T any](p *T) unsafe.Pointer { return unsafe.Pointer(p) }

// geometry of a launch; threads of 0 is the folded way of the loopback.
type geometry struct{ grid, threads uint32 }

var folded = geometry{1024, 0}

// job is what the kernels are told.
type job struct {
	e           element
	op, kind, n int
	block       int
	src0, step  int
	base, seed  uint64
	geometry
}

func (j job) launch(t testing.TB, kernel string, args ...any) {
	require.NoError(t, runKernel(kernel, line(j.grid, max(j.threads, 1)), j.threads == 0, args...))
}

func (j job) fill(t testing.TB, b tensor, rank int) {
	j.launch(t, "zb_fill", address(&b.bytes[0]), b.count, j.e.code, j.op, j.kind, rank, j.n,
		j.base, j.seed)
	require.True(t, b.intact(), "written behind the end")
}

// found is what a check says.
type found struct {
	wrong, first, seen uint64
	expected, got      uint64
}

func (j job) check(t testing.TB, b tensor) found {
	out := []uint64{0, ^uint64(0), 0, 0}
	args := []any{
		address(&b.bytes[0]), b.count, j.e.code, j.op, j.kind, j.n, j.block, j.src0, j.step, j.base, j.seed,
		address(&out[0]),
	}
	j.launch(t, "zb_check", args...)
	f := found{wrong: out[0], first: out[1], seen: out[2]}
	if f.wrong > 0 {
		j.launch(t, "zb_explain", append(args[:11:11], out[1], address(&out[0]))...)
		f.expected, f.got = out[2], out[3]
	}
	return f
}

// fine is what a check of count elements says that finds nothing.
func fine(count int) found { return found{0, ^uint64(0), uint64(count), 0, 0} }

var (
	worlds = []int{1, 2, 3, 8, 16, 255, 256, 257, 1000, 1024, 2160}
	// where rows end, and where an index needs its high half
	bases = []uint64{0, 4096*7 - 5, 1<<32 - 9, 1<<40 + 4096*3 - 11}
)

func forAll(t *testing.T, n []int, f func(t *testing.T, j job, rng *rand.Rand)) {
	for _, e := range elements {
		for op := range opNames {
			t.Run(e.name+"/"+opNames[op], func(t *testing.T) {
				rng := rand.New(rand.NewPCG(uint64(e.code), uint64(op)))
				for _, n := range n {
					f(t, job{
						e: e, op: op, n: n, base: bases[rng.IntN(len(bases))], seed: rng.Uint64(),
						geometry: folded,
					}, rng)
				}
			})
		}
	}
}

// Every rank's contribution is the oracle's; reduced in any order they give,
// with every step exact, the bits that zb_check expects.
func TestKernelReducedExactInAnyOrder(t *testing.T) {
	reducedExactInAnyOrder(t, func(n int) int { // elements
		if n > 257 {
			return 5
		}
		return 24
	})
}

func TestLongKernelReducedExactInAnyOrder(t *testing.T) {
	longtest.Only(t)
	reducedExactInAnyOrder(t, func(int) int { return 24 })
}

func reducedExactInAnyOrder(t *testing.T, elements func(n int) int) {
	t.Helper()
	forAll(t, few(worlds), func(t *testing.T, j job, rng *rand.Rand) {
		count := elements(j.n)
		r := rules{j.e, j.op, j.n, j.seed}
		given := make([][]value, count)
		b := newTensor(j.e, count)
		for rank := range j.n {
			j.fill(t, b, rank)
			for i := range given {
				v := r.gives(j.base+uint64(i), rank)
				if bits, ok := j.e.encode(v); !ok || bits != b.at(i) { // require alone takes most of the time
					require.Equal(t, bits, b.at(i), "n %d rank %d element %d: %v", j.n, rank, i, v)
					require.True(t, ok, "n %d rank %d element %d: %v", j.n, rank, i, v)
				}
				given[i] = append(given[i], j.e.multiply(j.op, rank, v))
			}
		}
		for _, order := range []string{"ring", "tree", "random"} {
			for i := range given {
				bits, ok := j.e.encode(j.e.reduce(j.op, order, j.n, given[i], rng))
				if !ok {
					t.Fatalf("n %d element %d", j.n, i)
				}
				b.set(i, bits)
			}
			require.Equal(t, fine(count), j.check(t, b), "n %d, %s", j.n, order)
		}
		i, bit := rng.IntN(count), uint64(1)<<rng.IntN(j.e.width)
		was := b.at(i)
		b.set(i, was^bit)
		require.Equal(t, found{1, uint64(i), uint64(count), was, was ^ bit}, j.check(t, b), "n %d", j.n)
	})
}

// sources fills a received buffer of blocks as an all_gather would.
func (j job) sources(t testing.TB, blocks int) tensor {
	b := newTensor(j.e, blocks*j.block)
	for k := range blocks {
		one := newTensor(j.e, j.block)
		j.fill(t, one, (((j.src0+k*j.step)%j.n)+j.n)%j.n)
		copy(b.bytes[k*j.block*j.e.bytes():(k+1)*j.block*j.e.bytes()], one.bytes)
	}
	return b
}

func TestKernelCopied(t *testing.T) {
	for _, e := range append(fp8, elements...) {
		t.Run(e.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(uint64(e.code), 1))
			for _, shape := range [][4]int{{1, 1, 0, 0}, {8, 65, 0, 1}, {7, 4097, 3, 0}, {3, 63, 2, -1}, {300, 16, 299, 1}} {
				j := job{
					e: e, kind: KindCopied, n: shape[0], block: shape[1], src0: shape[2], step: shape[3],
					base: bases[rng.IntN(len(bases))], seed: rng.Uint64(), geometry: folded,
				}
				b := j.sources(t, j.n)
				for i := range b.count {
					source := ((j.src0+i/j.block*j.step)%j.n + j.n) % j.n
					bits := e.any(hash(j.seed, j.base+uint64(i%j.block), uint32(source+1)))
					require.Equal(t, bits, b.at(i), "%v element %d", shape, i)
					e.decode(bits) // panics unless it is a normal number
				}
				require.Equal(t, fine(b.count), j.check(t, b))
				i, bit := rng.IntN(b.count), uint64(1)<<rng.IntN(e.width)
				was := b.at(i)
				b.set(i, was^bit)
				require.Equal(t, found{1, uint64(i), uint64(b.count), was, was ^ bit}, j.check(t, b))
			}
		})
	}
}

// A launch as a GPU makes it, thread by thread, at awkward counts and grids,
// writes and finds what the folded one does.
func TestKernelGeometry(t *testing.T) {
	for _, e := range append(fp8, elements...) {
		for _, count := range []int{1, 63, 65, 4097, 3*4096 + 1} {
			for _, g := range []geometry{{1, 1}, {3, 37}, {7, 256}} {
				j := job{
					e: e, op: opSum, kind: KindReduced, n: 8, block: 100, step: 1, base: bases[1], seed: 9,
					geometry: folded,
				}
				if e.width == 8 && e.float() {
					j.kind = KindCopied
				}
				exact := j
				exact.geometry = g
				b, same := newTensor(e, count), newTensor(e, count)
				j.fill(t, b, 5)
				exact.fill(t, same, 5)
				require.Equal(t, b.bytes, same.bytes, "%s %d %v", e.name, count, g)
				f := j.check(t, b)
				require.Equal(t, f, exact.check(t, b), "%s %d %v", e.name, count, g)
				require.EqualValues(t, count, f.seen)
			}
		}
	}
}

func TestKernelPoison(t *testing.T) {
	for _, g := range []geometry{folded, {3, 37}} {
		for _, offset := range []int{0, 1, 4} {
			for _, count := range []int{1, 3, 4, 63, 4097, 5 * 4096} {
				b := make([]byte, offset+count+8)
				job{geometry: g}.launch(t, "zb_poison", address(&b[offset]), count, poison)
				for i, got := range b {
					want := byte(0)
					if k := i - offset; k >= 0 && k < count {
						want = byte(poison >> (8 * (k % 4)))
					}
					require.Equal(t, want, got, "%v offset %d count %d byte %d", g, offset, count, i)
				}
			}
		}
	}
}

// What there is no rule for must not pass for right.
func TestKernelFailsClosed(t *testing.T) {
	half := elements[6]
	for name, j := range map[string]job{
		"no such type":     {e: element{"", 12, 16, 10, true}, n: 8, block: 5},
		"negative type":    {e: element{"", -1, 16, 10, true}, n: 8, block: 5},
		"fp8 reduced":      {e: element{"", 10, 8, 3, true}, n: 8, block: 5},
		"no such operator": {e: half, op: len(opNames), n: 8, block: 5},
		"no such kind":     {e: half, kind: 2, n: 8, block: 5},
		"no ranks":         {e: half, n: 0, block: 5},
		"too many ranks":   {e: half, n: MaxVerifiedRanks + 1, block: 5},
		"no block":         {e: half, kind: KindCopied, n: 8},
	} {
		t.Run(name, func(t *testing.T) {
			for _, j.geometry = range []geometry{folded, {3, 37}} {
				b := newTensor(j.e, 100)
				fresh := string(b.bytes)
				f := j.check(t, b)
				require.EqualValues(t, 100, f.wrong)
				require.EqualValues(t, 0, f.first)
				if j.block > 0 {
					j.fill(t, b, 0)
				}
				require.Equal(t, fresh, string(b.bytes))
			}
		})
	}
	require.Error(t, runKernel("zb_nothing", line(1, 1), true))
	require.Error(t, runKernel("zb_poison", line(1, 1), true, 0))
}

// few leaves the large worlds out where the sanitizers make them slow.
func few(worlds []int) []int {
	if !testing.Short() {
		return worlds
	}
	return slices.DeleteFunc(slices.Clone(worlds), func(n int) bool { return n > 64 })
}
