package results

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMessagesThatDifferInFiguresAreGrouped(t *testing.T) {
	var a messageGroups
	for _, m := range []string{
		"buffers take 512 MiB, the budget is 256 MiB", "buffers take 16 TiB, the budget is 256 MiB", "buffers take 64.1 GiB, the budget is 256 MiB",
		"at 77 of 1 KiB: got 0xc9c00001", "no figure at all", "at 13 of 2 KiB: got 0xffffffff", "no figure at all", "1,024 ranks", "8 ranks",
		"rank 5 of mi300x/r8",
	} {
		a.add(m)
	}
	var got []string
	for _, k := range a.order {
		got = append(got, k.text())
	}
	require.Equal(t, []string{
		"buffers take 512 MiB to 16 TiB, the budget is 256 MiB", "at 13 to 77 of 1 KiB to 2 KiB: got …", "no figure at all",
		"8 to 1,024 ranks", "rank 5 of mi300x/r8",
	}, got)
	require.Equal(t, 3, a.order[0].count)
}

func TestStrangeFigures(t *testing.T) {
	var a messageGroups
	for _, m := range []string{"", "9", "1e999 999999999999999999999999 B", "0x 0xg", "1.2.3, 4,,5", "٣"} {
		require.Equal(t, m, a.add(m).text(), "one message is itself")
	}
}
