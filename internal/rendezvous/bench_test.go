package rendezvous_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/plan"
	"zbench/internal/rendezvous"
)

// crowd is a world of goroutines of which each answers orders at once.
func crowd(b *testing.B, n int, relayed bool) (*rendezvous.Leader, func()) {
	token := rendezvous.NewToken()
	on := func(process int, address string) rendezvous.Options {
		o := patient(rendezvous.Options{Token: token, Self: self(process, n), Address: address})
		o.Self.LocalProcess, o.Self.Host = process%8, fmt.Sprintf("node%d", process/8)
		if relayed {
			o.Relay = token.LocalAddress(o.Self.Host)
		}
		return o
	}
	o := on(0, "")
	at := listenAnywhere(&o)
	l, err := rendezvous.Serve(b.Context(), o)
	require.NoError(b, err)
	address := at()
	left := make(chan error, n)
	for process := 1; process < n; process++ {
		go func() { left <- follow(context.Background(), on(process, address), &toy{first: process, ranks: 1}) }()
	}
	require.NoError(b, l.Wait(b.Context()))
	require.NoError(b, l.Start("go"))
	return l, func() {
		l.Send(plan.Order{Do: plan.DoEnd})
		l.Close("")
		for range n - 1 {
			require.NoError(b, <-left)
		}
	}
}

var crowds = []struct {
	processes int
	relayed   bool
}{{1024, false}, {1024, true}}

// BenchmarkRegister is the time from Serve until all processes have registered and
// connected, the clients' part included.
func BenchmarkRegister(b *testing.B) {
	for _, c := range crowds {
		b.Run(fmt.Sprintf("processes=%d/gathered=%t", c.processes, c.relayed), func(b *testing.B) {
			for b.Loop() {
				_, end := crowd(b, c.processes, c.relayed)
				b.StopTimer()
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				b.ReportMetric(float64(m.Sys)/(1<<20), "MiB")
				end()
				b.StartTimer()
			}
		})
	}
}

// BenchmarkOrder is the time of one order from Send until all reports are there, as
// those of a batch of 12 bursts.
func BenchmarkOrder(b *testing.B) {
	for _, c := range crowds {
		b.Run(fmt.Sprintf("processes=%d/gathered=%t", c.processes, c.relayed), func(b *testing.B) {
			l, end := crowd(b, c.processes, c.relayed)
			defer end()
			first := sweep(c.processes)[0]
			l.Send(plan.Order{Do: plan.DoBegin, Case: &first})
			l.Reports()
			order := plan.Order{Do: plan.DoBurst, Bursts: &plan.Bursts{Count: 12, Iterations: 20}}
			for b.Loop() {
				l.Send(order)
				for _, r := range l.Reports() {
					if len(r.Seconds) != 12 {
						b.Fatal(r.Failure)
					}
				}
			}
		})
	}
}
