package rendezvous_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"zbench/bench/run/plan"
	"zbench/bench/run/record"
	"zbench/internal/rendezvous"
)

// joined joins in the background, for processes whose end the test drives itself.
func joined(t *testing.T, o rendezvous.Member) chan *rendezvous.Follower {
	c := make(chan *rendezvous.Follower, 1)
	go func() {
		f, err := rendezvous.Join(t.Context(), o)
		if err != nil {
			panic(err)
		}
		c <- f
	}()
	return c
}

// While processes are missing, the leader tells which, at regular times; when the time
// is up, its error names them and the refused ones say why.
func TestMissingProcessesAreNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		options := inMemory(t, 8, nil)
		var said []string
		o := options(0)
		o.Register, o.StatusEvery = time.Minute, 25*time.Second
		o.OnStatus = func(s rendezvous.Status) { said = append(said, s.Text()) }
		begin := time.Now()
		l, err := rendezvous.Serve(t.Context(), o)
		require.NoError(t, err)
		left := make(chan error, 8)
		for _, process := range []int{1, 2, 5, 7} {
			o := options(process)
			if process == 5 {
				o.Self.Build = "0.9"
			}
			go func() { left <- follow(t.Context(), o, &toy{}) }()
		}
		refused := `process 5 on node1: zbench is "0.9" there and "1.0" in the leader: use the same in all processes`
		require.ErrorContains(t, <-left, "process 5 cannot join the run at leader:1: refused (other build): "+refused)
		err = l.Wait(t.Context())
		require.EqualError(t, err, "after 1m0s 4 of 8 processes have registered; missing: processes 3–6; refused (other build): "+refused)
		require.Equal(t, time.Minute, time.Since(begin))
		l.Close(err.Error(), 0)
		for range 3 {
			require.ErrorContains(t, <-left, "the leader ended the run: after 1m0s 4 of 8")
		}
		missing := "4 of 8 processes have registered; missing: processes 3–6; refused (other build): " + refused
		require.Equal(t, []string{missing, missing}, said)
	})
}

// A process that leaves before the start is missing again, and may come back.
func TestProcessComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		options := inMemory(t, 3, nil)
		l, err := rendezvous.Serve(t.Context(), options(0))
		require.NoError(t, err)
		ctx, leave := context.WithCancel(t.Context())
		left := make(chan error, 3)
		go func() { left <- follow(ctx, options(1), &toy{}) }()
		time.Sleep(time.Second)
		require.Equal(t, []int{2}, l.Status().Missing)
		leave()
		require.ErrorIs(t, <-left, context.Canceled)
		time.Sleep(time.Second)
		require.Equal(t, []int{1, 2}, l.Status().Missing)
		require.Error(t, l.Start("too early"))
		again := followers(t, 3, options)
		require.Equal(t, oracle(3), lead(t, l, &toy{ranks: 1}, 3))
		allLeave(t, again, 3)
	})
}

// A loss, a stop and a cancellation arrive at once, while an order is executed.
func TestControlDoesNotWaitForOrders(t *testing.T) {
	for _, relayed := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			options := inMemory(t, 4, nil)
			with := func(process int) rendezvous.Member {
				o := options(process)
				o.Self.Host, o.Self.LocalProcess = "node1", process-1
				if relayed && process > 0 {
					o.Relay = o.Token.LocalAddress("node1")
				}
				return o
			}
			o := with(0)
			o.Self.LocalProcess = 0
			lost, stopped := make(chan rendezvous.Loss, 4), make(chan int, 4)
			o.OnLost = func(l rendezvous.Loss) { lost <- l }
			o.OnStop = func(process int) { stopped <- process }
			l, err := rendezvous.Serve(t.Context(), o)
			require.NoError(t, err)
			one, two, three := joined(t, with(1)), joined(t, with(2)), joined(t, with(3))
			require.NoError(t, l.Wait(t.Context()))
			require.NoError(t, l.Start("go"))
			f1, f2, f3 := <-one, <-two, <-three
			l.Send(plan.Order{Verb: plan.AskBudget{}})
			for _, f := range []*rendezvous.Follower{f1, f2, f3} {
				order, err := f.Next()
				require.NoError(t, err)
				require.Equal(t, plan.AskBudget{}, order.Verb)
			}
			begin := time.Now()
			require.NoError(t, f2.Stop())
			require.Equal(t, 2, <-stopped)
			f3.Close()
			require.Equal(t, rendezvous.Loss{Process: 3, Host: "node1", Why: "it left before the end of the run"}, <-lost)
			<-f1.Context().Done()
			<-f2.Context().Done()
			require.ErrorContains(t, context.Cause(f2.Context()), "the leader cancelled the run: lost process 3 on node1: it left")
			require.Less(t, time.Since(begin), time.Second)
			// A cancelled process still reports, and takes the order to end.
			require.NoError(t, f2.Report(plan.Report{Budget: plan.Room{Bytes: 2}}))
			require.NoError(t, f1.Report(plan.Report{Budget: plan.Room{Bytes: 1}}))
			reports := l.Reports(plan.Report{})
			require.Equal(t, int64(1), reports[0].Budget.Bytes)
			require.Equal(t, int64(2), reports[1].Budget.Bytes)
			require.Equal(t, plan.FailedLost, reports[2].Failure.Kind)
			l.Send(plan.Order{Verb: plan.End{}})
			for _, f := range []*rendezvous.Follower{f2, f1} {
				order, err := f.Next()
				require.NoError(t, err)
				require.True(t, order.Ends())
				f.Close()
			}
			l.Close("", 0)
			require.Empty(t, lost)
		})
	}
}

