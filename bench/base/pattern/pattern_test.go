package pattern_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/pattern"
)

// A text that is not a regular expression shows that nothing is compiled before its use.
func TestAPatternIsCompiledWhenItIsUsed(t *testing.T) {
	p := pattern.New(`(`)
	require.Equal(t, `(`, p.String())
	require.Panics(t, func() { p.MatchString("") })

	p = pattern.New(`^rank (\d+)$`)
	require.Equal(t, []string{"rank 17", "17"}, p.FindStringSubmatch("rank 17"))
	require.False(t, p.Match([]byte("rank x")))
}
