package planted

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/test/longtest"
)

const (
	fullFleets  = 50
	smallFleets = 3 // two could not show that none is named: that is not improbable enough
	fleetNodes  = 128
)

// Every kind of bad node is named in a small fleet, and no node is without it.
func TestLongScreenNamesABadNode(t *testing.T) {
	longtest.OnlyOrDetected(t)
	if testing.Short() {
		t.Skip("the race detector finds nothing here that it does not find in rccl")
	}
	judgeFleets(t, 2, 12, true)
}

func TestLongScreenAtATwentieth(t *testing.T) {
	longtest.Only(t)
	judgeFleets(t, smallFleets, fleetNodes, true)
}

func TestScreenFull(t *testing.T) {
	if !*full {
		t.Skip("-args -full")
	}
	fmt.Print(screenMarkdown(judgeFleets(t, fullFleets, fleetNodes, false)))
}

func judgeFleets(t *testing.T, seeds, nodes int, small bool) []screenCounts {
	t.Helper()
	rows, err := screenFleets(seeds, nodes)
	require.NoError(t, err)
	var failed []string
	for _, c := range rows {
		failed = append(failed, c.failures(small)...)
	}
	require.Empty(t, failed, screenMarkdown(rows))
	return rows
}
