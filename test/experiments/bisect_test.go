package experiments

import (
	"fmt"
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/test/longtest"
)

// The experiment has 200 seeds in each row: a twentieth are ten.
const (
	bisectSeeds      = 200
	bisectSmallSeeds = 10
)

func TestLongBisectionsAtATwentieth(t *testing.T) {
	longtest.Only(t)
	var rows []BisectRow
	for _, r := range BisectRows() {
		if r.Start == 10 && r.Uniform > 0 {
			rows = append(rows, r)
		}
	}
	require.NoError(t, Bisections(rows, bisectSmallSeeds))
	require.Empty(t, BisectFailures(rows, true))
}

func TestFullBisections(t *testing.T) {
	if !*full {
		t.Skip("-args -full")
	}
	committed := maps.Clone(uniformRounds)
	for _, d := range drifts {
		rounds := [2]int{UniformRounds(bisectSeeds, d, false), UniformRounds(bisectSeeds, d, true)}
		fmt.Printf("drift %s: equal sampling takes %d rounds, calibrated %d\n", d.Name, rounds[0], rounds[1])
		uniformRounds[d.Name] = rounds // the table is of what was found
	}
	rows := BisectRows()
	require.NoError(t, Bisections(rows, bisectSeeds))
	fmt.Print(BisectTable(rows))
	require.Empty(t, BisectFailures(rows, false))
	require.Equal(t, committed, uniformRounds, "rounds of equal sampling")
}

// A bar that cannot fail shows nothing: wrong answers, and searches that cost too much, are
// noticed.
func TestTheBarsOfBisectionsNotice(t *testing.T) {
	row := BisectRows()[1]
	row.Seeds, row.Right, row.Uniform = bisectSmallSeeds, 10, 6
	uniform := float64(6*bisectBuilds) * (row.Start + bisectSizes)
	row.Cost, row.Squares = 10*0.4*uniform, 10*0.16*uniform*uniform
	require.Empty(t, BisectFailures([]BisectRow{row}, true))
	worse := row
	worse.Right = 4
	require.Len(t, BisectFailures([]BisectRow{worse}, true), 1)
	worse = row
	worse.Blamed = 4
	require.Len(t, BisectFailures([]BisectRow{worse}, true), 1)
	worse = row
	worse.Cost, worse.Squares = 10*0.6*uniform, 10*0.36*uniform*uniform
	require.Len(t, BisectFailures([]BisectRow{worse}, true), 1)
}
