package experiments

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/stat"
	"zbench/test/longtest"
)

// mostIsolated is the number of healthy nodes that may be taken out in a year of a fleet.
const mostIsolated = 1

// tooMany reports whether more nodes were taken out than chance explains at the bar: a year has so many
// days of nodes that the count is binomial.
func tooMany(r WatchRow) bool {
	days := r.Years * watchNodes * 365
	return stat.BinomialTail(r.Isolated, days, mostIsolated*float64(r.Years)/float64(days)) < improbable
}

func TestLongWatchAtATwentieth(t *testing.T) {
	longtest.Only(t)
	longtest.OneGoroutine(t)
	for _, r := range Watch(fullSeeds / 20) {
		require.False(t, tooMany(r), "%+v", r)
	}
}

func TestLongWatchFoundAtATwentieth(t *testing.T) {
	longtest.Only(t)
	for _, r := range WatchFound(fullSeeds / 20) {
		require.True(t, r.Bar.Plausible(r.Found, r.Runs), "%+v", r)
	}
	require.False(t, tooMany(Watch(1)[2]))
}

// The bars notice a detector that is too eager, or blind.
func TestTheBarsOfWatchNotice(t *testing.T) {
	require.True(t, tooMany(WatchRow{Years: 50, Isolated: 90}))
	require.False(t, tooMany(WatchRow{Years: 50, Isolated: 60}))
	require.False(t, Bar{Rate: 0.9}.Plausible(30, 50))
}

func TestWatchFull(t *testing.T) {
	if !*full {
		t.Skip("-args -full")
	}
	rows, found := Watch(fullSeeds), WatchFound(fullSeeds)
	fmt.Print(WatchMarkdown(rows, found))
	for _, r := range rows {
		require.LessOrEqual(t, r.Isolated, mostIsolated*r.Years, "%+v", r)
	}
	for _, r := range found {
		require.True(t, r.Bar.Holds(r.Found, r.Runs), "%+v", r)
	}
}
