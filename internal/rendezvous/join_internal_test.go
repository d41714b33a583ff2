package rendezvous

import (
	"bufio"
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"zbench/bench/run/plan"
)

// gathered is the message that a node's first process, 8, sends for its node's reports.
func gathered(t *testing.T, reports []plan.Report) up {
	t.Helper()
	in, out := net.Pipe()
	f := &Follower{options: Member{Self: Hello{Process: 8}}, link: &link{Conn: out, within: time.Hour}}
	r := &relay{follower: f, number: 3, waiting: map[int]bool{}, held: up{Number: 3}}
	for i := range reports {
		r.waiting[8+i] = true
	}
	go func() {
		for i, report := range slices.Backward(reports) { // they arrive in any order
			its := &Follower{options: Member{Self: Hello{Process: 8 + i}}}
			message, err := its.message(3, report)
			if err != nil {
				panic(err)
			}
			r.collect(8+i, message)
		}
	}()
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxUp)
	require.True(t, lines.Scan())
	message, err := readUp(lines.Bytes())
	require.NoError(t, err)
	return message
}

// The leader reads one report of a node, not one of each of its processes, unless one of
// them says more than times.
func TestReportsOfANodeTravelAsOne(t *testing.T) {
	var reports []plan.Report
	for i := range 8 {
		reports = append(reports, plan.Report{Seconds: []float64{float64(i), 1.0 / 3}, Hold: float64(i)})
	}
	message := gathered(t, reports)
	require.Empty(t, message.Reports)
	require.Len(t, message.Joined, 1)
	one := message.Joined[0]
	require.Equal(t, []int{8, 9, 10, 11, 12, 13, 14, 15}, one.Processes)
	each, err := one.Split(8)
	require.NoError(t, err)
	for i, got := range each {
		require.Equal(t, reports[i].Seconds, got.Seconds)
		require.Equal(t, 7.0, got.Hold)
	}

	reports[5].Stop = true
	message = gathered(t, reports)
	require.Len(t, message.Reports, 1)
	require.Equal(t, 13, message.Reports[0].Process)
	require.Len(t, message.Joined, 1)
	require.Equal(t, []int{8, 9, 10, 11, 12, 14, 15}, message.Joined[0].Processes)

	reports[2].Seconds = nil
	require.Len(t, gathered(t, reports).Joined, 7, "times of different numbers do not join")
}

// A failure reaches the leader at once: the other processes of the node may be waiting for
// the one that failed. Times wait for the others.
func TestFailuresDoNotWaitForTheNode(t *testing.T) {
	failed := plan.Failing(plan.FailedOrder, "no such order")
	for wait, report := range map[time.Duration]plan.Report{0: failed, gatherTime: {Seconds: []float64{1}}} {
		synctest.Test(t, func(t *testing.T) {
			in, out := net.Pipe()
			r := &relay{follower: &Follower{link: &link{Conn: out, within: time.Hour}}, number: 3, waiting: map[int]bool{8: true, 9: true}, held: up{Number: 3}}
			message, err := (&Follower{options: Member{Self: Hello{Process: 9}}}).message(3, report)
			require.NoError(t, err)
			begin := time.Now()
			go r.collect(9, message)
			lines := bufio.NewScanner(in)
			require.True(t, lines.Scan())
			require.Equal(t, wait, time.Since(begin))
		})
	}
}
