package rendezvous_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"zbench/bench/run/plan"
	"zbench/internal/rendezvous"
)

// Every process gets its own order, and no other's, directly or through its node's first
// process; their reports come back in order.
func TestEachProcessGetsItsOwnOrder(t *testing.T) {
	for _, relayed := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			options := inMemory(t, 8, nil)
			with := func(process int) rendezvous.Member {
				o := options(process)
				if relayed {
					o.Relay = o.Token.LocalAddress(o.Self.Host)
				}
				return o
			}
			l, err := rendezvous.Serve(t.Context(), with(0))
			require.NoError(t, err)
			got := make(chan [2]int, 8)
			for process := 1; process < 8; process++ {
				joining := joined(t, with(process))
				go func() {
					f := <-joining
					for {
						o, err := f.Next()
						if err != nil || o.Ends() {
							f.Close()
							return
						}
						got <- [2]int{process, o.Verb.(plan.WarmUp).Launches}
						_ = f.Report(plan.Report{Seconds: []float64{float64(10 * process)}})
					}
				}()
			}
			require.NoError(t, l.Wait(t.Context()))
			require.NoError(t, l.Start("go"))
			var orders []plan.Order
			for process := 1; process < 8; process++ {
				orders = append(orders, plan.Order{Verb: plan.WarmUp{Launches: 100 + process}})
			}
			l.SendEach(orders)
			reports := l.Reports(plan.Report{})
			for i, r := range reports {
				require.Nil(t, r.Failure)
				require.Equal(t, plan.Times{float64(10 * (i + 1))}, r.Seconds)
			}
			for range 7 {
				one := <-got
				require.Equal(t, 100+one[0], one[1])
			}
			l.Send(plan.Order{Verb: plan.End{}})
			l.Close("", 0)
		})
	}
}
