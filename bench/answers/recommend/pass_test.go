package recommend

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/job/trainer"
)

func end(t *testing.T, messages []trainer.Message, work []float64, d Direction, compute float64, cost ...float64) float64 {
	t.Helper()
	return NewPass(messages, Shares(work, d), d).End(Times{Compute: compute, Slow: 1}, cost)
}

var four = []float64{1, 1, 1, 1}

// Worked out by hand: four tensors of one second each.
func TestByHand(t *testing.T) {
	never := trainer.Never
	queue := []trainer.Message{{Launch: 2, Wait: never}, {Launch: 0, Wait: never}}
	require.Equal(t, 4.0, end(t, nil, four, Backward, 4))
	// Launched at 2 and 4: through at 3 and 5.
	require.Equal(t, 5.0, end(t, queue, four, Backward, 4, 1, 1))
	// The first is through at 5 only, so the second ends at 6.
	require.Equal(t, 6.0, end(t, queue, four, Backward, 4, 3, 1))

	// A chain: the first gather (2 s) is waited for at 0; the second (3 s) is
	// launched then and waited for at the third tensor: 2 + 3 > 2 + 2; then 2 more.
	chain := []trainer.Message{{Launch: 0, Wait: 0}, {Launch: 0, Wait: 2}}
	require.Equal(t, 7.0, end(t, chain, four, Forward, 4, 2, 3))
	require.Equal(t, 6.0, end(t, chain, four, Forward, 4, 2, 1))

	// Depth one: the second launch waits for the first message. 1 + 5 = 6, then the
	// rest of computation (2 s) and the last message after it.
	depth := []trainer.Message{{Launch: 3, Wait: 2}, {Launch: 2, Wait: 0}, {Launch: 0, Wait: never}}
	require.Equal(t, 10.0, end(t, depth, four, Backward, 4, 5, 1, 2))

	// Without overlap every call stops computation.
	off := []trainer.Message{{Launch: 3, Wait: 3}, {Launch: 0, Wait: 0}}
	require.Equal(t, 4.0+5+2, end(t, off, four, Backward, 4, 5, 2))
}

// Messages of several communicators: latencies of 1 s overlap, transfers share the links, calls of a communicator and
// those of a stream follow one another, and so does a call that takes what the one before it has made.
func TestSeveralCommunicatorsByHand(t *testing.T) {
	never := trainer.Never
	at := func(second trainer.Message) float64 {
		second.Launch, second.Wait = 4, never
		p := NewPass([]trainer.Message{{Launch: 4, Wait: never, Ranks: 8}, second}, Shares(four, Backward), Backward)
		return p.End(Times{Compute: 4, Slow: 1, Shared: 1}, []float64{3, 5})
	}
	require.Equal(t, 7.0, at(trainer.Message{Ranks: 2, Stream: 1}), "1 to 3 one transfer, 3 to 7 the other")
	require.Equal(t, 8.0, at(trainer.Message{Ranks: 2}))
	require.Equal(t, 8.0, at(trainer.Message{Ranks: 2, Stream: 1, Follows: true}))
	require.Equal(t, 7.0, at(trainer.Message{Ranks: 8}), "one communicator of a library with two threads")
	var f Flight
	require.Equal(t, []float64{3, 8, 12}, []float64{f.Send(0, 3, 1, 0), f.Send(0, 5, 1, 0), f.Send(2, 5, 1, 1)}, "of one queue, and of another")
}

// A gather and a scatter share the network: FSDP2's backward of three units.
func TestSharedNetwork(t *testing.T) {
	messages := []trainer.Message{
		{Launch: 3, Wait: 2},                                               // gather of the second unit
		{Launch: 2, Wait: trainer.Never},                                   // scatter of the third
		{Launch: 2, Wait: 1},                                               // gather of the first
		{Launch: 1, Wait: trainer.Never}, {Launch: 0, Wait: trainer.Never}, // scatters
	}
	// Gather 0–2; compute waits at 1 until 2; scatter 2–4; gather 4–6; compute 2–3,
	// waits until 6; scatter 6–8; compute 6–7; scatter 8–10.
	require.Equal(t, 10.0, end(t, messages, []float64{1, 1, 1}, Backward, 3, 2, 2, 2, 2, 2))
}

func TestSharesAddUp(t *testing.T) {
	require.Equal(t, []float64{0, 0.25, 0.25, 1}, Shares([]float64{1, 0, 3}, Forward))
	require.Equal(t, []float64{1, 0.75, 0.75, 0}, Shares([]float64{1, 0, 3}, Backward))
	require.Equal(t, []float64{0, 0.5, 1}, Shares([]float64{0, 0}, Forward), "no work at all is even")
}

// Slowing every message is the same as dearer messages, scenarios side by side end as each alone, and the scratch space
// leaves no trace.
func TestSlowAndScratch(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var space []float64
	for range 500 {
		n := 1 + rng.IntN(20)
		work, messages, cost, dear := make([]float64, n), []trainer.Message{}, []float64{}, []float64{}
		for i := range work {
			work[i] = rng.Float64()
		}
		for b := n; b >= 0; b-- {
			if rng.IntN(2) == 0 {
				m := trainer.Message{Launch: b, Wait: trainer.Never}
				if rng.IntN(2) == 0 {
					m.Wait = rng.IntN(b + 1)
				}
				x := rng.Float64()
				messages, cost, dear = append(messages, m), append(cost, x), append(dear, 1.5*x)
			}
		}
		p := NewPass(messages, Shares(work, Backward), Backward)
		all := []Times{{Compute: 2, Slow: 1.5}, {Compute: 1, Slow: 1, Contention: 0.3, Each: 0.1}, {Compute: 3, Slow: 2, Shared: 0.2}, {Compute: 2, Slow: 1}}
		got := slices.Clone(all[:1+n%len(all)])
		p.run(got, cost, &space)
		for i, x := range got {
			require.Equal(t, p.End(all[i], cost), x.clock)
		}
		require.InEpsilon(t, p.End(Times{Compute: 2, Slow: 1}, dear), got[0].clock, 1e-12)
	}
}
