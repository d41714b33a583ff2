package plain_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/plain"
)

func TestParts(t *testing.T) {
	words := func(text string) []plain.Part { return []plain.Part{{Text: text}} }
	require.Equal(t, []plain.Part{{Text: "run "}, {Code: true, Text: "zbench list ops"}, {Text: ", then stop"}}, plain.Parts("run `zbench list ops`, then stop"))
	require.Equal(t, []plain.Part{{Code: true, Text: "a b"}}, plain.Parts("`a b`"))
	for _, text := range []string{"no command", "one ` alone", "``two``", "`a|b`", "`<script>`", "`a\\`"} {
		require.Equal(t, words(text), plain.Parts(text))
	}
	require.Equal(t, "run `zbench a_b` \\*now\\*", plain.Markdown("run `zbench a_b` *now*"))
	require.Equal(t, "\\`\\`two\\`\\`", plain.Markdown("``two``"))
}

// A command stays on one line, to be copied, and a number beside its sign.
func TestFoldKeepsCommandsWhole(t *testing.T) {
	require.Equal(t, []string{"to see run", "`zbench list ops`", "and 5 %"}, plain.Fold("to see run `zbench list ops` and 5 %", 16, "", ""))
	require.Equal(t, []string{"it gains", "5 %, or", "27 ×"}, plain.Fold("it gains 5 %, or 27 ×", 9, "", ""))
}
