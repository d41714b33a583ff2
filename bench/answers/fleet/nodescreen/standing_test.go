package nodescreen_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/answers/fleet/nodescreen"
)

// The table of nodes begins with the worst: a node that sent nothing, then those that break
// a rule in the rules' order, then the others by what they have lost.
func TestNodesAreRankedWorstFirst(t *testing.T) {
	all := fleet(1, 8)
	for _, g := range all[6].GPUs {
		*g.Memory.Rate = 4.1e12
	}
	*all[6].Collective.Rate = 270e9
	*all[4].GPUs[5].Memory.Rate = 3.2e12
	*all[2].GPUs[1].Memory.Rate = 2.0e12
	all[5].NICs[3].State, all[5].NICs[3].Collective = "DOWN", nil
	*all[1].Collective.Rate = 254e9 // 6 % lost: not named
	f := nodescreen.Fleet{Nodes: all, Expected: 9, Hosts: []string{"n000", "n001", "n002", "n003", "n004", "n005", "n006", "n007", "n008"}}
	d := nodescreen.Judge(f)
	ranked := d.Standings()
	var hosts []string
	for _, s := range ranked {
		hosts = append(hosts, s.Host+" "+s.Result)
	}
	require.Equal(t, []string{"n008 fail", "n005 fail", "n002 fail", "n004 fail", "n001 pass"}, hosts[:5])
	require.Len(t, ranked, 9)
	require.Nil(t, ranked[0].Node)
	require.InDelta(t, 0.51, ranked[2].Lost["memory"], 0.01)
	require.InDelta(t, 0.06, ranked[4].Lost["collective"], 0.01)
	rows := nodescreen.Ranked(ranked).Groups[0].Rows
	require.Equal(t, []string{"n008", "fail", "it reported nothing before the deadline", "–", "–", "–", "–", "–", "–", "–"}, rows[0].Cells)
	require.Equal(t, "7 of 8", rows[1].Cells[4])
	require.Equal(t, "−51 %", rows[2].Cells[5])
	require.Contains(t, rows[2].Cells[2], "GPU 1: memory of MI300X")
	require.Empty(t, rows[4].Cells[2])
	require.Equal(t, []string{"n001", "8", "8 of 8", "−3 %", "−3 %", "−6 %", "−2 %", "−4 %"}, nodescreen.Ranked(ranked[4:5]).Groups[0].Rows[0].Cells, "without findings the table has no reasons")
}
