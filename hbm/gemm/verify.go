package gemm

import (
	"bytes"
	"fmt"
	"math/rand/v2"

	"zbench/bench/hardware/matrix"
	"zbench/bench/run/record"
	method "zbench/bench/work/gemm"
	"zbench/internal/native"
)

// C is checked at evenly spaced rows and columns. A long side has about mostLines checked lines.
// The lines are at most mostApart apart, so that each tile of 128² contains checked lines. The
// constant `elements` is the number of elements that are recomputed one by one.
const (
	mostLines = 2048
	mostApart = 64
	elements  = 64
)

// reducedSides are the largest sides that are checked on the loopback. They are not multiples of a
// tile's side.
var reducedSides = [3]int64{200, 184, 136}

// checked returns the shape whose product is checked.
func (d *Driver) checked(t target) method.Shape {
	s := d.runs(t)
	if d.p.Simulated {
		s.M, s.N, s.K, s.Batch = min(s.M, reducedSides[0]), min(s.N, reducedSides[1]), min(s.K, reducedSides[2]), min(s.Batch, 2)
	}
	return s
}

// verify launches an entry once and compares the first and the last product of the batch with the
// operands in float64. Freivalds' check covers the whole product; some elements are also recomputed
// one by one.
func (d *Driver) verify(u *gpu, t target, e entry, p places) (record.Verified, error) {
	d.p.MoveData(true)
	defer d.p.MoveData(false)
	if d.p.Simulated { // the loopback's memory is undefined while no launch moves data
		d.entered = false
		if _, err := d.enter(t); err != nil {
			return record.Verified{}, err
		}
	}
	s, k := d.checked(t), d.kindOf(t.dtype)
	steps, end, err := d.steps(u, t, s, e, p, 1)
	if err != nil {
		return record.Verified{}, err
	}
	defer end()
	c := p.at(u, 0, 2)
	if err := d.fill(c, p.c[1], bytes.Repeat([]byte{0xff}, 1<<20)); err != nil { // NaN
		return record.Verified{}, err
	}
	if err := u.alone.Load([][]native.Step{steps}); err != nil {
		return record.Verified{}, err
	}
	if _, err := u.alone.Run(1, deadline); err != nil {
		return record.Verified{}, err
	}
	v := record.Verified{State: record.VerifiedOK, Wrong: new(int64), Launches: 1}
	rng := rand.New(rand.NewPCG(d.cfg.Seed, 7)) //nolint:gosec // test vectors
	for _, x := range []int64{0, s.Batch - 1} {
		claim, err := d.claim(c, s, k, x)
		if err != nil {
			return v, err
		}
		hold(&v, s, claim, rng)
		if s.Batch == 1 {
			break
		}
	}
	return v, nil
}

// hold adds the checks of one product to v.
func hold(v *record.Verified, s method.Shape, c *matrix.Claim, rng *rand.Rand) {
	found := c.Check(rng)
	all := record.Check{Shape: s.String(), What: "C, whole", Found: record.Deviation{Frobenius: found.RMS, Max: found.Max}, Bar: record.Deviation{Frobenius: 1, Max: 1}}
	v.Elements += int64(c.C.Rows) * int64(c.C.Cols)
	if !found.OK() {
		w := c.Wrong(found)
		all.Pattern, all.Note = record.PatternTiles, w.Text()
		if w.Isolated() {
			all.Pattern = record.PatternIsolated
		}
		v.State, v.Reason = record.VerifiedWrong, all.Note
		*v.Wrong += max(1, int64(w.Elements))
	}
	some := record.Check{Shape: s.String(), What: fmt.Sprintf("C, %d elements", elements), Found: record.Deviation{Max: c.Sample(rng, elements)}, Bar: record.Deviation{Max: c.Bar()}}
	v.Checks = append(v.Checks, all, some)
}

// apart() returns the distance between the checked lines along a side.
func apart(side int64) int64 { return min(mostApart, (side+mostLines-1)/mostLines) }

// claim returns the x-th product of a batch at the checked rows and columns. A and B are computed
// again as they were written; C is read back.
func (d *Driver) claim(at native.Address, s method.Shape, k kind, x int64) (*matrix.Claim, error) {
	rows, cols := apart(s.M), apart(s.N)
	m, n := int((s.M+rows-1)/rows), int((s.N+cols-1)/cols)
	c := &matrix.Claim{Alpha: 1, Split: k.out.Bytes == 2, C: matrix.Half{Rows: m, Cols: n, Stride: n, Raw: make([]byte, m*n*k.out.Bytes), Number: k.out}}
	if k.in.Bytes == 1 {
		c.Coarse = coarse
	}
	raw := make([]byte, s.N*int64(k.out.Bytes))
	size := int64(k.out.Bytes)
	for i := range m {
		offset := (x*s.M + int64(i)*rows) * s.N * size
		if err := d.p.Read(native.Address{Buffer: at.Buffer, Offset: at.Offset + offset}, raw); err != nil {
			return nil, err
		}
		for j := range n {
			copy(c.C.Raw[(i*n+j)*int(size):][:size], raw[int64(j)*cols*size:])
		}
	}
	// Both operands become rows along the depth, whatever the layout.
	c.A = d.operand(k.in, 0, m, int(s.K), func(i, l int64) int64 {
		if s.Layout == method.NT {
			return (x*s.K+l)*s.M + i*rows
		}
		return (x*s.M+i*rows)*s.K + l
	})
	c.B = d.operand(k.in, 1, n, int(s.K), func(j, l int64) int64 {
		if s.Layout == method.TN {
			return (x*s.N+j*cols)*s.K + l
		}
		return (x*s.K+l)*s.N + j*cols
	})
	return c, nil
}

// `coarse` is the additional relative error of fp8 products: NVIDIA's matrix units keep about 14
// bits of a partial sum.
const coarse = 0x1p-12

// operand returns an operand's checked rows with the values that were written. The function `place`
// returns the index of an element in the operand.
func (d *Driver) operand(n *matrix.Number, which, rows, depth int, place func(i, l int64) int64) matrix.Half {
	block, size := d.block(n, which, 0), n.Bytes // the block that enter loaded
	h := matrix.Half{Rows: rows, Cols: depth, Stride: depth, Raw: make([]byte, rows*depth*size), Number: n}
	for i := range rows {
		for l := range depth {
			copy(h.Raw[(i*depth+l)*size:][:size], block[int(place(int64(i), int64(l))%period)*size:])
		}
	}
	return h
}
