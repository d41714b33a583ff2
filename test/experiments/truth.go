package experiments

import (
	"math"
	"math/rand/v2"
	"slices"

	"zbench/bench/answers/recommend"
	"zbench/bench/job/trainer"
)

// Harshness says how far the truth may differ from what was measured.
type Harshness struct {
	Name string
	// SlowLo and SlowHi bound the factor by which messages are slower while the GPUs compute.
	SlowLo, SlowHi float64
	// Compute replaces the standard deviation of the logarithm of the error of the given
	// computation time; 0 leaves it unchanged.
	Compute float64
	// Uneven is the standard deviation of an effect, such as alignment, that is different for every
	// message size.
	Uneven float64
	// Exact means that the truth is exactly what was measured.
	Exact bool
}

// The kinds of truth. Only Hidden is what zbench promises to cope with.
var (
	Hidden  = Harshness{Name: "hidden", SlowLo: 1, SlowHi: 1.6}
	Uneven  = Harshness{Name: "hidden, and every size 3 % off its neighbours", SlowLo: 1, SlowHi: 1.6, Uneven: 0.03}
	Nominal = Harshness{Name: "as measured", SlowLo: 1, SlowHi: 1, Exact: true}
	Harsh   = Harshness{Name: "harsh", SlowLo: 1.3, SlowHi: 2.5, Compute: 0.5}
)

// truth is a step as it really runs.
type truth struct {
	c                         *Cluster
	slow, backward, forward   float64
	doneBackward, doneForward []float64
	uneven                    float64
	// contention is the factor by which computation takes longer while a message is on the network.
	// `each` is the additional time of every message, in seconds.
	contention, each float64
	seed             uint64
	known            map[messageKind]float64
}

type messageKind struct {
	collective string
	bytes      int64
}

// newTruth draws a truth: computation slows messages, and neither the total time of the computation
// nor its distribution over layers is as given.
func newTruth(c *Cluster, h Harshness, seed uint64) *truth {
	rng := rand.New(rand.NewPCG(seed, 0x7eadbeef))
	t := &truth{c: c, slow: 1, backward: c.backward, forward: c.forward, seed: seed, known: map[messageKind]float64{}}
	work := trainer.Work(c.params)
	if !h.Exact {
		told := c.input
		if h.Compute > 0 {
			told = h.Compute
		}
		t.slow = uniform(rng, h.SlowLo, h.SlowHi)
		both := math.Exp(rng.NormFloat64() * told)
		t.backward *= both * math.Exp(rng.NormFloat64()*0.05)
		t.forward *= both * math.Exp(rng.NormFloat64()*0.05)
		t.uneven = h.Uneven
		for i := range work {
			work[i] *= math.Exp(rng.NormFloat64() * 0.2)
		}
	}
	t.doneBackward = recommend.Shares(work, recommend.Backward)
	t.doneForward = recommend.Shares(work, recommend.Forward)
	return t
}

// seconds returns the time of a message.
func (t *truth) seconds(m trainer.Message) float64 {
	k := messageKind{m.Collective, m.Bytes}
	if s, ok := t.known[k]; ok {
		return s
	}
	rng := rand.New(rand.NewPCG(t.seed, uint64(m.Bytes)))
	s := t.c.network[m.Collective].seconds(float64(m.Bytes)) * math.Exp(rng.NormFloat64()*t.uneven)
	t.known[k] = s
	return s
}

// step returns the length of a step with a plan, in seconds.
func (t *truth) step(p trainer.Plan) float64 {
	total := 0.0
	for i, messages := range [][]trainer.Message{p.Backward, p.Forward, p.After} {
		cost := make([]float64, len(messages))
		for j, m := range messages {
			cost[j] = t.seconds(m) + t.each/t.slow
		}
		done, compute, d := t.doneForward, []float64{t.backward, t.forward, 0}[i], recommend.Forward
		if i == 0 {
			done, d = t.doneBackward, recommend.Backward
		}
		end := recommend.NewPass(messages, done, d).End(recommend.Times{Compute: compute, Slow: t.slow, Contention: t.contention}, cost)
		total += end
	}
	return total
}

// serial returns the length of a step, in seconds, if computation waits for every message of the
// plan.
func (t *truth) serial(p trainer.Plan) float64 {
	total := t.backward + t.forward
	for _, m := range slices.Concat(p.Backward, p.Forward, p.After) {
		total += t.slow * t.seconds(m)
	}
	return total
}
