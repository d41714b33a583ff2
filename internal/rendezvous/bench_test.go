package rendezvous_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/run/plan"
	"zbench/bench/run/record"
	"zbench/internal/rendezvous"
)

// crowdMember are the options of a process of a world on hosts with eight each.
func crowdMember(token rendezvous.Token, process, n int, address string, gathered bool) rendezvous.Member {
	o := patient(rendezvous.Member{Token: token, Self: self(process, n), Address: address})
	o.Self.LocalProcess, o.Self.Host = process%8, fmt.Sprintf("node%d", process/8)
	if gathered {
		o.Relay = token.LocalAddress(o.Self.Host)
	}
	return o
}

// crowd is all followers of a world as goroutines of one process, so that what the
// leader's process takes is the leader's alone.
func crowd() error {
	n, err := strconv.Atoi(os.Getenv("RENDEZVOUS_CROWD"))
	if err != nil {
		return err
	}
	token, err := rendezvous.ParseToken(os.Getenv(rendezvous.TokenVariable))
	if err != nil {
		return err
	}
	left := make(chan error, n)
	for process := 1; process < n; process++ {
		o := crowdMember(token, process, n, os.Getenv("RENDEZVOUS_ADDRESS"), os.Getenv("RENDEZVOUS_RELAY") != "")
		go func() { left <- follow(context.Background(), o, &counting{toy{first: process, ranks: 1}}) }()
	}
	for range n - 1 {
		if err := <-left; err != nil {
			return err
		}
	}
	return nil
}

// counting is a process of a node with eight NICs; the first of the node reads their counters.
type counting struct{ toy }

func (c *counting) Counters() (all []record.NICCounters) {
	if c.first%8 > 0 {
		return nil
	}
	for i := range 8 {
		n := uint64(1<<44) + uint64(c.first)
		all = append(all, record.NICCounters{
			Node: fmt.Sprintf("node%d", c.first/8), NIC: fmt.Sprintf("mlx5_%d", i), GPU: i, PCI: []string{fmt.Sprintf("0000:%02x:00.0", i)},
			Sent: &n, Received: &n, Retransmits: &n, CNPs: &n, Pauses: &n, LinkDowns: &n,
		})
	}
	return all
}

// leadCrowd serves a crowd and waits until it has registered.
func leadCrowd(b *testing.B, n int, gathered bool) (*rendezvous.Leader, func()) {
	token := rendezvous.NewToken()
	o := crowdMember(token, 0, n, "127.0.0.1:0", gathered)
	l, err := rendezvous.Serve(b.Context(), o)
	require.NoError(b, err)
	self, err := os.Executable()
	require.NoError(b, err)
	c := exec.CommandContext(b.Context(), self)
	c.Env = []string{"RENDEZVOUS_CROWD=" + strconv.Itoa(n), "RENDEZVOUS_ADDRESS=" + l.Address(), rendezvous.TokenVariable + "=" + token.Reveal()}
	if gathered {
		c.Env = append(c.Env, "RENDEZVOUS_RELAY=1")
	}
	c.Stderr = os.Stderr
	require.NoError(b, c.Start())
	require.NoError(b, l.Wait(b.Context()))
	require.NoError(b, l.Start("go"))
	return l, func() {
		l.Send(plan.Order{Verb: plan.End{}})
		l.Close("", 0)
		require.NoError(b, c.Wait())
	}
}

// cpu is the time in seconds that this process has computed.
func cpu() float64 {
	var u syscall.Rusage
	must(syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

var crowds = []struct {
	processes int
	gathered  bool
}{{1024, false}, {1024, true}}

// BenchmarkRegister is the time from Serve until all processes have registered and
// connected, the clients' part included; leader-ms is what the leader computes of it.
func BenchmarkRegister(b *testing.B) {
	for _, c := range crowds {
		b.Run(fmt.Sprintf("processes=%d/gathered=%t", c.processes, c.gathered), func(b *testing.B) {
			computed := 0.0
			for b.Loop() {
				before := cpu()
				_, end := leadCrowd(b, c.processes, c.gathered)
				computed += cpu() - before
				b.StopTimer()
				end()
				b.StartTimer()
			}
			b.ReportMetric(computed*1e3/float64(b.N), "leader-ms/op")
		})
	}
}

// BenchmarkOrder is the time of one order from Send until all reports are there: those
// of a batch of 12 bursts, or of 12 isolated launches with the counters of the NICs.
// leader-ms is what the leader computes of it.
func BenchmarkOrder(b *testing.B) {
	bursts := plan.Order{Verb: plan.Batches{Bursts: &plan.Bursts{Count: 12, Iterations: 20}}}
	for _, c := range crowds {
		name := fmt.Sprintf("processes=%d/gathered=%t", c.processes, c.gathered)
		b.Run(name, func(b *testing.B) { benchmarkOrder(b, c.processes, c.gathered, bursts) })
		b.Run(name+"/counters", func(b *testing.B) {
			benchmarkOrder(b, c.processes, c.gathered, plan.Order{Verb: plan.Batches{Isolated: 12}, Counters: true})
		})
	}
}

func benchmarkOrder(b *testing.B, processes int, gathered bool, order plan.Order) {
	l, end := leadCrowd(b, processes, gathered)
	defer end()
	first := sweep(processes)[0]
	l.Send(plan.Order{Verb: plan.Preparation{Case: first}})
	l.Reports(plan.Report{})
	nics := 0
	before := cpu()
	for b.Loop() {
		l.Send(order)
		nics = 0
		for _, r := range l.Reports(plan.Report{}) {
			if nics += len(r.NICs); len(r.Seconds) != 12 {
				b.Fatal(r.Failure)
			}
		}
	}
	b.ReportMetric((cpu()-before)*1e3/float64(b.N), "leader-ms/op")
	if order.Counters {
		require.Equal(b, processes-8, nics, "the leader reads its own node's")
	}
}
