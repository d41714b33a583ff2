package recommend

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/job/trainer"
	"zbench/test/longtest"
)

// The oracle knows nothing of the packages under test but the curve's times: it
// cuts tensors into buckets and plays a step on its own, tensor by tensor.

// group is tensors from first down to last index: one message.
type group struct {
	last     int
	elements float64
}

// cutFloor is DDP's and Megatron's rule, cutCap DeepSpeed's, for tensors of the
// given sizes in forward order.
func cutFloor(sizes []float64, s float64, align, divisor float64) []group {
	var all []group
	at, begin, n := 0.0, 0.0, 0
	for i, size := range slices.Backward(sizes) {
		at = math.Ceil(at/align)*align + size
		n++
		if at-begin >= s || i == 0 {
			end := math.Ceil(at/divisor) * divisor
			all = append(all, group{i, end - begin})
			at, begin, n = end, end, 0
		}
	}
	return all
}

func cutCap(sizes []float64, s float64) []group {
	var all []group
	for i, size := range slices.Backward(sizes) {
		if k := len(all); k > 0 && all[k-1].elements+size <= s {
			all[k-1] = group{i, all[k-1].elements + size}
			continue
		}
		all = append(all, group{i, size})
	}
	return all
}

// backwardQueue plays backward with one message at a time behind it. eager
// launches a bucket with its last gradient; otherwise with the gradient after
// it, and computation then waits for the message before.
func backwardQueue(sizes []float64, groups []group, compute float64, price func(elements float64) float64, eager bool) float64 {
	total := 0.0
	for _, n := range sizes {
		total += n
	}
	clock, free, next := 0.0, 0.0, 0
	for i, size := range slices.Backward(sizes) {
		clock += compute * size / total
		launch := next < len(groups) && groups[next].last == i
		if !eager {
			launch = next < len(groups) && groups[next].last == i+1
		}
		if !launch {
			continue
		}
		if !eager {
			clock = max(clock, free)
		}
		free = max(clock, free) + price(groups[next].elements)
		next++
	}
	for ; next < len(groups); next++ {
		free = max(clock, free) + price(groups[next].elements)
	}
	return max(clock, free)
}

// forwardChain plays forward: a group's parameters are there before its first
// tensor computes, and the next group is asked for when it starts.
func forwardChain(sizes []float64, groups []group, compute float64, price func(elements float64) float64) float64 {
	total := 0.0
	for _, n := range sizes {
		total += n
	}
	clock := 0.0
	arrives := price(groups[len(groups)-1].elements)
	for g, own := range slices.Backward(groups) {
		clock = max(clock, arrives)
		end := len(sizes)
		if g > 0 {
			arrives = clock + price(groups[g-1].elements)
			end = groups[g-1].last
		}
		for i := own.last; i < end; i++ {
			clock += compute * sizes[i] / total
		}
	}
	return clock
}

