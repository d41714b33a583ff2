package experiments

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/test/longtest"
)

const fullObserved = 1000

// A job that the model does not fit is called so, and one that it fits seldom.
func TestObservedFull(t *testing.T) {
	if !*full {
		t.Skip("-args -full")
	}
	rows := RunObserved(fullObserved)
	fmt.Print(ObservedMarkdown(rows))
	require.Empty(t, ObservedFailures(rows, false))
}

func TestLongObservedAtATwentieth(t *testing.T) {
	longtest.Only(t)
	rows := RunObserved(fullObserved / 20)
	require.Empty(t, ObservedFailures(rows, true))
	require.Equal(t, fullObserved/40, rows[0].Jobs)
	for _, r := range rows[1:] {
		require.Equal(t, fullObserved/160, r.Jobs)
	}
}

// The bars notice a fit that refuses nothing, and one that refuses all.
func TestTheBarsOfObservedNotice(t *testing.T) {
	require.Len(t, ObservedFailures([]ObservedRow{{Kind: fitting, Jobs: 25, Noticed: 25}, {Kind: crowded, Jobs: 6}}, true), 2)
	require.Empty(t, ObservedFailures([]ObservedRow{{Kind: fitting, Jobs: 500, Noticed: 20}, {Kind: crowded, Jobs: 125, Noticed: 120}}, false))
}
