package planted

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/test/longtest"
)

const (
	fullComponents = 20
	fullClean      = 200
)

// Each kind of fault in worlds of two to eight nodes is named or a candidate; none is OK, and
// nothing is named without a fault.
func TestLongComponentsOfSmallWorlds(t *testing.T) {
	longtest.OnlyOrDetected(t)
	if testing.Short() {
		t.Skip("the race detector finds nothing here that it does not find in rccl")
	}
	judgeComponents(t, 1, 12)
}

func TestLongComponents(t *testing.T) {
	longtest.Only(t)
	judgeComponents(t, fullComponents/4, fullClean/4)
}

func TestComponentsFull(t *testing.T) {
	if !*full {
		t.Skip("-args -full")
	}
	fmt.Print(judgeComponents(t, fullComponents, fullClean))
}

// judgeComponents asks for no exception: the bars of few nodes are 0.
func judgeComponents(t *testing.T, seeds, runs int) string {
	t.Helper()
	all, err := planted(seeds)
	require.NoError(t, err)
	table := componentMarkdown(all)
	for _, c := range all {
		require.Empty(t, c.first, table)
		require.Zero(t, c.ok+c.passed+c.wrong, table)
		require.Equal(t, seeds, c.named+c.asked, table)
	}
	alarms, first, err := clean(runs)
	require.NoError(t, err)
	require.Zero(t, alarms, first)
	return fmt.Sprintf("%s\n%d runs without a fault: %d not OK\n", table, runs, alarms)
}
