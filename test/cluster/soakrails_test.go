package cluster

import (
	"crypto/sha256"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// planted are the faults of the survey, and what must be named because of them.
const planted = " rails --backend loopback -q --fault slow_rail:node=5,rail=2,left=0.8 --fault slow_link:node=9,a=1,b=6,left=0.7"

// TestSoakClusterRails runs zbench rails with a process for each GPU of the cluster: 1,024
// under make soak-cluster. It names what it names in one process, from the same times.
func TestSoakClusterRails(t *testing.T) {
	zbench := built(t)
	if os.Getenv("ZBENCH_SOAK") == "" {
		t.Skip("make soak-cluster runs it on 128 nodes")
	}
	nodes := nodesOfCluster(t)
	dir := t.TempDir()
	r := bash(t, zbench+planted+" --launch inproc --nodes "+nodes+" --out "+dir+"/alone")
	require.Equal(t, 3, r.code)

	meet := memory(t)
	watch := watchMachine(dir + "/run/rails.json")
	r = batch(t, "--nodes="+nodes+" --ntasks-per-node=8 --gpus-per-node=8", "cat /proc/loadavg\n"+zbench+planted+" --launch slurm --out "+dir+"/run; code=$?; tail -c 300 "+dir+"/run/run.json; [ $code = 3 ]", "TMPDIR="+meet)
	seen := watch.end()
	require.Zero(t, r.code)
	require.Equal(t, sha256.Sum256([]byte(read(t, dir+"/alone/rounds.csv"))), sha256.Sum256([]byte(read(t, dir+"/run/rounds.csv"))), "rounds.csv differs")
	require.Equal(t, namedBy(t, dir+"/alone"), namedBy(t, dir+"/run"))
	require.Len(t, namedBy(t, dir+"/run"), 2)
	nothingLeft(t, zbench, meet)

	page, err := os.Stat(dir + "/run/report.html")
	require.NoError(t, err)
	t.Logf(`
%s nodes of 8 processes: zbench%s
  from the batch script  %.1f s
  the survey (run.json)  %.1f s
  rounds                 %d
  report.html            %d KiB
  available memory       falls by %.2f GiB
  load average           %.1f before, %.1f at most
`, nodes, planted, seen.seconds, secondsOf(t, dir+"/run"), roundsOf(t, dir+"/run"), page.Size()>>10, gib(seen.before-seen.least), seen.loadBefore, seen.loadMost)
}

// nodesOfCluster is the number of nodes of the cluster around the tests.
func nodesOfCluster(t *testing.T) string {
	t.Helper()
	r := bash(t, "sinfo -h -o %D | head -1 | tr -d ' \n'")
	require.Zero(t, r.code)
	return r.out
}

// railsRun is what the test reads of rails.json.
type railsRun struct {
	Survey struct {
		Rounds int `json:"rounds"`
	} `json:"survey"`
	Findings []struct {
		Name string  `json:"name"`
		Lost float64 `json:"lost"`
	} `json:"findings"`
}

func readRails(t *testing.T, dir string) (d railsRun) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(read(t, filepath.Join(dir, "rails.json"))), &d))
	return d
}

func namedBy(t *testing.T, dir string) any { t.Helper(); return readRails(t, dir).Findings }
func roundsOf(t *testing.T, dir string) int {
	t.Helper()
	return readRails(t, dir).Survey.Rounds
}

// secondsOf is the time of a run by its run.json.
func secondsOf(t *testing.T, dir string) float64 {
	t.Helper()
	var run struct {
		Seconds float64 `json:"seconds"`
	}
	require.NoError(t, json.Unmarshal([]byte(read(t, dir+"/run.json")), &run))
	return run.Seconds
}