// A follower whose leader is silent knows it within the heartbeat, also while it
// executes an order.
func TestSilentLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		options := inMemory(t, 2, map[int]func(bool, int) fate{1: func(up bool, n int) fate { return fate{stall: !up && n == 12} }})
		l, err := rendezvous.Serve(t.Context(), options(0))
		require.NoError(t, err)
		one := joined(t, options(1))
		require.NoError(t, l.Wait(t.Context()))
		require.NoError(t, l.Start("go"))
		f := <-one
		begin := time.Now()
		for f.Context().Err() == nil && time.Since(begin) < time.Hour {
			l.Send(plan.Order{Verb: plan.AskBudget{}})
			if _, err := f.Next(); err != nil {
				break
			}
			require.NoError(t, f.Report(plan.Report{}))
			l.Reports(plan.Report{})
		}
		require.ErrorContains(t, context.Cause(f.Context()), "the connection to the leader ended")
		require.LessOrEqual(t, time.Since(begin), 31*time.Second)
		f.Close()
		l.Close("", 0)
	})
}

// A report that is too large or of another protocol is a failure of its process alone.
func TestUnreadableReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		options := inMemory(t, 3, nil)
		l, err := rendezvous.Serve(t.Context(), options(0))
		require.NoError(t, err)
		one, two := joined(t, options(1)), joined(t, options(2))
		require.NoError(t, l.Wait(t.Context()))
		require.NoError(t, l.Start("go"))
		f1, f2 := <-one, <-two
		l.Send(plan.Order{Verb: plan.AskBudget{}})
		_, err = f1.Next()
		require.NoError(t, err)
		_, err = f2.Next()
		require.NoError(t, err)
		require.NoError(t, f1.Report(plan.Report{Seconds: make([]float64, plan.MaxReport/8)}))
		require.NoError(t, f2.Report(plan.Report{Unverifiable: "no compiler"}))
		reports := l.Reports(plan.Report{})
		require.Equal(t, plan.FailedOrder, reports[0].Failure.Kind)
		require.Contains(t, reports[0].Failure.Message, "the limit is 2097152")
		require.Equal(t, "no compiler", reports[1].Unverifiable)
		l.Send(plan.Order{Verb: plan.End{}})
		f1.Close()
		f2.Close()
		l.Close("", 0)
	})
}

// A process that ends amid the sweep is named by the others' record.
func TestProcessDies(t *testing.T) {
	for _, environment := range []string{"", "RENDEZVOUS_RELAY=1"} {
		o := patient(rendezvous.Member{Token: rendezvous.NewToken(), Self: self(0, 8)})
		if environment != "" {
			o.Relay = o.Token.LocalAddress(o.Self.Host)
		}
		lost := make(chan rendezvous.Loss, 8)
		o.OnLost = func(l rendezvous.Loss) { lost <- l }
		l, address := serve(t, o)
		wait := children(t, o.Token, address, 8, environment, "RENDEZVOUS_DIES=6")
		results := lead(t, l, &toy{ranks: 1}, 8)
		require.Equal(t, 6, (<-lost).Process)
		require.Equal(t, record.Interrupted, results[0].Status)
		require.Contains(t, results[0].Reason, "a process was lost: process 6 on node1: its connection")
		require.NoError(t, wait())
	}
}

// Wrong options are refused before anything is opened.
func TestWrongOptions(t *testing.T) {
	token := rendezvous.NewToken()
	for want, h := range map[string]rendezvous.Hello{
		"the number of processes must be 1 to 131072, not 0": {},
		"the number of this process must be 0 to 1, not 2":   {Process: 2, Processes: 2},
	} {
		_, err := rendezvous.Join(t.Context(), rendezvous.Member{Token: token, Self: h})
		require.ErrorContains(t, err, want)
	}
	_, err := rendezvous.Join(t.Context(), rendezvous.Member{Token: token, Self: self(0, 2)})
	require.ErrorContains(t, err, "process 0 leads")
	_, err = rendezvous.Serve(t.Context(), rendezvous.Member{Token: token, Self: self(1, 2)})
	require.ErrorContains(t, err, "process 0 leads, not process 1")
	_, address := serve(t, rendezvous.Member{Token: token, Self: self(0, 1)})
	_, err = rendezvous.Serve(t.Context(), rendezvous.Member{Token: token, Self: self(0, 1), Address: address})
	require.ErrorContains(t, err, "the leader cannot listen at "+address)
}
