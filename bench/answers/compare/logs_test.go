package compare

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/files/peers"
)

// log is one run's output of rccl-tests under a version of RCCL. At 2 MiB it takes extra
// more, as ROCm/rocm-systems#3134 has it of one size.
func log(t *testing.T, run int, version string, extra float64) Run {
	t.Helper()
	var b strings.Builder
	b.WriteString("# nThread 1 nGpus 1 minBytes 1048576 maxBytes 8388608 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0\n#\n")
	b.WriteString("RCCL version : " + version + "-HEAD:7d8d67c\n# Using devices\n")
	for rank := range 8 {
		fmt.Fprintf(&b, "#   Rank  %d Group  0 Pid 10%d on     node-a device  %d [0000:%d5:00.0] AMD Instinct MI300X\n", rank, rank, rank, rank)
	}
	b.WriteString("#\n#                                                              out-of-place                       in-place\n")
	b.WriteString("#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n")
	b.WriteString("#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n")
	for i, bytes := range []int64{1 << 20, 1 << 21, 1 << 22, 1 << 23} {
		us := (15 + float64(bytes)/1e5) * (1 + 0.0015*float64((run*7+i*3)%11-5))
		if bytes == 1<<21 {
			us *= 1 + extra
		}
		half := fmt.Sprintf(" %8.2f %7.2f %7.2f      0", us, float64(bytes)/us/1e3, float64(bytes)/us/1e3*1.75)
		fmt.Fprintf(&b, "%12d %12d     float     sum      -1 %s %s\n", bytes, bytes/4, half, half)
	}
	rec, err := peers.Parse(strings.NewReader(b.String()), peers.Hints{File: "run.log", Collective: "all_reduce"})
	require.NoError(t, err)
	return Run{fmt.Sprintf("%s run %d", version, run), rec}
}

// Logs of two versions of RCCL: the size that got slower is named, the versions are
// listed, and the same versions have no difference.
func TestLogsOfTwoVersions(t *testing.T) {
	side := func(from int, version string, extra float64) (out []Run) {
		for i := range 4 {
			out = append(out, log(t, from+i, version, extra))
		}
		return out
	}
	d := compared(t, side(0, "2.22.3", 0), side(6, "2.26.6", 0.2))
	require.Equal(t, Counts{Slower: 2, Same: 6}, d.Counts)
	for _, c := range d.Cases {
		require.Equal(t, c.Bytes == 1<<21, c.Verdict == Slower, c.Key)
	}
	versions := 0
	for _, c := range d.Changes {
		if strings.HasPrefix(c.What, "library") {
			versions++
			require.Contains(t, c.Base[0], "2.22.3")
			require.Contains(t, c.New[0], "2.26.6")
		}
	}
	require.Equal(t, 1, versions)
	d = compared(t, side(0, "2.26.6", 0), side(6, "2.26.6", 0))
	require.Equal(t, Counts{Same: 8}, d.Counts)
	require.Equal(t, Same, d.Verdict)
}
