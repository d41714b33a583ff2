package report

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/record"
)

// A fault that costs a tenth voids a bucket size, a smaller one does not; data that are
// wrong and launches that hang always do, and what is no fault of the fabric never does.
func TestWhatVoidsABucketSize(t *testing.T) {
	j := judged{Record: &record.Record{}}
	for _, kind := range []string{KindLostBusBW, KindUnstable} {
		require.True(t, j.voids(VerdictLine{Kind: kind, Share: 0.10}), kind)
		require.False(t, j.voids(VerdictLine{Kind: kind, Share: 0.099}), kind)
	}
	for _, kind := range []string{KindWrongData, KindHang, KindAsyncError} {
		require.True(t, j.voids(VerdictLine{Kind: kind}), kind)
	}
	for _, kind := range []string{KindDip, KindNoisy, KindFailed, KindInterrupted, KindEdited, KindScale} {
		require.False(t, j.voids(VerdictLine{Kind: kind, Share: 0.9}), kind)
	}
	group := func(bytes int64, median float64) record.Result {
		return record.Result{
			Status: record.OK, Ranks: 4, Groups: 2, Bytes: bytes, Warnings: []record.Warning{{Code: codeSlowGroup}},
			SlowestGroup: &record.SlowestGroup{Typical: 0.9, Median: median, Slow: []int{4}},
		}
	}
	j.Results = []record.Result{group(1<<10, 3), group(1<<20, 1.01)}
	require.True(t, j.voids(VerdictLine{Kind: KindSlowGroup, Share: 0.7}))
	j.Results[1] = group(1<<20, 0.99)
	require.False(t, j.voids(VerdictLine{Kind: KindSlowGroup, Share: 0.7}), "large messages lose 9 %")
	require.False(t, j.voids(VerdictLine{Kind: KindLate, Share: 0.9}), "a wait that no large message notices")
}
