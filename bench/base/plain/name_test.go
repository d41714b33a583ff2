package plain_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/plain"
)

func TestName(t *testing.T) {
	require.NoError(t, plain.Name("host", strings.Repeat("n", plain.MaxName)))
	require.EqualError(t, plain.Name("host", strings.Repeat("n", 20_000)), "host has 20000 bytes; a name has at most 4096")
}
