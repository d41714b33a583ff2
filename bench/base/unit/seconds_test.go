package unit

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTimesAreRead(t *testing.T) {
	for text, want := range map[string]float64{"412ms": 0.412, "1.5 s": 1.5, " 250us": 250e-6, "2m3s": 123} {
		got, err := ParseSeconds(text)
		require.NoError(t, err)
		require.InEpsilon(t, want, got, 1e-12, text)
	}
	for _, text := range []string{"", "412", "0ms", "-1s", "ms", "1e400s", "12 parsecs"} {
		_, err := ParseSeconds(text)
		require.ErrorContains(t, err, "not a time above 0", text)
	}
}