// every setting that could change the buckets: one element more or less than any
// sum of neighbouring tensors.
func every(sizes []float64) []float64 {
	var all []float64
	for i := range sizes {
		sum := 0.0
		for j := i; j < len(sizes); j++ {
			sum += sizes[j]
			all = append(all, sum, sum+1)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// bent is a curve with latency, a bend and a hole.
func bent(alpha, bandwidth, hole float64) func(s float64) float64 {
	return func(s float64) float64 {
		t := alpha + s/bandwidth + math.Sqrt(alpha*s/bandwidth)
		if s > hole && s < 4*hole {
			t *= 1.4
		}
		return t
	}
}

// Over every distinct bucketing, the answer is within 0.1 percentage point of the
// best step, in the scenario that is asked about.
func TestAnswerAgainstEveryBucketing(t *testing.T) {
	longtest.OneGoroutine(t)
	rng := rand.New(rand.NewPCG(7, 8))
	const allowed = 0.001 + 1e-9
	for n := range 16 {
		sizes := models(rng)
		params := make([]trainer.Param, len(sizes))
		for i, x := range sizes {
			params[i].Elements = int64(x)
		}
		ranks := []int{8, 16, 64, 48}[n%4]
		seconds := bent(math.Exp(rng.Float64()*5)*2e-5, math.Exp(rng.Float64()*2)*5e10, math.Exp(rng.Float64()*5)*1e6)
		c := map[string]*CostModel{}
		q := Question{
			Params: params, Scenarios: []Scenario{{Network: 1, Compute: 1}}, Backward: math.Exp(rng.Float64()*4) * 1e-3,
			Run: trainer.Run{DP: ranks, GradDtype: "float", ParamDtype: "bfloat16"},
		}
		q.Forward = q.Backward / 2
		for i, name := range []string{"all_reduce", "reduce_scatter", "all_gather"} {
			x := curve(t, name, ranks, wide(), func(s float64) float64 { return seconds(s) * []float64{1, 0.55, 0.5}[i] })
			q.Curves = append(q.Curves, x)
			c[name] = x.Model()
		}
		price := func(name string, width float64) func(float64) float64 {
			return func(elements float64) float64 { return c[name].Seconds(int64(elements * width)) }
		}
		steps := map[string]func(s float64) float64{
			"ddp": func(s float64) float64 {
				return backwardQueue(sizes, cutFloor(sizes, s, 1, 1), q.Backward, price("all_reduce", 4), true) + q.Forward
			},
			"megatron": func(s float64) float64 {
				divisor := 128.0
				if ranks == 48 {
					divisor = 384
				}
				groups := cutFloor(sizes, s, 64, divisor)
				return backwardQueue(sizes, groups, q.Backward, price("reduce_scatter", 4), true) +
					forwardChain(sizes, groups, q.Forward, price("all_gather", 2))
			},
			"deepspeed": func(s float64) float64 {
				total := 0.0
				for _, x := range sizes {
					total += x
				}
				return backwardQueue(sizes, cutCap(sizes, s), q.Backward, price("all_reduce", 4), false) + q.Forward + price("all_gather", 2)(total)
			},
		}
		for name, step := range steps {
			q.Trainer, q.Run.Zero = name, 0
			if name != "ddp" {
				q.Run.Zero = 1
			}
			a := ask(t, q)
			require.InEpsilon(t, step(float64(a.Elements)), a.Best.Step, 1e-9, "%s: two simulators, one step", name)
			best := math.Inf(1)
			for _, s := range every(sizes) {
				if name == "ddp" {
					s = math.Ceil(s/(1<<18)) * (1 << 18) // whole MiB of float
				}
				best = min(best, step(s))
			}
			require.LessOrEqual(t, a.Best.Step/best-1, allowed+PlateauWidth, "%s draw %d: %d elements", name, n, a.Elements)
			require.LessOrEqual(t, a.Least.Step/best-1, allowed, "%s draw %d: %d elements", name, n, a.Elements)
		}
	}
}

// With more tensors than have their sums all tried, too: 520 of as many sizes
// have 135,000, of which every seventh is tried.
func TestAnswerAgainstEveryBucketingOfManyTensors(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	sizes := make([]float64, 520)
	params := make([]trainer.Param, len(sizes))
	for i := range sizes {
		sizes[i] = math.Floor(math.Exp(rng.Float64()*5) * 1e5)
		params[i].Elements = int64(sizes[i])
	}
	const compute = 0.04
	c := curve(t, "all_reduce", 64, wide(), bent(4e-4, 200e9, 30e6))
	m := c.Model()
	price := func(elements float64) float64 { return m.Seconds(int64(elements * 4)) }
	a := ask(t, Question{
		Curves: []Curve{c}, Trainer: "megatron", Params: params, Backward: compute, Forward: compute / 2, Scenarios: []Scenario{{Network: 1, Compute: 1}},
		Run: trainer.Run{DP: 64, GradDtype: "float", ParamDtype: "bfloat16"},
	})
	best := math.Inf(1)
	for i, s := range every(sizes) {
		if i%7 == 0 && s > 2e7 && s < 1e9 {
			best = min(best, backwardQueue(sizes, cutFloor(sizes, s, 1, 1), compute, price, true)+compute/2)
		}
	}
	require.LessOrEqual(t, a.Best.Step/best-1, 0.001+1e-9)
}

// models are the tensors of something like a transformer, or of nothing like it.
func models(rng *rand.Rand) []float64 {
	var sizes []float64
	if rng.IntN(3) == 0 {
		for range 2 + rng.IntN(60) {
			sizes = append(sizes, math.Floor(math.Exp(rng.Float64()*8)*1e4))
		}
		return sizes
	}
	h := float64(int64(256) << rng.IntN(4))
	sizes = append(sizes, 32000*h)
	for range 4 + rng.IntN(28) {
		sizes = append(sizes, h, h*h, h*h/4, h*h/4, h*h, h, 3*h*h, 3*h*h, 3*h*h)
	}
	return append(sizes, h, 32000*h)
}
