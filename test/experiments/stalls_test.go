package experiments

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/test/longtest"
)

func TestLongStallsAtATwentieth(t *testing.T) {
	longtest.Only(t)
	for _, r := range Stalls(smallSeeds) {
		require.Empty(t, r.Failures(true))
	}
}

func TestStallsFull(t *testing.T) {
	if !*full {
		t.Skip("-args -full")
	}
	for _, r := range Stalls(fullSeeds) {
		fmt.Printf("%+v\n", r)
		require.Empty(t, r.Failures(false))
	}
}
