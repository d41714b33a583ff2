package compare

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// The ratio over all cases is the geometric mean, with the interval that whole runs allow.
func TestOverallRatio(t *testing.T) {
	twice := func(int) float64 { return 1.25 }
	text := func(d *Document) string { return d.Findings().Only(CodeOverall)[0].Text }
	one := compared(t, plantedSide("base", 1, 1, 0, nil), plantedSide("new", 2, 1, 0, twice))
	require.Equal(t, "base0 ran 1.25 times faster than new0 (geometric mean over 10 cases), one run a side, not tested.", text(one))
	require.InEpsilon(t, 0.25, one.Overall.Change, 1e-9)
	require.Nil(t, one.Overall.Lo)
	back := compared(t, plantedSide("base", 1, 1, 0, twice), plantedSide("new", 2, 1, 0, nil))
	require.Contains(t, text(back), "new0 ran 1.25 times faster than base0 (")

	single := compared(t, plantedSide("b", 1, 1, 0, nil), plantedSide("n", 2, 1, 0, slowerAt(2, 0.5)))
	require.InEpsilon(t, math.Pow(1.5, 0.2), 1+single.Overall.Change, 1e-9, "one size in five is 1.5 times as slow; the median would see none")

	d := compared(t, plantedSide("nightly/old/", 1, 4, 0.01, nil), plantedSide("nightly/new/", 101, 4, 0.01, twice))
	require.Regexp(t, `^nightly/old ran 1\.\d\d+ ± 0\.0\d+ times faster than nightly/new \(geometric mean over 10 cases, 95 % interval\)\.$`, text(d))
	require.Less(t, *d.Overall.Lo, d.Overall.Change)
	require.Greater(t, *d.Overall.Hi, d.Overall.Change)
	same := compared(t, plantedSide("b", 1, 4, 0.01, nil), plantedSide("n", 101, 4, 0.01, nil))
	require.Regexp(t, `^NEW took (0\.99|1\.00)\d* ± 0\.0\d+ times as long as BASE \(.*\), no difference beyond the variation between runs\.$`, text(same))
	require.Nil(t, overall(nil, [2]int{1, 1}, Defaults()))
}

func TestRatiosHaveTheDigitsOfTheirInterval(t *testing.T) {
	require.Equal(t, "1.30 ± 0.05", ratioText(1.3, 1.25, 1.35))
	require.Equal(t, "12.3 ± 4.0", ratioText(12.3, 8.3, 16.3))
	require.Equal(t, "1.0303 ± 0.0004", ratioText(1.0303, 1.0299, 1.0307))
	require.Equal(t, "1.2500 ± 0.0000", ratioText(1.25, 1.249999, 1.250001))
	require.Equal(t, "1.003", ratioText(1.003, 0, 0))
	require.Equal(t, "1.3", ratioText(1.3, 0, math.Inf(1)))
}
