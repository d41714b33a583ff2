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
	for _, kind := range []string{KindSlowGroup, KindLostBusBW, KindUnstable} {
		require.True(t, j.voids(VerdictLine{Kind: kind, Share: 0.10}), kind)
		require.False(t, j.voids(VerdictLine{Kind: kind, Share: 0.099}), kind)
	}
	for _, kind := range []string{KindWrongData, KindHang, KindAsyncError} {
		require.True(t, j.voids(VerdictLine{Kind: kind}), kind)
	}
	for _, kind := range []string{KindDip, KindNoisy, KindFailed, KindInterrupted, KindEdited, KindScale} {
		require.False(t, j.voids(VerdictLine{Kind: kind, Share: 0.9}), kind)
	}
	require.False(t, j.voids(VerdictLine{Kind: KindLate, Share: 0.9}), "a wait that no large message notices")
}
