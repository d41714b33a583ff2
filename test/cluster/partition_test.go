package cluster

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// scancel ends the tasks by SIGTERM, and by SIGKILL soon after: what is finished is there.
func TestScancel(t *testing.T) {
	zbench := built(t)
	r := startRun(t, zbench, seconds, "salloc -Q --nodes=2 --ntasks-per-node=4 --gpus-per-node=4 bash -c 'echo $SLURM_JOB_ID >job; exec $SWEEP --launch slurm --nodes 2 --gpus-per-node 4'")
	r.parts(t, 3)
	require.NoError(t, exec.Command("scancel", strings.TrimSpace(read(t, r.dir+"/job"))).Run())
	code, _ := r.ends(t, lateWithin)
	require.NotZero(t, code)
	r.resumes(t, zbench, "", 0)
	nothingLeft(t, zbench, r.dir)
}

// A network that stands still for good ends the run on both sides: the leader names what it
// has lost.
func TestPartition(t *testing.T) {
	zbench := built(t)
	namespaces(t)
	const port = 21005
	p := newProxy(t, fmt.Sprintf("%s:%d", bridge, port), fmt.Sprintf("%s:%d", address(0), port), 0)
	r := start(t, zbench, seconds+short, p, port)
	r.begun(t)
	p.still.Store(true)
	began := time.Now()
	require.Equal(t, 1, r.wait(t))
	require.Less(t, time.Since(began), lateWithin+slack)
	require.Regexp(t, `processes? (4|8|12)\b.*no heartbeat for 4s.* culprit: ranks 4, 8, 12\b`, strings.Join(strings.Fields(r.said[0].String()), " "))
	for rank := perHost; rank < hosts*perHost; rank++ {
		require.Equal(t, 1, r.procs[rank].ProcessState.ExitCode(), "rank %d lost its leader", rank)
	}
	nothingLeft(t, zbench, filepath.Dir(r.out))
	(&running{dir: filepath.Dir(r.out)}).resumes(t, zbench, "", 0)
}
