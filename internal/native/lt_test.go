package native

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/hardware/matrix"
)

// openLT opens the loopback, on the virtual clock and with data moved, and its stand-in.
func openLT(t *testing.T, faults string) (*Provider, Stream, *LT) {
	p, err := Open(Choice{Backend: "loopback", Machine: []byte("zbench-machine 1\nclock virtual\nranks 1\ngpus_per_process 1\nhbm_bytes 1073741824\ngpu one\n" + faults)})
	require.NoError(t, err)
	t.Cleanup(p.Close)
	p.MoveData(true)
	s, err := p.NewStream(0)
	require.NoError(t, err)
	l, err := p.FindLT(Choice{Backend: "loopback"})
	require.NoError(t, err)
	t.Cleanup(l.Close)
	require.NoError(t, l.Start(0))
	return p, s, l
}

// Products of every type and layout are float64's, by every choice; a bit that flips is found.
func TestLTProducts(t *testing.T) {
	for _, fault := range []string{"", "fault store 0 1\n"} {
		p, s, l := openLT(t, fault)
		timer, err := p.NewTimer([]Stream{s})
		require.NoError(t, err)
		workspace, err := p.Alloc(0, 1<<24)
		require.NoError(t, err)
		rng := rand.New(rand.NewPCG(1, 2))
		for _, x := range []struct {
			e       Element
			in, out string
		}{{BF16, matrix.BF16, matrix.BF16}, {FP16, matrix.FP16, matrix.FP16}, {F32, matrix.F32, matrix.F32}, {FP8FNUZ, matrix.FP8FNUZ, matrix.BF16}} {
			e, in, out := x.e, matrix.NumberOf(x.in), matrix.NumberOf(x.out)
			for layout := range 4 {
				m, n, k := 5+rng.IntN(40), 3+rng.IntN(50), 1+rng.IntN(70)
				shape := LTShape{M: m, N: n, K: k, Batch: 2, TurnA: layout&1 != 0, TurnB: layout&2 != 0, Type: e, Workspace: 1 << 24, Most: LTChoices}
				if e == FP8FNUZ {
					shape.Out = BF16
				} else {
					shape.Out = e
				}
				plan, err := l.Plan(shape)
				require.NoError(t, err)
				require.Equal(t, LTChoices, plan.Found)
				require.LessOrEqual(t, plan.Workspace, int64(1<<24))
				a, b, c := side(rng, m, k, in, shape.TurnA), side(rng, n, k, in, !shape.TurnB), make([]byte, 2*m*n*out.Bytes)
				buffer, err := p.Alloc(0, 1<<20)
				require.NoError(t, err)
				at := []Address{{Buffer: buffer}, {Buffer: buffer, Offset: 1 << 17}, {Buffer: buffer, Offset: 1 << 18}}
				require.NoError(t, p.Write(at[1], append(a[0].raw, a[1].raw...)))
				require.NoError(t, p.Write(at[2], append(b[0].raw, b[1].raw...)))
				for choice := range plan.Found {
					step := LTLaunch{Plan: plan, Choice: choice, Stream: s, C: at[0], A: at[1], B: at[2], Workspace: workspace}.Step()
					require.NoError(t, timer.Load([][]Step{{step}}))
					seconds, err := timer.Run(1, 10)
					require.NoError(t, err)
					require.Positive(t, seconds[0])
					require.NoError(t, p.Read(at[0], c))
					for x := range 2 {
						claim := &matrix.Claim{
							C: matrix.Half{Rows: m, Cols: n, Stride: n, Raw: c[x*m*n*out.Bytes:], Number: out},
							A: a[x].half, B: b[x].half, Alpha: 1,
						}
						found := claim.Check(rng)
						if fault != "" && x == 0 && e == F32 {
							continue // the bit is one of the fraction's: rounding explains it, or does not
						}
						require.Equal(t, fault == "" || x == 1, found.OK(), "%s of %+v: %+v", in.Name, shape, found)
					}
				}
				plan.Close()
				plan.Close()
				require.NoError(t, p.Free(buffer))
			}
		}
		timer.Close()
		l.Close()
		p.Close()
	}
}

type operand struct {
	half matrix.Half
	raw  []byte
}

// side is two matrices of rows × depth, and as they lie: by rows, or turned.
func side(rng *rand.Rand, rows, depth int, n *matrix.Number, turned bool) (both [2]operand) {
	for x := range both {
		h := matrix.Half{Rows: rows, Cols: depth, Stride: depth, Raw: make([]byte, rows*depth*n.Bytes), Number: n}
		for i := range rows * depth {
			n.Put(h.Raw[i*n.Bytes:], rng.NormFloat64())
		}
		both[x] = operand{h, h.Raw}
		if turned {
			both[x].raw = h.Transposed().Raw
		}
	}
	return both
}

// What the vendors' libraries refuse: types of another GPU, an unknown shape; the smaller workspace has
// fewer choices.
func TestLTRefuses(t *testing.T) {
	_, _, l := openLT(t, "")
	shape := LTShape{M: 64, N: 64, K: 64, Batch: 1, TurnB: true, Most: LTChoices}
	small, err := l.Plan(shape)
	require.NoError(t, err)
	require.Equal(t, 6, small.Found, "those that divide the depth need a workspace")
	small.Close()
	for _, e := range []Element{FP8} { // gfx942 has the FNUZ form
		shape.Type = e
		_, err := l.Plan(shape)
		require.ErrorIs(t, err, ErrVendor)
		require.ErrorContains(t, err, "heuristics: status 7", fmt.Sprint(e))
	}
	_, err = l.Plan(LTShape{M: 0, N: 1, K: 1, Batch: 1, Most: 1})
	require.ErrorContains(t, err, "lay out: status 3")
}
