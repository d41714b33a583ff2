package cluster

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Nodes that a screen has failed take no part: srun and mpirun start no process there.
func TestExcludedNodesTakeNoPart(t *testing.T) {
	zbench := built(t)
	const few = " collectives all_reduce --backend loopback -b 1K -e 4K -q --exclude-bad bad"
	for _, c := range []struct {
		name, run string
		nodes     string
	}{
		{"srun", "salloc -Q --nodes=3 --ntasks-per-node=4 --gpus-per-node=4 bash -c \"exec $SWEEP --launch slurm --gpus-per-node 4 --slurm-args --task-prolog=$PWD/prolog\"", "node1 node3"},
		{"mpirun with a hostfile", "printf 'localhost slots=8\\nnode2 slots=8\\n' >hosts; exec $SWEEP --hostfile hosts", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := startRun(t, zbench, few, "mkdir -p bad; echo node2 >bad/fail.txt; echo '{\"fail\": [\"node2\"]}' >bad/screen.json; printf '#!/bin/bash\\necho $SLURMD_NODENAME >>'$PWD'/nodes\\n' >prolog; chmod +x prolog; "+c.run)
			code, said := r.ends(t, lateWithin)
			require.Zero(t, code)
			require.Contains(t, said, "leaving out node2: bad/fail.txt")
			if c.nodes != "" {
				seen := map[string]bool{}
				for host := range strings.FieldsSeq(read(t, r.dir+"/nodes")) {
					seen[host] = true
				}
				require.Len(t, seen, 2)
				require.NotContains(t, seen, "node2")
			}
			require.FileExists(t, r.dir+"/run/report.html")
		})
	}
}
