package matrix

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/test/longtest"
)

// The types by the figures of their definitions: largest, smallest, ties, what is not a number.
func TestNumbers(t *testing.T) {
	for name, c := range map[string]struct {
		largest, smallest float64 // that are finite
		one               []byte
	}{
		BF16:    {3.3895313892515355e38, 0x1p-133, []byte{0x80, 0x3f}},
		FP16:    {65504, 0x1p-24, []byte{0x00, 0x3c}},
		F32:     {math.MaxFloat32, 0x1p-149, []byte{0, 0, 0x80, 0x3f}},
		FP8:     {448, 0x1p-9, []byte{0x38}},
		FP8FNUZ: {240, 0x1p-10, []byte{0x40}},
	} {
		n := NumberOf(name)
		raw := make([]byte, n.Bytes)
		again := func(v float64) float64 {
			n.Put(raw, v)
			return n.Get(raw)
		}
		require.Equal(t, 1.0, again(1), name)
		require.Equal(t, c.one, raw)
		for _, v := range []float64{c.largest, c.smallest, 0, -1.5} {
			require.Equal(t, v, again(v), name)
			require.Equal(t, -v, again(-v), name)
		}
		unit := 2 * n.half
		require.Equal(t, 1.0, again(1+unit/2), "a tie to even")
		require.Equal(t, 1+2*unit, again(1+1.5*unit))
		require.Equal(t, 1+unit, again(1+0.6*unit))
		require.Equal(t, unit/2, n.halfUnit(1.9))
		rng := rand.New(rand.NewPCG(1, 1))
		for range 1000 {
			v := rng.NormFloat64()
			require.LessOrEqual(t, math.Abs(again(v)-v), n.halfUnit(v), "%s of %g", name, v)
		}
	}
	require.True(t, math.IsNaN(NumberOf(FP8).Get([]byte{0x7f})) && math.IsNaN(NumberOf(FP8).Get([]byte{0xff})))
	require.True(t, math.IsNaN(NumberOf(FP8FNUZ).Get([]byte{0x80})))
	require.True(t, math.IsInf(NumberOf(FP16).Get([]byte{0, 0xfc}), -1))
	require.Nil(t, NumberOf("int8"))
}

// random is a matrix of normal numbers.
func random(rng *rand.Rand, rows, cols int, n *Number) Half {
	h := Half{rows, cols, cols, make([]byte, rows*cols*n.Bytes), n}
	for i := range rows * cols {
		n.Put(h.Raw[n.Bytes*i:], rng.NormFloat64())
	}
	return h
}

// product is a claim that is true: sums in float, rounded once.
func product(rng *rand.Rand, m, n, k int, in, out *Number) *Claim {
	c := &Claim{A: random(rng, m, k, in), B: random(rng, n, k, in), C: random(rng, m, n, out), Alpha: 1}
	a, b := make([]float64, k), make([]float64, k)
	for i := range m {
		c.A.Row(i, a)
		for j := range n {
			sum := float32(0)
			for l, v := range c.B.Row(j, b) {
				sum += float32(a[l]) * float32(v)
			}
			out.Put(c.C.Raw[out.Bytes*(i*n+j):], float64(sum))
		}
	}
	return c
}

// Products of every type pass, with sides that nothing divides; transposed operands as well.
func TestFreivaldsOfEveryType(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	for in, out := range map[string]string{BF16: BF16, FP16: FP16, F32: F32, FP8: BF16, FP8FNUZ: BF16} {
		for range 5 {
			c := product(rng, 1+rng.IntN(90), 1+rng.IntN(90), 1+rng.IntN(300), NumberOf(in), NumberOf(out))
			found := c.Check(rng)
			require.True(t, found.OK(), "%s: %+v", in, found)
			bar := NumberOf(out).half
			require.LessOrEqual(t, c.Sample(rng, 32), bar, in)
			again := c.B.Transposed().Transposed()
			require.Equal(t, c.B, again)
			wrong := *c
			wrong.C.Raw = append([]byte(nil), c.C.Raw...)
			NumberOf(out).Put(wrong.C.Raw, c.C.At(0, 0)+8+math.Sqrt(float64(c.A.Cols)))
			found = wrong.Check(rng)
			require.False(t, found.OK(), "%s: one wrong element", in)
			require.Equal(t, 1, wrong.Wrong(found).Elements)
		}
	}
}

// A library that rounds parts of the sum before it adds them is told from one that rounds once, and
// is right where that is allowed; a wrong element is found there, too.
func TestFreivaldsOfSplitSums(t *testing.T) {
	rng, n := rand.New(rand.NewPCG(6, 6)), NumberOf(BF16)
	const side, depth, parts = 200, 512, 4
	c := product(rng, side, side, depth, n, n)
	a, b, raw := make([]float64, depth), make([]float64, depth), make([]byte, 2)
	for i := range side {
		c.A.Row(i, a)
		for j := range side {
			c.B.Row(j, b)
			sum := 0.0
			for p := range parts {
				part := a[p*depth/parts : (p+1)*depth/parts]
				n.Put(raw, dot(part, b[p*depth/parts:]))
				n.Put(raw, sum+n.Get(raw))
				sum = n.Get(raw)
			}
			n.Put(c.C.Raw[2*(i*side+j):], sum)
		}
	}
	require.Greater(t, c.Check(rng).RMS, 1.0)
	c.Split = true
	require.True(t, c.Check(rng).OK())
	require.LessOrEqual(t, c.Sample(rng, 64), c.Bar())
	n.Put(c.C.Raw, c.C.At(0, 0)+100)
	require.False(t, c.Check(rng).OK())

	once := product(rng, side, side, depth, n, n) // as small as what is found in a sum that was rounded once
	n.Put(once.C.Raw, once.C.At(0, 0)+8)
	require.False(t, once.Check(rng).OK())
	once.Split = true
	require.False(t, once.Check(rng).OK())
}

// wrongTiles plants a wrong tile of 128² so many times into a product and counts the checks that find it.
// The tile is another tile of the same product, as a kernel that mixes up an index leaves.
func wrongTiles(rng *rand.Rand, times int) int {
	n := NumberOf(BF16)
	c := product(rng, 512, 640, 16, n, n)
	right := append([]byte(nil), c.C.Raw...)
	found := 0
	for range times {
		at := func(tile int) int { return 2 * (tile/5*128*640 + tile%5*128) }
		to := rng.IntN(20)
		from := (to + 1 + rng.IntN(19)) % 20
		for i := range 128 {
			copy(c.C.Raw[at(to)+2*640*i:][:256], right[at(from)+2*640*i:])
		}
		if !c.Check(rng).OK() {
			found++
		}
		for i := range 128 {
			copy(c.C.Raw[at(to)+2*640*i:][:256], right[at(to)+2*640*i:])
		}
	}
	return found
}

func TestFreivaldsFindsAWrongTile(t *testing.T) {
	require.Equal(t, 20, wrongTiles(rand.New(rand.NewPCG(3, 3)), 20))
}

// A wrong tile of 128² is found in 1,000 of 1,000.
func TestLongFreivaldsFindsAThousandWrongTiles(t *testing.T) {
	longtest.Only(t)
	require.Equal(t, 1000, wrongTiles(rand.New(rand.NewPCG(4, 4)), 1000))
}
