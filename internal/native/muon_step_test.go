package native

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"zbench/bench/hardware/matrix"
	"zbench/test/longtest"
)

// arena holds what one launch works on, as a device's memory would.
type arena struct {
	memory  []byte
	tensors []MuonTensor
	bf16    bool // the gradients
	chunks  uint32
	tiles   uint32
	partial []float32
	inverse []float32
}

const arenaPoison = 0xa5

func align(n uint64) uint64 { return (n + 15) / 16 * 16 }

func part[T any](a *arena, at uint64, n int) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(&a.memory[at])), n)
}

// newArena lays tensors of the shapes out and fills them with random numbers,
// between rows and tensors with poison.
func newArena(shapes [][2]int, bf16 bool, rng *rand.Rand) *arena {
	a := &arena{bf16: bf16}
	var at uint64
	take := func(bytes int) uint64 {
		from := at
		at = align(at + uint64(bytes) + 1) // never without a gap
		return from
	}
	for _, s := range shapes {
		n, half := s[0]*s[1], 2*s[0]*MuonPadded(s[1])
		size := 4
		if bf16 {
			size = 2
		}
		a.tensors = append(a.tensors, MuonTensor{
			Gradient: take(size * n), Momentum: take(4 * n), Weight: take(4 * n), Cast: take(half),
			Flipped: take(2 * s[1] * MuonPadded(s[0])), Update: take(half), Rows: uint32(s[0]), Cols: uint32(s[1]),
			Chunk: a.chunks, Tile: a.tiles, Scale: rng.Float32() + 0.5,
		})
		a.chunks += uint32(MuonChunks(s[0], s[1]))
		a.tiles += uint32(MuonTiles(s[0], s[1]))
	}
	a.memory = make([]byte, at+1024)
	for i := range a.memory {
		a.memory[i] = arenaPoison
	}
	a.partial, a.inverse = make([]float32, a.chunks+256), make([]float32, len(shapes)+256)
	for _, t := range a.tensors {
		n := int(t.Rows * t.Cols)
		for _, p := range [][]float32{a.gradient(t), part[float32](a, t.Momentum, n), part[float32](a, t.Weight, n)} {
			for i := range p {
				p[i] = float32(rng.IntN(2048)-1024) / 256
			}
		}
		if bf16 {
			for i, p := 0, part[uint16](a, t.Gradient, n); i < n; i++ {
				p[i] = matrix.ToBF16(float32(rng.IntN(2048)-1024) / 256)
			}
		}
		for i, p := 0, part[uint16](a, t.Update, int(t.Rows)*MuonPadded(int(t.Cols))); i < len(p); i++ {
			p[i] = matrix.ToBF16(float32(rng.IntN(2048)-1024) / 256)
		}
	}
	return a
}

func (a *arena) gradient(t MuonTensor) []float32 {
	if a.bf16 {
		return nil
	}
	return part[float32](a, t.Gradient, int(t.Rows*t.Cols))
}

// only is a copy of the memory, for the launch of one of its tensors alone.
func (a *arena) only(i int) *arena {
	t := a.tensors[i]
	t.Chunk, t.Tile = 0, 0
	rows, cols := int(t.Rows), int(t.Cols)
	return &arena{
		memory: slices.Clone(a.memory), tensors: []MuonTensor{t}, bf16: a.bf16, chunks: uint32(MuonChunks(rows, cols)),
		tiles: uint32(MuonTiles(rows, cols)), partial: make([]float32, len(a.partial)), inverse: make([]float32, 257),
	}
}

const (
	testBeta, testRate, testDecay = float32(0.95), float32(0.02), float32(0.1)
	testSafety, testEpsilon       = float32(1.02), float32(1e-7)
)

// run makes the four launches of a step, without the products between them.
func (a *arena) run(t testing.TB, nesterov bool) {
	memory, tensors, n := address(&a.memory[0]), address(&a.tensors[0]), len(a.tensors)
	step := func(name string, grid, threads uint32, args ...any) {
		require.NoError(t, runKernel(name, line(grid, threads), false, args...))
	}
	step("zb_muon_prepare", a.chunks, MuonThreads, memory, tensors, n, testBeta, b2i(nesterov), b2i(a.bf16), address(&a.partial[0]))
	step("zb_muon_norm", uint32(n), MuonThreads, tensors, n, a.chunks, address(&a.partial[0]), testSafety, testEpsilon, address(&a.inverse[0]))
	step("zb_muon_orient", a.tiles, 4, memory, tensors, n, address(&a.inverse[0]))
	step("zb_muon_apply", a.chunks, MuonThreads, memory, tensors, n, testRate, testDecay)
}

