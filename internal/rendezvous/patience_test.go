package rendezvous_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"zbench/bench/run/plan"
	"zbench/bench/run/record"
	"zbench/internal/rendezvous"
)

// stalling is a process whose fourth launching call does not return for a day, or fails.
type stalling struct {
	toy
	fails bool
}

func (s *stalling) Burst(ctx context.Context, b plan.Bursts) ([]float64, error) {
	if s.calls < 3 {
		return s.toy.Burst(ctx, b)
	}
	if s.fails {
		return nil, errors.New("the GPU has fallen off the bus")
	}
	time.Sleep(24 * time.Hour)
	return nil, nil
}

// A process that is there and does not report hangs: its case has failed. So it is when the
// order's limit has passed; soon after another one has failed; and if it is the leader's own.
func TestHangingCallIsGivenUp(t *testing.T) {
	for name, c := range map[string]struct {
		hangs, fails int
		within       time.Duration
		says         []string
	}{
		"no process fails":  {2, -1, 7 * time.Minute, []string{"process 2 on node0: (no report: the limit of 3m35s has passed|a call of a library does not return)"}},
		"another one fails": {2, 1, 15 * time.Second, []string{"process 1 on node0: the GPU has fallen off the bus", "process 2 on node0: (no report: 10s have passed since another process failed|a call of a library does not return)"}},
		"the leader hangs":  {0, 1, 15 * time.Second, []string{"process 0 on node0: a call of a library does not return", "process 1 on node0: the GPU has fallen"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				slow := func(bool, int) fate { return fate{delay: time.Millisecond} } // the leader gives up first
				options := inMemory(t, 3, map[int]func(bool, int) fate{1: slow, 2: slow})
				process := func(n int) plan.Process {
					switch n {
					case c.hangs:
						return &stalling{toy: toy{first: n, ranks: 1}}
					case c.fails:
						return &stalling{toy: toy{first: n, ranks: 1}, fails: true}
					}
					return &toy{first: n, ranks: 1}
				}
				l, err := rendezvous.Serve(t.Context(), options(0))
				require.NoError(t, err)
				left := make(chan error, 2)
				for n := 1; n < 3; n++ {
					go func() {
						f, err := rendezvous.Join(t.Context(), options(n))
						if err == nil {
							err = plan.Follow(t.Context(), process(n), f)
							f.Close()
						}
						left <- err
					}()
				}
				begin := time.Now()
				results := lead(t, l, process(0), 3)
				require.Less(t, time.Since(begin), c.within)
				for _, text := range c.says {
					require.Regexp(t, text, failure(results))
				}
				require.NotContains(t, failure(results), record.LostProcess)
				t.Log(<-left, <-left)
				require.Less(t, time.Since(begin), c.within+10*time.Second, "a follower hangs")
			})
		})
	}
}

// A process that stands still after its report makes the others fail: its loss is the cause,
// and the case is interrupted. It need not have missed a heartbeat. The same failure while all
// processes answer is one of the case.
func TestFrozenAfterItsReport(t *testing.T) {
	for _, relayed := range []bool{false, true} {
		for _, frozen := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				var still atomic.Bool
				direct := inMemory(t, 3, map[int]func(bool, int) fate{2: func(bool, int) fate { return fate{stall: still.Load()} }})
				options := func(process int) rendezvous.Member {
					o := direct(process)
					o.Heartbeat = time.Hour
					if relayed && process > 0 {
						o.Relay, o.Self.LocalProcess = o.Token.LocalAddress("node1"), process-1
					}
					return o
				}
				l, err := rendezvous.Serve(t.Context(), options(0))
				require.NoError(t, err)
				one, two := joined(t, options(1)), joined(t, options(2))
				require.NoError(t, l.Wait(t.Context()))
				require.NoError(t, l.Start("go"))
				f1, f2 := <-one, <-two
				l.Send(plan.Order{Verb: plan.AskBudget{}})
				for _, f := range []*rendezvous.Follower{f2, f1} {
					_, err := f.Next()
					require.NoError(t, err)
					if f == f2 {
						require.NoError(t, f.Report(plan.Report{}))
						time.Sleep(time.Second) // the report arrives
						still.Store(frozen)
						continue
					}
					require.NoError(t, f.Report(plan.Report{Failure: &plan.Failure{Kind: plan.FailedLate, Message: "not finished at the deadline"}}))
				}
				begin := time.Now()
				reports := l.Reports(plan.Report{})
				require.LessOrEqual(t, time.Since(begin), 20*time.Second)
				require.Equal(t, plan.FailedLate, reports[0].Failure.Kind)
				if frozen {
					require.Equal(t, plan.FailedLost, reports[1].Failure.Kind)
					require.Equal(t, "no answer for 10s after another process had failed", reports[1].Failure.Message)
				} else {
					require.Nil(t, reports[1].Failure)
				}
				still.Store(false)
				l.Close("the test is over", 0)
				f2.Close()
				f1.Close()
			})
		}
	}
}

