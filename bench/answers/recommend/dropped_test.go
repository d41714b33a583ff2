package recommend

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/stat"
	"zbench/bench/run/record"
)

// geometric is n sizes from 1 KiB on, each step times the one before.
func geometric(n int, step int64) []int64 {
	var all []int64
	for s := int64(1 << 10); len(all) < n; s *= step {
		all = append(all, s)
	}
	return all
}

// A single mean that is far off is left out whichever way it is off, wherever it
// stands, and alone: its neighbours stay.
func TestOutliersBothWays(t *testing.T) {
	for _, step := range []int64{2, 4, 8} {
		sizes := geometric(10, step)
		for at := range sizes {
			for _, by := range []float64{1. / 100, 1. / 20, 1. / 10, 1. / 5, 10, 20, 100} {
				rec := sweep("all_reduce", sizes, steadySamples(1))
				rec.Results[at].Isolated.MaxOfRanks.Median *= by
				c := onlyCurve(t, Source{Record: rec})
				require.Len(t, c.Dropped, 1, "size %d of 10, by %g, step %d: %+v", at, by, step, c.Dropped)
				require.Equal(t, sizes[at], c.Dropped[0].Bytes, "by %g, step %d", by, step)
				want := "times what its neighbours lead to expect"
				if by < 1 {
					want = "times less than its neighbours lead to expect"
				}
				require.Contains(t, c.Dropped[0].Reason, want)
			}
		}
	}
}

// What a library really does stays: a size that is three times slow or twice as
// fast, a stretch of slow sizes, a switch of protocols, any step between sizes.
func TestNoOutliers(t *testing.T) {
	for _, step := range []int64{2, 4, 8, 16, 32} {
		n := 12
		if step > 8 {
			n = 6
		}
		sizes := geometric(n, step)
		for at := range sizes {
			for name, change := range map[string]func(i int) float64{
				"none":     func(int) float64 { return 1 },
				"slow":     func(i int) float64 { return map[bool]float64{true: 3, false: 1}[i == at] },
				"fast":     func(i int) float64 { return map[bool]float64{true: 0.5, false: 1}[i == at] },
				"stretch":  func(i int) float64 { return map[bool]float64{true: 3, false: 1}[i == at || i == at+1] },
				"from on":  func(i int) float64 { return map[bool]float64{true: 3, false: 1}[i >= at] },
				"up to":    func(i int) float64 { return map[bool]float64{true: 3, false: 1}[i <= at] },
				"recovers": func(i int) float64 { return map[bool]float64{true: 1, false: 2}[i >= at] },
			} {
				rec := &record.Record{Schema: record.Schema}
				for i, r := range sweep("all_reduce", sizes, steadySamples(1)).Results {
					r.Isolated.MaxOfRanks = stat.Summarize([]float64{r.Isolated.MaxOfRanks.Median * change(i)})
					rec.Results = append(rec.Results, r)
				}
				require.Empty(t, onlyCurve(t, Source{Record: rec}).Dropped, "%s at %d, step %d", name, at, step)
			}
		}
	}
}
