package judge

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/finding"
	"zbench/bench/run/record"
)

// A fault that costs a tenth voids a bucket size, a smaller one does not; data that are
// wrong and launches that hang always do, and what is no fault of the fabric never does.
func TestWhatVoidsABucketSize(t *testing.T) {
	j := judged{Record: &record.Record{}}
	for _, code := range []string{CodeLostBusBW, CodeUnstable} {
		require.True(t, j.voids(finding.Finding{Code: code, Share: 0.10}), code)
		require.False(t, j.voids(finding.Finding{Code: code, Share: 0.099}), code)
	}
	for _, code := range []string{CodeWrongData, CodeHang, CodeAsyncError} {
		require.True(t, j.voids(finding.Finding{Code: code}), code)
	}
	for _, code := range []string{CodeDip, CodeNoisy, CodeFailed, CodeInterrupted, CodeEdited, CodeScale} {
		require.False(t, j.voids(finding.Finding{Code: code, Share: 0.9}), code)
	}
	group := func(bytes int64, median float64) record.Result {
		return record.Result{
			Case: record.Case{Status: record.OK, Warnings: []record.Warning{{Code: warnSlowGroup}}}, Ranks: 4, Groups: 2, Bytes: bytes,
			SlowestGroup: &record.SlowestGroup{Typical: 0.9, Median: median, Slow: []int{4}},
		}
	}
	j.Results = []record.Result{group(1<<10, 3), group(1<<20, 1.01)}
	require.True(t, j.voids(finding.Finding{Code: CodeSlowGroup, Share: 0.7}))
	j.Results[1] = group(1<<20, 0.99)
	require.False(t, j.voids(finding.Finding{Code: CodeSlowGroup, Share: 0.7}), "large messages lose 9 %")
	require.False(t, j.voids(finding.Finding{Code: CodeLate, Share: 0.9}), "a wait that no large message notices")
}
