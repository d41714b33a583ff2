package results

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/run/record"
)

func TestVerifiedText(t *testing.T) {
	wrong := int64(3)
	require.Equal(t, "yes (2)", verifiedText(record.Verified{State: record.VerifiedOK, Launches: 2}))
	require.Equal(t, "yes", verifiedText(record.Verified{State: record.VerifiedOK}))
	require.Equal(t, "3 wrong (1)", verifiedText(record.Verified{State: record.VerifiedWrong, Wrong: &wrong, Launches: 1}))
	require.Equal(t, "no", verifiedText(record.Verified{State: record.NotVerified, Launches: 1}))
}
