package unit_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/unit"
)

func TestParseCount(t *testing.T) {
	for text, want := range map[string]int64{
		"760M": 760e6, "8.03B": 8_030_000_000, "8.03g": 8_030_000_000, "1e9": 1e9, "5E8": 5e8, "1.5e+3": 1500,
		"40_000_000": 4e7, "1.5k": 1500, "2T": 2e12, "0": 0,
	} {
		n, err := unit.ParseCount(text)
		require.NoError(t, err, text)
		require.Equal(t, want, n, text)
	}
	for _, text := range []string{"", "M", "-1", "1.5", "1/3", "1MiB", "many", "1e99", "1e9999999999", "9e18", "1MM", "1e-3", "0x10", "∞", "1kM"} {
		_, err := unit.ParseCount(text)
		require.ErrorIs(t, err, unit.ErrCount, text)
	}
}
