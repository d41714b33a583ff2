package replay

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/run/plan"
)

// network is a Player whose messages take a given time, longer with computation, and to which a rank comes late.
type network struct {
	plan.Player

	ranks         int
	factor, noise float64
	late          int // −1: none
	r             *rand.Rand
	asked         []int
}

func (n *network) Stage(context.Context, int, *plan.Step) error { return nil }

func (n *network) Play(context.Context, int, int) ([]float64, error) { return nil, errors.New("no") }

func (n *network) Watch(_ context.Context, w plan.Watch) (all []float64, _ error) {
	n.asked = append(n.asked, w.First, w.Count)
	for range w.Count {
		took := 1e-3 * (1 + n.noise*n.r.NormFloat64())
		if w.Setting == 1 {
			took *= n.factor
		}
		for rank := range n.ranks {
			wait := 1e-7 * n.r.Float64()
			if n.late >= 0 && rank != n.late {
				wait += 2e-4
			}
			all = append(all, took+wait)
		}
	}
	return all, nil
}

func TestMessagesTellContentionAndTheLateRank(t *testing.T) {
	const seeds, messages = 200, 70
	found := [4]int{}
	for seed := range seeds {
		for i, n := range []*network{{factor: 1, late: -1}, {factor: 1.2, late: -1}, {factor: 1, late: 5}, {factor: 1.2, late: 2}} {
			n.ranks, n.noise, n.r = 8, 0.01, rand.New(rand.NewPCG(uint64(seed), uint64(i)))
			m, err := TakeMessages(t.Context(), n, 1, 0, stepOf(messages, plan.Case{Ranks: 8}))
			require.NoError(t, err)
			require.Equal(t, []int{0, plan.MaxWatched, plan.MaxWatched, messages - plan.MaxWatched}, n.asked[:4], "no more are watched at once")
			if m.Lo <= n.factor && n.factor <= m.Hi {
				found[i]++
			}
			list := m.findings()
			require.Len(t, list, i&1+i>>1, "%d: %+v", i, m)
			if n.late >= 0 {
				require.Equal(t, n.late, m.Late.Rank)
				require.InDelta(t, messages*2e-4, m.Late.Wait, messages*1e-6)
			} else {
				require.Nil(t, m.Late)
			}
			require.Nil(t, m.Busy, "%+v", m.Busy)
		}
	}
	for _, n := range found {
		require.Greater(t, n, seeds*9/10, "95 % intervals")
	}
}

// stepOf is a step of messages of cases in turn.
func stepOf(messages int, cases ...plan.Case) *plan.Step {
	s := &plan.Step{Cases: cases}
	for i := range messages {
		s.Sends = append(s.Sends, i%len(cases))
	}
	return s
}

// Of groups that send at once the slowest counts, and a rank is late among its own group: with two ranks in each, the
// other ranks' messages tell nothing of it.
func TestMessagesOfGroups(t *testing.T) {
	apart, near := plan.Case{Split: plan.Split{Stride: 4}, Ranks: 2, Parallel: 4}, plan.Case{Split: plan.Split{Group: 4}, Ranks: 4, Parallel: 2}
	comms := []plan.Comms{apart.Comms(), near.Comms()}
	seconds := []float64{
		1, 1, 3, 1.5, 1, 1, 3, 1, // ranks 2 and 6 have a slow rail; rank 3 waits for rank 7
		2, 2, 2, 2, 2.5, 2.5, 2.5, 2, // on the second node all wait for rank 7
	}
	require.Equal(t, []float64{3, 2}, ownTimes(seconds, comms))
	var rounds [][]float64
	for range messageRounds {
		rounds = append(rounds, seconds)
	}
	l := lateOf(rounds, comms)
	require.Equal(t, []int{7, 2 * messageRounds, 2 * messageRounds}, []int{l.Rank, l.Last, l.Of})
	require.InDelta(t, 0.25+0.5, l.Wait, 1e-9)
	m := messagesOf([2][][]float64{{slices.Clone(seconds), slices.Clone(seconds)}, {slices.Clone(seconds), slices.Clone(seconds)}}, comms)
	require.Equal(t, 2, m.Communicators)
	require.Nil(t, m.Late, "it may be behind a message of the slow rail")
	m.Lo, m.Hi = 1.2, 1.3
	require.False(t, m.LaunchedLate(), "they may wait for each other")
	require.Contains(t, m.findings()[0].Text, "on 2 sets of communicators, and take 1.20 to 1.30 times as long beside one another")
	ops := Bare(stepOf(3, apart, near)).Ops
	for i := range 3 {
		require.Equal(t, []plan.StepOp{{Do: plan.StepLaunch, Message: i}, {Do: plan.StepWait, Message: i}}, ops[2*i:2*i+2], "one by one on other communicators")
	}
}

// The bare step has the messages in their order behind all computation, and waits for the last.
func TestBareStep(t *testing.T) {
	work := plan.StepOp{Do: plan.StepCompute, Seconds: 1}
	s := &plan.Step{Sends: []int{0, 0}, Cases: make([]plan.Case, 1), Ops: []plan.StepOp{work, {Do: plan.StepLaunch}, {Do: plan.StepWait}, work, {Do: plan.StepLaunch, Message: 1}}}
	require.Equal(t, []plan.StepOp{work, work, {Do: plan.StepLaunch}, {Do: plan.StepLaunch, Message: 1}, {Do: plan.StepWait, Message: 1}}, Bare(s).Ops)
}

// Single launches tell the late rank where messages' own times cannot, and none where all are alike.
func TestLaunchesTellTheLateRank(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for late := range 5 {
		var seconds []float64
		for range 32 {
			for rank := range 4 {
				wait := 1e-7 * r.Float64()
				if rank != late && late < 4 {
					wait += 5e-5
				}
				seconds = append(seconds, 1e-3+wait)
			}
		}
		m := &Messages{Factor: 1, Lo: 1, Hi: 1, Communicators: 1}
		m.Launched(seconds, 32, plan.Comms{Ranks: 4, Count: 1})
		if late == 4 {
			require.Nil(t, m.Late)
			continue
		}
		require.Equal(t, []int{late, 32, 32}, []int{m.Late.Rank, m.Late.Last, m.Late.Of})
		require.Contains(t, m.findings()[0].Text, "the others wait 50.0 µs a launch")
	}
}
