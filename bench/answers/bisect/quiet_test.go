package bisect

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// On a quiet machine the first slow variant is named by measuring it and the one before it,
// whatever the size of the slowdown: the slowdowns that the hypotheses try are far apart
// beside the noise, and a hypothesis about variants that were not measured may fit best.
func TestQuietMachines(t *testing.T) {
	rng := rand.New(rand.NewPCG(18, 1))
	for seed := range uint64(90) {
		const cases = 4
		variants := 3 + int(seed%6)
		noise := []float64{1e-5, 1e-4, 5e-4, 2e-3}[seed%4]
		slow, want := map[int]map[int]float64{}, map[int]int{}
		for v := range variants {
			slow[v] = map[int]float64{}
		}
		for _, c := range []int{0, 2} {
			by := 0.03 + 0.3*rng.Float64()
			want[c] = 1 + rng.IntN(variants-1)
			for v := want[c]; v < variants; v++ {
				slow[v][c] = by
			}
		}
		p := planted{slow: slow, noise: noise, seed: seed}
		s := p.search(t, variants, cases, Defaults())
		require.Equal(t, want, found(s), "seed %d: %d variants, noise %g", seed, variants, noise)
		for c, o := range s.Outcomes() {
			if o.Verdict == Slower {
				require.Positive(t, o.Effects[o.First].Children, "seed %d, case %d", seed, c)
				require.Positive(t, o.Effects[o.First-1].Children, "seed %d, case %d", seed, c)
			}
		}
		require.Less(t, len(p.children), 60, "seed %d", seed)
	}
}
