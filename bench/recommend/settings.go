package recommend

import (
	"math"
	"slices"

	"zbench/bench/trainer"
)

const (
	// gridStep is the ratio of neighbouring settings of the grid, and leastSetting
	// where it starts.
	gridStep     = 1.189207115002721 // 2^(1/4)
	leastSetting = 64 << 10
	// perRank is the least share of a rank worth a bucket, in elements.
	perRank = 128
	// maxEdges bounds how many sums of tensors are tried beside the grid.
	maxEdges = 512
)

// unknownRatios are the computation of a backward over the time of its wire that
// are averaged over when it is not known.
var unknownRatios = []float64{0.5, 1, 2, 4, 8}

// Grid is the default scenarios: the network up to 1.6 times as slow while the
// GPUs compute, which slows the messages (unless they were measured under load),
// and computation up to 1.6 times off either way.
func Grid(loaded bool) []Scenario {
	networks := []float64{1, 1.3, 1.6}
	if loaded {
		networks = []float64{1}
	}
	var all []Scenario
	for _, n := range networks {
		for _, c := range []float64{1, 0.6, 1.6} {
			all = append(all, Scenario{n, c})
		}
	}
	return all
}

// setTimes settles computation and scenarios. The first scenario is the nominal
// one.
func (e *engine) setTimes() {
	q := e.q
	e.scenarios = q.Scenarios
	e.backward, e.forward, e.known = q.Backward, q.Forward, q.Backward > 0 || q.Forward > 0
	if e.known {
		if e.backward == 0 {
			e.backward = 2 * e.forward
		}
		if e.forward == 0 {
			e.forward = e.backward / 2
		}
		if len(e.scenarios) == 0 {
			e.scenarios = Grid(q.Loaded)
		}
		return
	}
	e.backward = e.wire()
	e.forward = e.backward / 2
	if len(e.scenarios) > 0 {
		return
	}
	for _, s := range Grid(q.Loaded) {
		if s.Compute != 1 {
			continue
		}
		for _, r := range unknownRatios {
			e.scenarios = append(e.scenarios, Scenario{s.Network, r})
		}
	}
}

// wire is the time that all gradients take in messages of the largest swept
// size, in seconds.
func (e *engine) wire() float64 {
	t := 0.0
	for _, m := range e.t.Plan(e.q.Params, 0, e.run).Backward {
		i := slices.Index(e.needs, need{m.Collective, m.Ranks})
		last := e.curves[i].Points[len(e.curves[i].Points)-1]
		t += float64(m.Bytes) * last.Seconds / float64(last.Bytes)
	}
	return t
}

// settings are what is tried: a geometric grid, the sums of tensors from the end
// of the model, the trainer's default, the user's setting, and one bucket.
func (e *engine) settings() []int64 {
	if few := e.t.Settings(e.q.Params, e.run); few != nil {
		return few
	}
	total := int64(0)
	for _, p := range e.q.Params {
		total += p.Elements
	}
	step := e.t.Step(e.run)
	snap := func(s int64) int64 { return max(step, (s+step-1)/step*step) }
	all := []int64{snap(e.single(total)), snap(e.t.Default(e.q.Params, e.run))}
	if e.q.Current > 0 {
		all = append(all, snap(e.q.Current))
	}
	for s := float64(max(leastSetting, perRank*int64(e.run.DP))); s < float64(total); s *= gridStep {
		all = append(all, snap(int64(s)))
	}
	for _, s := range edges(e.q.Params) {
		all = append(all, snap(s))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// single is a setting that leaves one bucket, whatever padding adds.
func (e *engine) single(total int64) int64 {
	return total + int64(len(e.q.Params))*64
}

// edges are the sums of the tensors from the end of the model, at most maxEdges
// of them, spread evenly in their logarithm.
func edges(params []trainer.Param) []int64 {
	var all []int64
	sum := int64(0)
	for _, p := range slices.Backward(params) {
		sum += p.Elements
		all = append(all, sum)
	}
	all = slices.Compact(all)
	if len(all) <= maxEdges {
		return all
	}
	ratio := math.Log(float64(all[len(all)-1]) / float64(max(1, all[0])))
	kept := make([]int64, 0, maxEdges)
	for i := range maxEdges {
		want := float64(max(1, all[0])) * math.Exp(ratio*float64(i)/float64(maxEdges-1))
		at, _ := slices.BinarySearch(all, int64(want))
		kept = append(kept, all[min(at, len(all)-1)])
	}
	return slices.Compact(kept)
}
