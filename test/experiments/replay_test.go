package experiments

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/test/longtest"
)

func TestLongReplayAtATwentieth(t *testing.T) {
	longtest.Only(t)
	require.Empty(t, ReplayFailures(Replays(smallSeeds), true))
}

func TestReplayFull(t *testing.T) {
	if !*full {
		t.Skip("-args -full")
	}
	rows := Replays(fullSeeds)
	fmt.Print(ReplayMarkdown(rows))
	require.Empty(t, ReplayFailures(rows, false))
}

// The bars notice a method that claims what is not there, and one that finds nothing.
func TestTheBarsOfReplayNotice(t *testing.T) {
	none := ReplayRow{Seeds: smallSeeds, Settings: 5, Kept: smallSeeds, Precise: smallSeeds, Claimed: 1}
	require.Empty(t, ReplayFailures([]ReplayRow{none}, true))
	none.False, none.Claimed = 10, 14
	require.Len(t, ReplayFailures([]ReplayRow{none}, true), 2)
	require.Len(t, ReplayFailures([]ReplayRow{{Seeds: smallSeeds, Planted: 0.03, Kept: smallSeeds - 1, Found: 30}}, true), 2)
}
