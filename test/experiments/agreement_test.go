package experiments

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// agree runs seeds in a bubble: its clock continues when every goroutine waits, so
// a deadline costs nothing and a hang is found at once.
func agree(t *testing.T, seeds int, m Mistake) (a Agreement) {
	t.Helper()
	synctest.Test(t, func(*testing.T) { a = Agree(seeds, time.After, m) })
	return a
}

func TestAgreementAtATwentieth(t *testing.T) {
	a := agree(t, smallSeeds, Mistake{})
	require.Empty(t, a.Failures)
	for _, r := range a.Rows {
		require.Positive(t, r.Launches, "%+v", r)
	}
}

func TestFullAgreement(t *testing.T) {
	if !*full {
		t.Skip("-args -full")
	}
	a := agree(t, fullSeeds, Mistake{})
	fmt.Printf("%s\n", a.Markdown())
	for _, m := range Mistakes() {
		fmt.Printf("%s: found in %d of %d seeds\n", m.Name, len(agree(t, fullSeeds, m).Failures), fullSeeds)
	}
	require.Empty(t, a.Failures)
}

// A process that decides anything by itself is detected, and no process waits for it
// forever.
func TestAgreementDetectsOwnDecisions(t *testing.T) {
	for _, m := range Mistakes() {
		a := agree(t, smallSeeds, m)
		require.NotEmpty(t, a.Failures, m.Name)
		for _, r := range a.Rows {
			require.Zero(t, r.Hung, "%s: %+v", m.Name, r)
		}
	}
}
