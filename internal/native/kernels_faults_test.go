package native

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// world is a reduction that can be gone through with a fault.
type world struct {
	job
	given [][]value // by element, then rank
	clean []uint64
	rng   *rand.Rand
}

func newWorld(t *testing.T, j job, count int, rng *rand.Rand) world {
	w := world{job: j, given: make([][]value, count), rng: rng}
	b := newTensor(j.e, count)
	for rank := range j.n {
		j.fill(t, b, rank)
		for i := range count {
			w.given[i] = append(w.given[i], j.e.multiply(j.op, rank, j.e.decode(b.at(i))))
		}
	}
	w.clean = w.reduce(func(ranks []value) []value { return ranks })
	return w
}

// reduce gives the result's bits when change was made to every element's ranks.
func (w world) reduce(change func([]value) []value) []uint64 {
	result := make([]uint64, len(w.given))
	for i, ranks := range w.given {
		ranks = change(append([]value(nil), ranks...))
		result[i], _ = w.e.encode(w.e.reduce(w.op, "tree", w.n, ranks, w.rng))
	}
	return result
}

// check holds the kernel's findings against a comparison with the clean result,
// and returns the share of wrong elements.
func (w world) checkResult(t *testing.T, result []uint64) float64 {
	b := newTensor(w.e, len(result))
	want := fine(len(result))
	for i, bits := range result {
		b.set(i, bits)
		if bits != w.clean[i] {
			if want.wrong == 0 {
				want.first, want.expected, want.got = uint64(i), w.clean[i], bits
			}
			want.wrong++
		}
	}
	f := w.check(t, b)
	if f.wrong > 0 {
		f.seen = want.seen // explained: the word is taken
	}
	require.Equal(t, want, f, "n %d", w.n)
	return float64(want.wrong) / float64(len(result))
}

// blind tells where a wrong partner cannot change a result: every average of so
// many small integers is 0.
func (w world) blind() bool {
	return w.op == opAvg && (w.e.name == "int8" && w.n > 127 || w.e.name == "uint8" && w.n > 255)
}

func TestKernelFindsFaults(t *testing.T) {
	forAll(t, few([]int{2, 3, 8, 16, 256, 1024}), func(t *testing.T, j job, rng *rand.Rand) {
		extreme, elements := j.op == opMax || j.op == opMin, max(64, 2*j.n) // each rank is a holder
		if j.n == 1024 {
			if elements = 256; j.e.width != 16 || extreme {
				return
			}
		}
		w := newWorld(t, j, elements, rng)
		require.Zero(t, w.checkResult(t, w.clean))
		r := rng.IntN(j.n)
		q := (r + 1 + rng.IntN(j.n-1)) % j.n
		missing := w.checkResult(t, w.reduce(func(v []value) []value { return append(v[:r], v[r+1:]...) }))
		doubled := w.checkResult(t, w.reduce(func(v []value) []value { return append(v, v[r]) }))
		replaced := w.checkResult(t, w.reduce(func(v []value) []value { v[r] = v[q]; return v }))
		switch {
		case w.blind():
			require.Zero(t, missing+replaced+doubled)
		case extreme:
			require.Zero(t, doubled, "no maximum changes")
			require.Positive(t, missing, "n %d", j.n)
			require.Positive(t, replaced, "n %d", j.n)
		case j.op == opSum || j.op == opProd && !j.e.float():
			every, second := 1.0, 0.3
			if j.e.name == "bfloat16" && j.n > 169 { // in one group of 2, of 8 for 1,024
				every, second = map[int]float64{256: 0.4, 1024: 0.07}[j.n], 0.1
			}
			require.GreaterOrEqual(t, missing, every, "n %d", j.n)
			require.GreaterOrEqual(t, doubled, every, "n %d", j.n)
			require.Greater(t, replaced, second, "n %d", j.n)
		default:
			require.Positive(t, missing, "n %d", j.n)
			require.Positive(t, doubled, "n %d", j.n)
			require.Positive(t, replaced, "n %d", j.n)
		}
		if j.op == opMulsum {
			omitted := w.checkResult(t, w.reduce(func(v []value) []value { v[r] = w.e.divide(r, v[r]); return v }))
			require.Positive(t, omitted, "n %d: the factor of rank %d", j.n, r)
		}
		w.findsPlaces(t)
	})
}

// findsPlaces plants the faults of where data comes from and goes to.
func (w world) findsPlaces(t *testing.T) {
	half := len(w.clean) / 2
	swapped := append(append([]uint64(nil), w.clean[half:2*half]...), w.clean[:half]...)
	if share := w.checkResult(t, swapped); !w.blind() {
		require.Greater(t, share, 0.2, "n %d: swapped blocks", w.n)
	}
	stale := newTensor(w.e, len(w.clean))
	require.Greater(t, float64(w.check(t, stale).wrong), 0.9*float64(len(w.clean)), "n %d: poison", w.n)
	last := w.job
	last.seed++
	old := last
	b := newTensor(w.e, len(w.clean))
	for i, v := range newWorld(t, old, min(len(w.clean), 64), w.rng).clean {
		b.set(i, v)
	}
	if !w.blind() {
		require.Positive(t, w.check(t, b).wrong, "n %d: the launch before", w.n)
	}
	mine := w.reduce(func(v []value) []value { return v[:1] })
	if w.n > 2 && w.op != opAvg {
		require.Positive(t, w.checkResult(t, mine), "n %d: nothing was reduced", w.n)
	}
}

// Blocks of copied data: swapped, from a wrong source, from a wrong place of
// the right one, or never written.
func TestKernelFindsMisplacedBlocks(t *testing.T) {
	for _, e := range append(fp8, elements...) {
		t.Run(e.name, func(t *testing.T) {
			j := job{e: e, kind: KindCopied, n: 8, block: 64, step: 1, base: 128, seed: 5, geometry: folded}
			clean := j.sources(t, j.n)
			block := func(b tensor, k int) []byte { return b.bytes[k*64*e.bytes() : (k+1)*64*e.bytes()] }
			require.Equal(t, fine(clean.count), j.check(t, clean))
			elsewhere, before := j, j
			elsewhere.base += 64
			before.seed++
			for name, plant := range map[string]func(b tensor){
				"swapped":         func(b tensor) { copy(block(b, 2), block(clean, 5)); copy(block(b, 5), block(clean, 2)) },
				"doubled":         func(b tensor) { copy(block(b, 2), block(clean, 3)) },
				"unwritten":       func(b tensor) { copy(block(b, 2), block(newTensor(e, clean.count), 2)) },
				"wrong place":     func(b tensor) { copy(block(b, 2), block(elsewhere.sources(t, j.n), 2)) },
				"last launch's":   func(b tensor) { copy(block(b, 2), block(before.sources(t, j.n), 2)) },
				"late by one":     func(b tensor) { copy(block(b, 2)[e.bytes():], block(clean, 2)) },
				"the last of all": func(b tensor) { b.set(b.count-1, b.at(b.count-1)^1) },
			} {
				b := newTensor(e, clean.count)
				copy(b.bytes, clean.bytes)
				plant(b)
				f, first, wrong := j.check(t, b), -1, 0
				for i := range b.count {
					if b.at(i) != clean.at(i) {
						if wrong == 0 {
							first = i
						}
						wrong++
					}
				}
				require.Equal(t, found{uint64(wrong), uint64(first), f.seen, clean.at(first), b.at(first)}, f, name)
			}
		})
	}
}
