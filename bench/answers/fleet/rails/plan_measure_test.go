package rails

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/finding"
	"zbench/bench/run/plan"
	"zbench/bench/run/spec"
)

// network times exchanges: what a message takes by its ends.
type surveyNetwork struct {
	t     *testing.T
	ranks int
	time  func(from, to int) float64
	fails int // the round that fails; −1 for none
	early bool
	seen  []plan.Exchange
}

func (n *surveyNetwork) Held() bool { return !n.early }

func (n *surveyNetwork) Exchange(_ context.Context, e plan.Exchange) ([]float64, error) {
	require.Equal(n.t, len(n.seen), e.Round)
	return n.exchange(e)
}

func (n *surveyNetwork) exchange(e plan.Exchange) ([]float64, error) {
	require.NoError(n.t, e.Check(n.ranks))
	n.seen = append(n.seen, e)
	if e.Round == n.fails {
		return nil, errors.New("a rank hangs")
	}
	var out []float64
	for range e.Launches {
		for rank := range n.ranks {
			to, from := e.Peers(rank)
			seconds := 0.0
			if to >= 0 {
				seconds = n.time(rank, to)
			}
			if from >= 0 {
				seconds = max(seconds, n.time(from, rank))
			}
			out = append(out, seconds)
		}
	}
	return out, nil
}

// free is a network whose rounds may have any number.
type free struct{ *surveyNetwork }

func (f *free) Exchange(_ context.Context, e plan.Exchange) ([]float64, error) { return f.exchange(e) }

func survey(t *testing.T, nodes, gpus int) Measurement {
	t.Helper()
	c, err := CaseOf(spec.World{Nodes: nodes, GPUsPerNode: gpus, GPUsPerProcess: 1}, 1<<20)
	require.NoError(t, err)
	require.EqualValues(t, 1<<20, c.Layout.Bytes)
	return Measurement{Fleet: Fleet{Nodes: nodes, GPUs: gpus}, Case: c, Launches: 5}
}

// The times of the driver reach the verdict: one slow NIC is named exactly; without it
// nothing is.
func TestSurveyNamesASlowNIC(t *testing.T) {
	const gpus = 4
	for _, factor := range []float64{1, 1.3} {
		bad := 5*gpus + 2
		n := &surveyNetwork{t: t, ranks: 12 * gpus, fails: -1, time: func(from, to int) float64 {
			if from/gpus != to/gpus && (from == bad || to == bad) {
				return factor * 1e-3
			}
			return 1e-3
		}}
		s := survey(t, 12, gpus)
		watched := 0
		s.Watch = func(done int, _ Round) { watched = done }
		out, err := s.Run(t.Context(), n)
		require.NoError(t, err)
		require.Equal(t, len(n.seen), out.Rounds)
		require.Equal(t, out.Rounds, watched)
		require.LessOrEqual(t, out.Network, 20)
		v := Judge(Data{Fleet: s.Fleet, Timings: out.Timings})
		if factor > 1 {
			require.True(t, v.Exactly(Component{Part: Rail, Node: 5, A: 2}), "%+v", v)
			continue
		}
		require.Equal(t, finding.Healthy, v.State)
	}
}

// A ring is a message from each node to the next on every rail, and takes what its slowest
// takes.
func TestRingsAreOfAllNodes(t *testing.T) {
	s := survey(t, 3, 2)
	n := &surveyNetwork{t: t, ranks: 6, fails: -1, time: func(from, to int) float64 { return float64(1 + from + 10*to) }}
	out, err := s.Run(t.Context(), n)
	require.NoError(t, err)
	rings := 0
	for i, x := range out.Timings {
		if x.Kind != Rings {
			continue
		}
		e := n.seen[x.Round]
		require.Equal(t, []int{2, 3, 4, 5, 0, 1}, e.To)
		require.Equal(t, []int{4, 5, 0, 1, 2, 3}, e.From)
		want := []float64{1 + 2 + 40, 1 + 3 + 50}[x.Pair.A.GPU] // node 1 to node 2
		require.Equal(t, []float64{want, want, want, want, want}, x.Seconds, i)
		rings++
	}
	require.Equal(t, 2, rings)
}

// What was measured before a failure is kept; an interval that is not positive is no sample.
func TestSurveyKeepsWhatItHas(t *testing.T) {
	s := survey(t, 4, 2)
	n := &surveyNetwork{t: t, ranks: 8, fails: 2, early: true, time: func(from, _ int) float64 {
		if from < 2 {
			return -1
		}
		return 1
	}}
	out, err := s.Run(t.Context(), n)
	require.ErrorContains(t, err, "round 3 (pairs of nodes on each rail): a rank hangs")
	require.Equal(t, 2, out.Rounds)
	require.Equal(t, 2, out.Early)
	require.NotEmpty(t, out.Timings)
	require.Empty(t, out.Timings[0].Seconds)
	require.Len(t, out.Timings[1].Seconds, 5)
}

func TestSurveysWithoutPairs(t *testing.T) {
	_, err := CaseOf(spec.World{Nodes: 1, GPUsPerNode: 1, GPUsPerProcess: 1}, 1<<20)
	require.ErrorContains(t, err, "there is no pair")
	_, err = CaseOf(spec.World{Nodes: 2, GPUsPerNode: 1, GPUsPerProcess: 1}, 0)
	require.Error(t, err)
}