// The leader has results to write when all others have been sent the order to end. They wait
// for it: one that stands still then is found out within a heartbeat, by every process.
func TestALeaderThatStandsStillAtTheEnd(t *testing.T) {
	for _, frozen := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var still atomic.Bool
			stall := func(bool, int) fate { return fate{stall: still.Load()} }
			direct := inMemory(t, 3, map[int]func(bool, int) fate{1: stall})
			options := func(process int) rendezvous.Member {
				o := direct(process)
				if process > 0 {
					o.Relay, o.Self.LocalProcess = o.Token.LocalAddress("node1"), process-1
				}
				return o
			}
			l, err := rendezvous.Serve(t.Context(), options(0))
			require.NoError(t, err)
			one, two := joined(t, options(1)), joined(t, options(2))
			require.NoError(t, l.Wait(t.Context()))
			require.NoError(t, l.Start("go"))
			ends := make(chan error, 2)
			for _, f := range []*rendezvous.Follower{<-one, <-two} {
				go func() {
					err := plan.Follow(t.Context(), &toy{}, f)
					if err == nil {
						err = f.Wait()
					}
					f.Close()
					ends <- err
				}()
			}
			l.Send(plan.Order{Verb: plan.End{}})
			time.Sleep(time.Second) // the order arrives
			still.Store(frozen)
			begin := time.Now()
			time.AfterFunc(10*time.Minute, func() { l.Close("it has ended", 3) })
			all := []error{<-ends, <-ends}
			err = errors.Join(all...) // of those of a node the first one tells
			if frozen {
				require.ErrorContains(t, err, "no heartbeat for 30s")
				require.LessOrEqual(t, time.Since(begin), 2*time.Minute)
			} else {
				for _, err := range all { // the relayed one hears it, too
					ended, ok := errors.AsType[*rendezvous.Ended](err)
					require.True(t, ok, err)
					require.Equal(t, 3, ended.Code, "the leader's exit code")
				}
				require.Equal(t, 10*time.Minute, time.Since(begin))
			}
			still.Store(false)
			l.Close("it has ended", 0)
		})
	}
}

// What a launcher tells of a process ends the wait for all, whether it has registered or not.
func TestEarlyEndIsNamed(t *testing.T) {
	for process, says := range map[int]string{
		1: "lost process 1 on node0: exit status 127, before all had registered; 1 of 3 processes have registered; missing: processes 1–2",
		2: "lost process 2: exit status 127, before all had registered; 2 of 3 processes have registered; missing: process 2",
	} {
		synctest.Test(t, func(t *testing.T) {
			options := inMemory(t, 3, nil)
			l, err := rendezvous.Serve(t.Context(), options(0))
			require.NoError(t, err)
			left := make(chan error, 1)
			go func() { left <- follow(t.Context(), options(1), &toy{}) }()
			time.Sleep(time.Second)
			l.Ended(process, "exit status 127")
			l.Ended(7, "of another world")
			begin := time.Now()
			err = l.Wait(t.Context())
			require.EqualError(t, err, says)
			require.Zero(t, time.Since(begin))
			l.Close(err.Error(), 0)
			require.ErrorContains(t, <-left, "exit status 127")
		})
	}
}

// The processes of a node hear at once that the leader is gone, although the node's first
// process is there.
func TestLostLeaderIsPassedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var cut atomic.Bool
		options := inMemory(t, 3, map[int]func(bool, int) fate{1: func(bool, int) fate { return fate{cut: cut.Load()} }})
		with := func(process int) rendezvous.Member {
			o := options(process)
			o.Self.Host, o.Self.LocalProcess = "node1", process-1
			if process > 0 {
				o.Relay = o.Token.LocalAddress("node1")
			}
			return o
		}
		o := with(0)
		o.Self.LocalProcess = 0
		l, err := rendezvous.Serve(t.Context(), o)
		require.NoError(t, err)
		one, two := joined(t, with(1)), joined(t, with(2))
		require.NoError(t, l.Wait(t.Context()))
		require.NoError(t, l.Start("go"))
		f1, f2 := <-one, <-two
		cut.Store(true)
		begin := time.Now()
		for f1.Context().Err() == nil {
			l.Send(plan.Order{Verb: plan.AskBudget{}})
			for _, f := range []*rendezvous.Follower{f1, f2} {
				if _, err := f.Next(); err == nil {
					_ = f.Report(plan.Report{}) // the connection may be gone
				}
			}
			l.Reports(plan.Report{})
		}
		<-f2.Context().Done()
		require.Less(t, time.Since(begin), time.Second)
		f2.Close()
		f1.Close()
		l.Close("", 0)
		require.Less(t, time.Since(begin), 2*time.Second)
	})
}
