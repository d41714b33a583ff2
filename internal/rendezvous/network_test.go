package rendezvous_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"zbench/bench/run/plan"
	"zbench/bench/run/record"
	"zbench/internal/rendezvous"
)

// outcome is how a world in memory ended.
type outcome struct {
	results  []record.Result
	register error
	lost     []rendezvous.Loss
	left     []error
	took     time.Duration
}

// runInMemory runs a world of n processes to its end, whatever happens to it.
func runInMemory(t *testing.T, n int, options func(process int) rendezvous.Member) (out outcome) {
	begin := time.Now()
	lost := make(chan rendezvous.Loss, n)
	o := options(0)
	o.OnLost = func(l rendezvous.Loss) { lost <- l }
	l, err := rendezvous.Serve(t.Context(), o)
	require.NoError(t, err)
	left := followers(t, n, options)
	for out.register = rendezvous.ErrMissing; errors.Is(out.register, rendezvous.ErrMissing); {
		if out.register = l.Wait(t.Context()); out.register == nil {
			out.register = l.Start("go")
		}
	}
	if out.register == nil {
		g, ctx := plan.Lead(t.Context(), &toy{ranks: 1}, l, l.Members(1))
		out.results = plan.Run(ctx, sweep(n), g, runOptions(), func(record.Result) {})
		g.End()
	}
	l.Close("not all processes have registered", 0)
	out.took = time.Since(begin)
	for range n - 1 {
		out.left = append(out.left, <-left)
	}
	synctest.Wait() // who serves a connection tells of its loss after Close
	close(lost)
	for one := range lost {
		out.lost = append(out.lost, one)
	}
	return out
}

// failure is the reason of the case that ended the sweep.
func failure(results []record.Result) string {
	i := slices.IndexFunc(results, func(r record.Result) bool { return r.Status == record.Failed || r.Lost() })
	if i < 0 {
		return ""
	}
	return results[i].Reason
}

// Delays of milliseconds to seconds on every wire change no figure.
func TestDelaysChangeNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wires := map[int]func(bool, int) fate{}
		for p := range 8 {
			wires[p] = func(_ bool, chunk int) fate {
				r := rand.New(rand.NewPCG(uint64(p), uint64(chunk)))
				return fate{delay: time.Duration(r.IntN(3000)) * time.Millisecond}
			}
		}
		out := runInMemory(t, 8, inMemory(t, 8, wires))
		require.NoError(t, out.register)
		require.Empty(t, out.lost)
		require.Equal(t, oracle(8), out.results)
	})
}

// A connection that is cut anywhere leaves the same record, or the loss of its process
// by name; no other process is affected, and all end.
func TestCutsAreHealedOrNamed(t *testing.T) {
	whole, named := 0, 0
	for chunk := range 40 {
		for _, up := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				var cut atomic.Bool
				out := runInMemory(t, 4, inMemory(t, 4, map[int]func(bool, int) fate{
					2: func(to bool, n int) fate { return fate{cut: to == up && n == chunk && cut.CompareAndSwap(false, true)} },
				}))
				require.NoError(t, out.register)
				if len(out.lost) == 0 {
					require.Equal(t, oracle(4), out.results)
					whole++
					return
				}
				named++
				require.Len(t, out.lost, 1, "%v", out.lost)
				require.Equal(t, 2, out.lost[0].Process)
				require.Equal(t, "node0", out.lost[0].Host)
				require.Contains(t, out.lost[0].Why, "its connection")
				if why := failure(out.results); why != "" {
					require.Contains(t, why, "process 2 on node0: its connection")
				} else { // cut after the last report
					require.Equal(t, oracle(4), out.results)
				}
			})
		}
	}
	require.Greater(t, whole, 3, "cuts before the start are healed")
	require.Greater(t, named, 20)
}

// A wire that stalls for less than the heartbeat changes nothing; one that stalls for
// longer is a loss within the heartbeat, by name.
func TestStalls(t *testing.T) {
	for _, stalled := range []time.Duration{9 * time.Second, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			options := inMemory(t, 4, map[int]func(bool, int) fate{
				3: func(up bool, n int) fate {
					if up && n == 20 {
						return fate{delay: stalled, stall: stalled == time.Hour}
					}
					return fate{}
				},
			})
			out := runInMemory(t, 4, options)
			require.NoError(t, out.register)
			if stalled < time.Hour {
				require.Empty(t, out.lost)
				require.Equal(t, oracle(4), out.results)
				return
			}
			require.Len(t, out.lost, 1)
			require.Equal(t, rendezvous.Loss{Process: 3, Host: "node0", Why: "no heartbeat for 30s"}, out.lost[0])
			require.Contains(t, failure(out.results), "process 3 on node0: no heartbeat for 30s")
		})
	}
}

