package plain_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/plain"
)

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"":                         "",
		"µs · 95 % → 1 ‰ 漢\n\ttab": "µs · 95 % → 1 ‰ 漢\n\ttab",
		"a\x1b[31mred":             `a\u001b[31mred`,
		"\r\a\b\x7f":               `\u000d\u0007\u0008\u007f`,
		"\u009b2J":                 `\u009b2J`,
		"\x9b2J":                   `\u009b2J`,
		"user\u202egol.exe":        `user\u202egol.exe`,
		"\u2066a\u2028b\u061c":     `\u2066a\u2028b\u061c`,
		"half \xe2\x82":            `half \u00e2\u0082`,
	} {
		require.Equal(t, want, plain.Text(in), "%q", in)
	}
}

func TestMarkdown(t *testing.T) {
	require.Equal(t, `a\|b &lt;img src=x onerror=1&gt; \[x\](y) \*\*b\*\* `+"`c`"+` \\ d e`, plain.Markdown("a|b <img src=x onerror=1> [x](y) **b** `c` \\ d\ne"))
}

func TestCell(t *testing.T) {
	for in, want := range map[string]string{
		"":              "",
		"all_reduce":    "all_reduce",
		"=1+1":          "'=1+1",
		"+cmd|' /C'!A0": "'+cmd|' /C'!A0",
		"-2+3":          "'-2+3",
		"@SUM(A1)":      "'@SUM(A1)",
		"\t=1":          "'\t=1",
		"\r=1":          "'\r=1",
		"\n=1":          "'\n=1",
		"＝1":            "'＝1",
		"-1":            "-1",
		"-1.5e-06":      "-1.5e-06",
		"+3":            "+3",
		"-":             "'-",
		"a=1":           "a=1",
	} {
		require.Equal(t, want, plain.Cell(in), "%q", in)
	}
	require.Equal(t, []string{"'=a", "-1", "b"}, plain.Row([]string{"=a", "-1", "b"}))
}

func TestNaturalOrder(t *testing.T) {
	for _, pair := range [][2]string{{"mlx5_2", "mlx5_10"}, {"a", "b"}, {"mlx5_2", "mlx5_2x"}, {"rocep9s0", "rocep42s0"}, {"a1", "a01b"}, {"1", "a"}, {"a01", "a1"}} {
		require.Negative(t, plain.Natural(pair[0], pair[1]), pair)
		require.Positive(t, plain.Natural(pair[1], pair[0]), pair)
	}
	require.Zero(t, plain.Natural("mlx5_10", "mlx5_10"))
}
