package peers

import (
	"fmt"
	"strings"
	"testing"
)

// manyRows prints a table with the given number of rows: of one size, whose time
// drifts, or each of its own.
func manyRows(rows int, sizes bool) string {
	var b strings.Builder
	b.WriteString("# Collective test starting: all_reduce_perf\n")
	b.WriteString("# nThread 1 nGpus 2 minBytes 8 maxBytes 8 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0\n")
	b.WriteString("#  Rank  0 Group  0 Pid 1 on node-a device  0 [0000:05:00] AMD Instinct MI300X\n#  Rank  1 Group  0 Pid 1 on node-a device  1 [0000:15:00] AMD Instinct MI300X\n")
	fmt.Fprintf(&b, "# %10s  %12s  %8s  %6s  %6s  %7s  %6s  %6s  %6s  %7s  %6s  %6s  %6s\n", "size", "count", "type", "redop", "root",
		"time", "algbw", "busbw", "#wrong", "time", "algbw", "busbw", "#wrong")
	for i := range rows {
		size, us := 1<<20, 20+5*float64(i)/float64(rows)
		if sizes {
			size = 1024 + 4*i
		}
		alg := float64(size) / us / 1e3
		side := fmt.Sprintf("  %7.2f  %6.2f  %6.2f  %6d", us, alg, alg, 0)
		fmt.Fprintf(&b, "%12d  %12d  %8s  %6s  %6d%s%s\n", size, size/4, "float", "sum", -1, side, side)
	}
	b.WriteString("# Out of bounds values : 0 OK\n# Avg bus bandwidth    : nan\n")
	return b.String()
}

// The time and the allocations of a row must not depend on how many there are.
func BenchmarkParse(b *testing.B) {
	for _, c := range []struct {
		name  string
		rows  int
		sizes bool
	}{{"one_size/1e3", 1e3, false}, {"one_size/1e5", 1e5, false}, {"one_size/1e6", 1e6, false}, {"sizes/1e3", 1e3, true}, {"sizes/3e4", 3e4, true}} {
		b.Run(c.name, func(b *testing.B) {
			log := manyRows(c.rows, c.sizes)
			b.SetBytes(int64(len(log)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Parse(strings.NewReader(log), Hints{}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(c.rows), "ns/row")
		})
	}
}

// Lines of NCCL_DEBUG around a table cost little.
func BenchmarkDebugLines(b *testing.B) {
	const lines = 1e5
	log := manyRows(10, false) + strings.Repeat("node-a:4021:4035 [3] NCCL INFO Channel 17/0 : 3[3] -> 11[3] [send] via NET/IB/3/GDRDMA\n", lines)
	b.SetBytes(int64(len(log)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(strings.NewReader(log), Hints{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/lines, "ns/line")
}