// A node's first process that is cut off takes the others of its node with it: each
// is named.
func TestLossOfARelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plain := inMemory(t, 8, map[int]func(bool, int) fate{
			4: func(up bool, n int) fate { return fate{cut: up && n == 20} },
		})
		out := runInMemory(t, 8, func(process int) rendezvous.Member {
			o := plain(process)
			o.Relay = o.Token.LocalAddress(o.Self.Host)
			return o
		})
		require.NoError(t, out.register)
		require.Len(t, out.lost, 4)
		for i, one := range out.lost {
			require.Equal(t, 4+i, one.Process)
			require.Equal(t, "node1", one.Host)
		}
		require.Contains(t, out.lost[1].Why, "process 4, through which it is connected: its connection")
	})
}

// A process of a node that is lost behind the node's first one is named alone.
func TestLossBehindARelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plain := inMemory(t, 8, map[int]func(bool, int) fate{
			6: func(up bool, n int) fate { return fate{cut: up && n == 20} },
		})
		out := runInMemory(t, 8, func(process int) rendezvous.Member {
			o := plain(process)
			o.Relay = o.Token.LocalAddress(o.Self.Host)
			return o
		})
		require.NoError(t, out.register)
		require.Len(t, out.lost, 1)
		require.Equal(t, 6, out.lost[0].Process)
		require.Equal(t, "node1", out.lost[0].Host)
		require.Contains(t, failure(out.results), "process 6 on node1: its connection")
	})
}

// Real connections through real proxies, one of them cut.
func TestCutOverTCP(t *testing.T) {
	o := patient(rendezvous.Member{Token: rendezvous.NewToken(), Self: self(0, 8)})
	lost := make(chan rendezvous.Loss, 8)
	o.OnLost = func(l rendezvous.Loss) { lost <- l }
	l, address := serve(t, o)
	over := make(chan struct{})
	defer close(over)
	left := followers(t, 8, func(process int) rendezvous.Member {
		o := patient(rendezvous.Member{Token: o.Token, Self: self(process, 8), Address: address})
		w := wire{func(up bool, n int) fate { return fate{delay: time.Millisecond, cut: process == 5 && up && n == 20} }, over}
		o.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			far, err := new(net.Dialer).DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return w.join(far), nil
		}
		return o
	})
	results := lead(t, l, &toy{ranks: 1}, 8)
	require.Equal(t, 5, (<-lost).Process)
	require.Contains(t, failure(results), "process 5 on node1: its connection")
	failed := 0
	for range 7 {
		if err := <-left; err != nil {
			require.ErrorContains(t, err, "lost the process that leads")
			failed++
		}
	}
	require.Equal(t, 1, failed)
}

// Without a leader, a process tries again at growing intervals until its time is up. After 10 s it says what it waits for.
func TestNoLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := inMemory(t, 2, nil)(1)
		tries := 0
		o.Dial = func(context.Context, string, string) (net.Conn, error) {
			tries++
			return nil, errors.New("connection refused")
		}
		begin, said := time.Now(), []string{}
		o.OnWait = func(err error) {
			require.InDelta(t, 10, time.Since(begin).Seconds(), 3)
			said = append(said, err.Error())
		}
		_, err := rendezvous.Join(t.Context(), o)
		require.Equal(t, []string{"process 1 waits for the leader, rank 0, at leader:1, up to 5m0s: connection refused"}, said)
		require.ErrorContains(t, err, "process 1 did not reach the leader at leader:1 within 5m0s: connection refused")
		require.Equal(t, 5*time.Minute, time.Since(begin))
		require.Greater(t, tries, 100)
		require.Less(t, tries, 320)
	})
}

// A leader that listens late is found.
func TestLateLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		options := inMemory(t, 4, nil)
		left := followers(t, 4, options)
		time.Sleep(4 * time.Minute)
		l, err := rendezvous.Serve(t.Context(), options(0))
		require.NoError(t, err)
		require.Equal(t, oracle(4), lead(t, l, &toy{ranks: 1}, 4))
		allLeave(t, left, 4)
	})
}
