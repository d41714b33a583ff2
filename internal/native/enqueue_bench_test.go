package native_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// What the driver itself costs per launch: bursts over calls that do nothing.
// docs/MEASURED.md has the figures.
func BenchmarkEnqueue(b *testing.B) {
	for _, ranks := range []int{1, 8} {
		b.Run(fmt.Sprintf("ranks=%d", ranks), func(b *testing.B) {
			const iterations = 1000 // one crossing into C is not what is measured
			r := newRig(b, ranks, false)
			r.work(b, simple("all_reduce"))
			launches := 0
			for b.Loop() {
				_, err := r.b.Burst(iterations, 0)
				require.NoError(b, err)
				launches += iterations
			}
			ns := float64(b.Elapsed().Nanoseconds()) / float64(launches)
			b.ReportMetric(ns, "ns/launch")
			b.ReportMetric(ns/float64(ranks), "ns/launch/rank")
			b.ReportMetric(0, "ns/op")
		})
	}
}