// want is what a step leaves of the memory, tensor after tensor in plain loops,
// in float where the kernels compute in float. The norms are the kernel's.
func (a *arena) want(t testing.TB, nesterov bool, before []byte, inverse []float32) []byte {
	w := &arena{memory: slices.Clone(before), bf16: a.bf16}
	keep := 1 - float32(testRate*testDecay)
	for k, x := range a.tensors {
		rows, cols := int(x.Rows), int(x.Cols)
		ld, flippedLd := MuonPadded(cols), MuonPadded(rows)
		momentum, weight := part[float32](w, x.Momentum, rows*cols), part[float32](w, x.Weight, rows*cols)
		cast, flipped := part[uint16](w, x.Cast, rows*ld), part[uint16](w, x.Flipped, cols*flippedLd)
		update := part[uint16](w, x.Update, rows*ld)
		clear(cast)
		clear(flipped)
		by, squares := float32(testRate*x.Scale), 0.0
		for i := range rows * cols {
			var g float32
			if a.bf16 {
				g = matrix.FromBF16(part[uint16](w, x.Gradient, rows*cols)[i])
			} else {
				g = part[float32](w, x.Gradient, rows*cols)[i]
			}
			momentum[i] += float32((1 - testBeta) * float32(g-momentum[i]))
			u := momentum[i]
			if nesterov {
				u = g + float32(testBeta*float32(momentum[i]-g))
			}
			half := matrix.FromBF16(matrix.ToBF16(u))
			squares += float64(half) * float64(half)
			bits := matrix.ToBF16(float32(half * inverse[k]))
			cast[i/cols*ld+i%cols], flipped[i%cols*flippedLd+i/cols] = bits, bits
			weight[i] = float32(keep*weight[i]) - float32(by*matrix.FromBF16(update[i/cols*ld+i%cols]))
		}
		require.InEpsilon(t, 1/(float64(testSafety)*math.Sqrt(squares)+float64(testEpsilon)), inverse[k], 1e-5, "norm of %dx%d", rows, cols)
	}
	return w.memory
}

func (a *arena) check(t testing.TB, nesterov bool) {
	before := slices.Clone(a.memory)
	a.run(t, nesterov)
	want := a.want(t, nesterov, before, a.inverse)
	for i := range want {
		if want[i] != a.memory[i] { // an equality of 200 MB would print them
			for k, x := range a.tensors {
				if uint64(i) < x.Update {
					t.Fatalf("byte %d differs: tensor %d, %+v", i, k, x)
				}
			}
			t.Fatalf("byte %d differs", i)
		}
	}
}

// shapesOf are n random shapes with 1 to most elements, small ones as often as
// large ones.
func shapesOf(n int, most float64, rng *rand.Rand) [][2]int {
	shapes := make([][2]int, n)
	for i := range shapes {
		elements := math.Exp(rng.Float64() * math.Log(most))
		rows := max(1, int(math.Exp(rng.Float64()*math.Log(elements))))
		shapes[i] = [2]int{rows, max(1, int(elements)/rows)}
	}
	return shapes
}

func TestKernelMuonStep(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 5))
	for _, bf16 := range []bool{false, true} {
		for _, s := range [][2]int{{1, 1}, {1, 8}, {7, 9}, {64, 64}, {65, 63}, {63, 72}, {91, 91}, {1, 8193}, {8193, 1}} {
			newArena([][2]int{s}, bf16, rng).check(t, !bf16)
		}
	}
	manyTensors(t, 1e4, rng)
}

// manyTensors are 700 tensors in a launch, of at most so many elements: each comes out as alone.
func manyTensors(t *testing.T, most float64, rng *rand.Rand) {
	t.Helper()
	a := newArena(append(shapesOf(699, most, rng), [2]int{1, 1}), false, rng)
	alone := []*arena{a.only(0), a.only(350), a.only(699)}
	a.check(t, true)
	for k, i := range []int{0, 350, 699} {
		alone[k].run(t, true)
		x := a.tensors[i]
		end := x.Update // the last of a tensor's parts
		require.Equal(t, a.memory[x.Gradient:end], alone[k].memory[x.Gradient:end], "tensor %d alone", i)
		require.Equal(t, a.inverse[i], alone[k].inverse[0])
	}
}

// The same of tensors of ten million elements.
func TestLongKernelMuonStep(t *testing.T) {
	longtest.Only(t)
	rng := rand.New(rand.NewPCG(7, 6))
	manyTensors(t, 1e5, rng)
	newArena([][2]int{{2500, 4000}}, true, rng).check(t, true)
	newArena(append(shapesOf(699, 1e3, rng), [2]int{3163, 3161}), false, rng).check(t, false)
}

// What is no number stays none, whatever its bits, and a zero matrix is one.
func TestKernelMuonStepSpecial(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	bits := []uint32{0x7fffffff, 0xffffffff, 0x7f800001, 0x7fc00000}
	a := newArena(slices.Repeat([][2]int{{4, 8}}, 1+len(bits)), false, rng)
	x := a.tensors[0]
	clear(part[float32](a, x.Gradient, 32))
	clear(part[float32](a, x.Momentum, 32))
	for i, b := range bits {
		part[uint32](a, a.tensors[1+i].Gradient, 32)[7] = b
	}
	a.run(t, true)
	for _, half := range part[uint16](a, x.Cast, 32) {
		require.Zero(t, half&0x7fff)
	}
	require.InEpsilon(t, 1/testEpsilon, a.inverse[0], 1e-6)
	for i := range bits {
		require.True(t, math.IsNaN(float64(a.inverse[1+i])), "%#x", bits[i])
	}
}

func TestMuonTensorLayout(t *testing.T) {
	require.EqualValues(t, 72, unsafe.Sizeof(MuonTensor{}))
	require.EqualValues(t, 64, unsafe.Offsetof(MuonTensor{}.Scale))
}
