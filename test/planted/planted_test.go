package planted

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/test/longtest"
)

// full runs every experiment at its full size, judges it by the bars themselves
// and prints the table of docs/EXPERIMENTS.md.
var (
	full = flag.Bool("full", false, "run the experiments at full size and print their tables")
	only = flag.String("row", "", "run only the rows whose name holds this text")
)

const (
	fullSeeds  = 100
	smallSeeds = fullSeeds / 20
)

func rows() (list []row) {
	for _, w := range lateWorlds {
		list = append(list, lateGPU(w, 1, 20e-6, 200e-6))
	}
	for _, w := range lateNodeWorlds {
		list = append(list, lateNode(w, 20e-6, 200e-6))
	}
	list = append(list, asyncIsNamed(1), asyncIsNamed(3))
	for _, w := range linkWorlds {
		list = append(list, slowLinkIsNamed(w))
	}
	for _, w := range lateWorlds[:4] {
		list = append(list, slowLinkNamesNoRank(w))
	}
	for _, w := range railWorlds {
		list = append(list, railIsNamed("dead rail", w, deadRail))
	}
	noisiest := railWorlds[len(railWorlds)-1]
	list = append(list, railIsNamed("slow rail, 30 to 80 % left", noisiest, slowRail), railIsNamed("slow leaf, 30 to 80 % left", noisiest, slowLeaf))
	list = append(list, flakyIsNamed(linkWorlds[4], 0.1), flakyIsNamed(linkWorlds[5], 0.1))
	const quiet, noisy = 1, 4 // of lateWorlds
	for _, r := range []row{
		lateGPU(lateWorlds[quiet], 1, 0.1e-6, 1e-6), lateGPU(lateWorlds[quiet], 1, 1e-6, 5e-6),
		lateGPU(lateWorlds[noisy], 1, 0.1e-6, 1e-6), lateGPU(lateWorlds[noisy], 1, 1e-6, 5e-6),
		lateGPU(lateWorlds[quiet], 2, 20e-6, 200e-6),
		flakyIsNamed(linkWorlds[5], 0.03),
	} {
		r.kind = limit
		list = append(list, r)
	}
	return list
}

// Each kind of fault on one node, or on eight that are quiet.
func TestLongPlantedOnQuietNodes(t *testing.T) {
	longtest.OnlyOrDetected(t)
	if testing.Short() {
		t.Skip("the race detector finds nothing here that it does not find in rccl")
	}
	quiet := slices.DeleteFunc(rows(), func(r row) bool {
		return strings.Contains(r.name, "64 ranks") && !strings.Contains(r.name, "noise 1 %")
	})
	require.Greater(t, len(quiet), len(rows())/3)
	all(t, quiet, smallSeeds, true)
}

func TestLongPlantedAtATwentieth(t *testing.T) {
	longtest.Only(t)
	all(t, rows(), smallSeeds, true)
}

func TestFull(t *testing.T) {
	if !*full {
		t.Skip("-args -full")
	}
	fmt.Print(markdown(all(t, rows(), fullSeeds, false)))
}

func all(t *testing.T, rows []row, seeds int, small bool) []counts {
	t.Helper()
	var list []counts
	var failed []string
	for _, r := range rows {
		if !strings.Contains(r.name, *only) {
			continue
		}
		c, err := r.over(seeds)
		require.NoError(t, err)
		list = append(list, c)
		failed = append(failed, c.failures(small)...)
	}
	if !small {
		fmt.Println()
	}
	require.Empty(t, failed, markdown(list))
	return list
}
