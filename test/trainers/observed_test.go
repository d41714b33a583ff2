package trainers

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/answers/recommend"
	"zbench/bench/base/stat"
	"zbench/test/longtest"
)

// misjudged are factors of the computation's time that a user gives: it is not exact.
var misjudged = []float64{0.8, 1, 1.25}

// observations are a recording's settings that are decided, the default last.
func (r recording) observations(t testing.TB) []recommend.Observation {
	t.Helper()
	cells, _ := r.cells(t)
	var all []recommend.Observation
	for i, s := range r.Steps[1:] {
		if s.Cap != nil && !cells[i].decided() {
			continue
		}
		o := recommend.Observation{Seconds: slices.Concat(s.Seconds[0], s.Seconds[1])}
		if s.Cap != nil {
			o.Elements = elements(*s.Cap)
		}
		all = append(all, o)
	}
	return all
}

// Two observed settings, the default and the one nearest to the answer, at least halve the error of the
// others' steps where the computation that was given is off. Where it is exact, the error is the noise of real steps, and
// they do not add to it. All settings together fit.
func TestLongTwoObservedSettingsPredictTheOthers(t *testing.T) {
	longtest.Only(t)
	for _, m := range misjudged {
		var before, after []float64
		for _, r := range recordings(t) {
			all := r.observations(t)
			q := r.question(t)
			q.Seed, q.Plans, q.Backward, q.Forward = 1, &recommend.Plans{}, m*r.Backward, m*r.Forward
			answer, err := recommend.Ask(q)
			require.NoError(t, err)
			last := len(all) - 1
			near := 0
			far := func(i int) float64 { return math.Abs(math.Log(float64(all[i].Elements) / float64(answer.Elements))) }
			for i := range all[:last] {
				if far(i) < far(near) {
					near = i
				}
			}
			q.Observed = all
			whole, err := recommend.Ask(q)
			require.NoError(t, err)
			require.True(t, whole.Observed.Fits, "%s %g: chance %g", r.name, m, whole.Observed.Chance)
			q.Observed = []recommend.Observation{all[near], all[last]}
			two, err := recommend.Ask(q)
			require.NoError(t, err)
			require.True(t, two.Observed.Fits, "%s %g: chance %g", r.name, m, two.Observed.Chance)
			for i, o := range all[:last] {
				if i == near {
					continue
				}
				q.Observed = []recommend.Observation{all[near], all[last]}
				q.Current = o.Elements
				with, err := recommend.Ask(q)
				require.NoError(t, err)
				q.Observed = nil
				without, err := recommend.Ask(q)
				require.NoError(t, err)
				took := stat.Quantile(o.Seconds, 0.5)
				before = append(before, math.Abs(without.Current.Step/took-1))
				after = append(after, math.Abs(with.Current.Step/took-1))
			}
		}
		t.Logf("computation given as %g of the real one: mean error of %d settings %.2f %%, with two observed ones %.2f %%", m, len(before), 100*stat.Mean(before), 100*stat.Mean(after))
		limit := stat.Mean(before)
		if m != 1 {
			limit /= 2
		}
		require.LessOrEqual(t, stat.Mean(after), limit)
	}
}
