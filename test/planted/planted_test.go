package planted

import (
	"flag"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// full runs every experiment at its full size, judges it by the bars themselves
// and prints the table of docs/EXPERIMENTS.md.
var full = flag.Bool("full", false, "run the experiments at full size and print their tables")

const (
	fullSeeds  = 100
	smallSeeds = fullSeeds / 20
)

func rows() (named, silent []row) {
	for _, w := range lateWorlds {
		named = append(named, lateGPU(w))
	}
	for _, w := range linkWorlds {
		named = append(named, slowLinkIsNamed(w))
	}
	for _, w := range lateWorlds[:4] {
		silent = append(silent, slowLinkIsNobody(w))
	}
	return named, silent
}

func TestPlantedAtATwentieth(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector finds nothing here that it does not find in rccl")
	}
	all(t, smallSeeds, true)
}

func TestFull(t *testing.T) {
	if !*full {
		t.Skip("-args -full")
	}
	fmt.Print(markdown(all(t, fullSeeds, false)))
}

func all(t *testing.T, seeds int, small bool) []counts {
	t.Helper()
	var list []counts
	var failed []string
	named, silent := rows()
	for i, r := range append(named, silent...) {
		c, err := r.over(seeds)
		require.NoError(t, err)
		c.silent = i >= len(named)
		list = append(list, c)
		failed = append(failed, c.failures(small)...)
	}
	if !small {
		fmt.Println()
	}
	require.Empty(t, failed, markdown(list))
	return list
}
