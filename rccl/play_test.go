package rccl_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/answers/recommend"
	"zbench/bench/answers/replay"
	"zbench/bench/base/slice"
	"zbench/bench/files/trace"
	"zbench/bench/job/trainer"
	"zbench/bench/run/plan"
	"zbench/bench/run/spec"
	"zbench/bench/work/fabric"
	"zbench/rccl"
	"zbench/test/longtest"
)

// question is the recommender's, with the machine's own model at the very sizes of a trainer's messages.
func question(t *testing.T, m *fabric.Machine, name string, run trainer.Run, params []trainer.Param, settings []int64) recommend.Question {
	t.Helper()
	tr, err := trainer.ByName(name)
	require.NoError(t, err)
	q := recommend.Question{Trainer: name, Run: run, Params: params, Backward: 0.08, Forward: 0.04}
	type group struct {
		collective    string
		ranks, stride int
	}
	sizes := map[group][]int64{}
	for _, s := range settings {
		p := tr.Plan(params, s, run)
		for _, x := range slices.Concat(p.Backward, p.Forward, p.After) {
			g := groupOf(run, x)
			of := group{x.Collective, g.Size, g.Apart()}
			sizes[of] = append(sizes[of], x.Bytes)
		}
	}
	for of, all := range sizes {
		for s := int64(4); s <= 16<<30; s *= 2 {
			all = append(all, s)
		}
		slices.Sort(all)
		c := recommend.Curve{Collective: of.collective, Dtype: "float", Ranks: of.ranks, Groups: run.DP / of.ranks, Nodes: 2, Simulated: true, Runs: 1}
		if c.Groups > 1 && of.stride > 1 {
			c.Stride = of.stride
		}
		for _, s := range slices.Compact(all) {
			c.Points = append(c.Points, recommend.Point{Bytes: s, Seconds: m.Curves[fabric.Group{Ranks: c.Ranks, Stride: c.Stride}][c.Collective].Time(float64(s)), N: 100})
		}
		q.Curves = append(q.Curves, c)
	}
	return q
}

// groupOf is the group of rank 0 that sends a message: all, an optimizer instance, or ranks that are apart.
func groupOf(run trainer.Run, m trainer.Message) trace.Group {
	apart := run.DP / m.Ranks
	if run.Instances > 1 && m.Collective != "all_reduce" {
		apart = 1
	}
	g := trace.Group{Size: m.Ranks}
	for i := range m.Ranks {
		g.Ranks = append(g.Ranks, i*apart)
	}
	return g
}

// stepsOf are the steps with settings, in a world.
func stepsOf(t *testing.T, a recommend.Answer, params []trainer.Param, w spec.World, settings ...int64) (steps []*plan.Step, cases []plan.Case) {
	t.Helper()
	for _, setting := range settings {
		var groups []trace.Group
		nodes := a.NodesOf(params, setting, func(m trainer.Message) int {
			groups = append(groups, groupOf(a.Advised, m))
			return slices.IndexFunc(groups, func(g trace.Group) bool { return slices.Equal(g.Ranks, groups[len(groups)-1].Ranks) })
		})
		s, err := replay.Schedule(nodes, replay.Finder(w, groups, nil))
		require.NoError(t, err)
		steps, cases = append(steps, s), append(cases, s.Cases...)
	}
	return steps, cases
}

// wholeWorld is the one group of a trace whose calls are of all ranks.
func wholeWorld(w spec.World) []trace.Group { return []trace.Group{{Size: w.Size()}} }

// staged stages a step and returns its seconds, of the slowest rank in the middle of a few.
func staged(t *testing.T, d *rccl.Driver, setting int, s *plan.Step) float64 {
	t.Helper()
	require.NoError(t, d.Stage(t.Context(), setting, s))
	seconds, err := d.Play(t.Context(), setting, 4)
	require.NoError(t, err)
	return plan.SlowestOf(seconds, 4)[2]
}

// byTheRule is a step's seconds by the rule of messages in flight, with the machine's own times: of all communicators on one
// wire, where latencies overlap, or of each on a wire of its own.
func byTheRule(m *fabric.Machine, s *plan.Step, one bool) (clock float64) {
	wires, last := map[plan.Comms]*recommend.Flight{}, map[plan.Comms]float64{}
	shared, latency := &recommend.Flight{}, math.Inf(1)
	times := func(c plan.Case) fabric.Curve {
		return m.Curves[fabric.Group{Ranks: c.Ranks, Stride: c.Split.Stride}][c.Collective.Name]
	}
	for _, c := range s.Cases {
		wires[c.Comms()] = &recommend.Flight{}
		if one {
			wires[c.Comms()] = shared
		}
		latency = min(latency, times(c).Time(4))
	}
	ready, ends := make([]float64, len(s.Sends)), make([]float64, len(s.Sends))
	for _, o := range s.Ops {
		switch k := o.Message; o.Do {
		case plan.StepWait:
			clock = max(clock, ends[k])
		case plan.StepFollow:
			ready[o.By] = max(ready[o.By], ends[k])
		case plan.StepLaunch:
			c := s.Cases[s.Sends[k]]
			ends[k] = wires[c.Comms()].Send(max(clock, ready[k], last[c.Comms()]), times(c).Time(float64(c.Layout.Bytes)), latency)
			last[c.Comms()] = ends[k]
		default:
			clock += o.Seconds
		}
	}
	return clock
}

// What communication adds to a step on the loopback is what the simulation says, to 1 %: the two share no
// code but the trainer's plan.
func TestLongStepsAreTheSimulation(t *testing.T) {
	longtest.OnlyOrDetected(t)
	w := spec.World{Nodes: 2, GPUsPerNode: 8, GPUsPerProcess: 1}
	llama, err := trainer.Preset("llama3-8b")
	require.NoError(t, err)
	settings := []int64{0, 8 << 20, 100e6, 700e6, 20e9}
	for _, x := range []struct {
		name string
		run  trainer.Run
	}{
		{"ddp", trainer.Run{}},
		{"ddp", trainer.Run{Accum: 3}},
		{"megatron", trainer.Run{Zero: 1}},
		{"megatron", trainer.Run{Zero: 1, Accum: 2, NoGatherOverlap: true}},
		{"deepspeed", trainer.Run{Zero: 1, NoOverlap: true}},
		{"deepspeed", trainer.Run{Zero: 2, Accum: 2}},
		{"deepspeed", trainer.Run{Zero: 3}},
		{"fsdp2", trainer.Run{Zero: 3, Accum: 2}},
		{"xla", trainer.Run{Zero: 1}},
		{"megatron", trainer.Run{Zero: 1, Instances: 2}}, // scattered, then reduced over instances
		{"megatron", trainer.Run{Zero: 1, Instances: 4, Accum: 2}},
	} {
		x.run.DP, x.run.GradDtype, x.run.ParamDtype = w.Size(), "float", "bfloat16"
		t.Run(fmt.Sprintf("%s-%d-%d-%t-%d", x.name, x.run.Zero, x.run.Accum, x.run.NoOverlap, x.run.Instances), func(t *testing.T) {
			d, m := open(t, w, fabric.Conditions{Groups: []int{4, 8}, Strides: []int{4, 8}}, quiet)
			params := trainer.WithBlocks(llama.Params)
			q := question(t, m, x.name, x.run, params, settings)
			all, err := recommend.Try(q, settings...)
			require.NoError(t, err)
			a := recommend.Answer{Trainer: x.name, Advised: x.run, Backward: &q.Backward, Forward: &q.Forward}
			var set []int64
			for i, c := range all {
				set = append(set, min(settings[i], 1)*c.Elements) // 0 is none
			}
			steps, cases := stepsOf(t, a, params, w, set...)
			allocate(t, d, cases)
			for i, s := range steps {
				alone := staged(t, d, len(steps), replay.Alone(s))
				require.InEpsilon(t, q.Backward+q.Forward, alone/float64(x.run.Microbatches()), 1e-5)
				predicted := all[i].Step - alone
				require.InDelta(t, predicted, staged(t, d, i, s)-alone, 0.01*predicted+1e-6, "%d: %+v", settings[i], all[i])
				require.InEpsilon(t, all[i].Step, byTheRule(m, s, true), 5e-4, "the schedule of %d", settings[i]) // sizes between two of the curve
			}
		})
	}
}

// Gradients of experts are reduced by other ranks, beside the others, and shards across replicas beside the next scatter. The
// simulation has both on one wire, where they share the links. The loopback's communicators share none: a step is what the
// same rule says of a wire for each, and no longer than on one.
func TestSeveralCommunicatorsBesideTheSimulation(t *testing.T) {
	w := spec.World{Nodes: 2, GPUsPerNode: 8, GPUsPerProcess: 1}
	llama, err := trainer.Preset("llama3-8b")
	require.NoError(t, err)
	settings := []int64{4 << 20, 100e6, 20e9}
	for name, run := range map[string]trainer.Run{"megatron": {EP: 4}, "fsdp2": {Zero: 3, Instances: 2}} {
		t.Run(name, func(t *testing.T) {
			run.DP, run.GradDtype, run.ParamDtype = w.Size(), "float", "bfloat16"
			params := trainer.WithBlocks(slices.Clone(llama.Params))
			for i := range params {
				params[i].Expert = run.EP > 1 && strings.Contains(params[i].Name, "mlp")
			}
			d, m := open(t, w, fabric.Conditions{Groups: []int{8}, Strides: []int{4, 8}}, quiet)
			q := question(t, m, name, run, params, settings)
			beside := 0
			for _, backward := range []float64{0.08, 4} {
				q.Backward, q.Forward = backward, 0.04
				all, err := recommend.Try(q, settings...)
				require.NoError(t, err)
				a := recommend.Answer{Trainer: name, Advised: run, Backward: &q.Backward, Forward: &q.Forward}
				steps, cases := stepsOf(t, a, params, w, slice.Map(all, func(c recommend.Candidate) int64 { return c.Elements })...)
				allocate(t, d, cases)
				for i, s := range steps {
					alone := staged(t, d, len(steps), replay.Alone(s))
					one, each := byTheRule(m, s, true), byTheRule(m, s, false)
					require.InEpsilon(t, all[i].Step, one, 5e-4, "the schedule of %d", settings[i])
					require.InDelta(t, each-alone, staged(t, d, i, s)-alone, 0.01*(each-alone)+1e-6, "%d", settings[i])
					require.LessOrEqual(t, each, one+1e-9)
					if each-alone < 0.99*(one-alone) {
						beside++
					}
				}
			}
			require.Positive(t, beside)
		})
	}
}

// The setting that the simulation finds best is the best of timed steps, too, to 0.2 %.
func TestTheBestSettingIsBestWhenTimed(t *testing.T) {
	w := spec.World{Nodes: 2, GPUsPerNode: 8, GPUsPerProcess: 1}
	llama, err := trainer.Preset("llama3-8b")
	require.NoError(t, err)
	params := trainer.WithBlocks(llama.Params)
	for _, name := range []string{"ddp", "megatron"} {
		t.Run(name, func(t *testing.T) {
			run := trainer.Run{DP: w.Size(), GradDtype: "float", ParamDtype: "bfloat16"}
			d, m := open(t, w, fabric.Conditions{}, quiet)
			settings := []int64{0}
			for s := int64(4e6); s < 10e9; s = s * 3 / 2 {
				settings = append(settings, s)
			}
			q := question(t, m, name, run, params, settings)
			q.Scenarios = []recommend.Scenario{{Network: 1, Compute: 1}}
			a, err := recommend.Ask(q)
			require.NoError(t, err)
			settings = append(settings, a.Least.Elements)
			steps, cases := stepsOf(t, a, params, w, settings...)
			allocate(t, d, cases)
			var timed []float64
			for i, s := range steps {
				timed = append(timed, staged(t, d, i, s))
			}
			require.LessOrEqual(t, timed[len(timed)-1]/slices.Min(timed), 1.002, "%s: %v of %v", name, timed, settings)
			require.Greater(t, slices.Max(timed)/slices.Min(timed), 1.1, "settings matter")
		})
	}
}

// Each message takes what the machine's model says, behind the others and beside a spin.
func TestMessagesOwnTimes(t *testing.T) {
	w := spec.World{Nodes: 2, GPUsPerNode: 4, GPUsPerProcess: 1}
	d, m := open(t, w, fabric.Conditions{}, quiet)
	var nodes []trace.Node
	want := 0.0
	for i, bytes := range []int64{1 << 20, 1 << 22, 1 << 20} {
		nodes = append(nodes, trace.Node{Seconds: 5e-3}, trace.Node{Call: &trace.Call{Collective: "all_reduce", Dtype: "float", Bytes: bytes}, After: []int{2 * i}})
		want += m.Curves[m.Whole()]["all_reduce"].Time(float64(bytes))
	}
	s, err := replay.Schedule(nodes, replay.Finder(w, wholeWorld(w), nil))
	require.NoError(t, err)
	allocate(t, d, s.Cases)
	require.NoError(t, d.Stage(t.Context(), 0, s))
	require.NoError(t, d.Stage(t.Context(), 1, replay.Bare(s)))
	got, err := replay.TakeMessages(t.Context(), d, 0, 1, s)
	require.NoError(t, err)
	require.InEpsilon(t, want, got.Within, 0.02)
	require.InDelta(t, 1, got.Factor, 0.01)
	require.Nil(t, got.Late)
}

// A call of find is of the trace's, and what cannot be sent is refused.
func TestAStepThatCannotBeSent(t *testing.T) {
	w := spec.World{Nodes: 1, GPUsPerNode: 8, GPUsPerProcess: 1}
	find := replay.Finder(w, wholeWorld(w), nil)
	_, err := find(&trace.Call{Collective: "reduce_scatter", Dtype: "float", Bytes: 8})
	require.ErrorContains(t, err, "reduce_scatter of 8 bytes")
}

// Kernels that use the GPU take as long as the memory, or the products, allow, and longer while a collective runs
// beside them if that is planted; a spin does not.
func TestWorkIsTimedBesideMessages(t *testing.T) {
	w := spec.World{Nodes: 2, GPUsPerNode: 4, GPUsPerProcess: 1}
	var nodes []trace.Node
	for i := range 4 {
		nodes = append(nodes, trace.Node{Seconds: 5e-3}, trace.Node{Call: &trace.Call{Collective: "all_reduce", Dtype: "float", Bytes: 64 << 20}, After: []int{2 * i}})
	}
	nodes = append(nodes, trace.Node{Seconds: 5e-3})
	s, err := replay.Schedule(nodes, replay.Finder(w, wholeWorld(w), nil))
	require.NoError(t, err)
	for _, do := range []plan.StepDo{plan.StepTriad, plan.StepGemm} {
		for _, times := range []float64{1, 1.1, 1.5} {
			t.Run(fmt.Sprint(do, times), func(t *testing.T) {
				d, m := open(t, w, fabric.Conditions{Faults: []string{fmt.Sprintf("beside:times=%g", times)}}, quiet)
				allocate(t, d, s.Cases)
				before, err := d.Budget()
				require.NoError(t, err)
				launch, err := replay.Unit(t.Context(), d, 0, do)
				require.NoError(t, err)
				after, err := d.Budget()
				require.NoError(t, err)
				require.InDelta(t, 0.9*float64(do.Bytes(cache)), before.Bytes-after.Bytes, 1<<20, "what is taken off a rank's memory")
				if do == plan.StepTriad {
					require.InEpsilon(t, 3*float64(256<<20)/m.HBMRate, launch, 1e-3)
				}
				took := m.Curves[m.Whole()]["all_reduce"].Time(64 << 20)
				c, err := replay.TakeContention(t.Context(), d, 0, s, do, launch)
				require.NoError(t, err)
				require.InDelta(t, 4*took*(1-1/times), c.Seconds, 4*2e-6)
				require.InEpsilon(t, 4*took, c.Beside, 2e-3)
				require.Equal(t, times > 1, c.Named(0.005), "%+v", c)
			})
		}
	}
}

// Computation that finds no memory leaves none behind, and is none: the next step with it fails as the first did.
func TestWorkWithoutMemory(t *testing.T) {
	w := spec.World{Nodes: 1, GPUsPerNode: 2, GPUsPerProcess: 1}
	d, _ := open(t, w, fabric.Conditions{}, func(m *fabric.Machine) { m.HBM = plan.StepGemm.Bytes(0) })
	require.NoError(t, d.Allocate(t.Context(), plan.Room{Bytes: 1 << 20}))
	before, err := d.Budget()
	require.NoError(t, err)
	for range 2 {
		err := d.Stage(t.Context(), 0, &plan.Step{Ops: []plan.StepOp{{Do: plan.StepGemm, Launches: 1}}})
		require.ErrorContains(t, err, "computation of gemm")
		after, err := d.Budget()
		require.NoError(t, err)
		require.Equal(t, before, after)
	}
}

// Of seeds with others on the network, and with kernels that lose to collectives, each is named as what it is, and
// of as many without none, however much messages vary.
func TestPlantedContentionIsNamed(t *testing.T) { plantedContentionIsNamed(t, 4) }

func TestLongPlantedContentionIsNamed(t *testing.T) {
	longtest.Only(t)
	plantedContentionIsNamed(t, 20)
}

func plantedContentionIsNamed(t *testing.T, seeds int) {
	t.Helper()
	w := spec.World{Nodes: 2, GPUsPerNode: 4, GPUsPerProcess: 1}
	var nodes []trace.Node
	for i := range 24 {
		nodes = append(nodes, trace.Node{Seconds: 1e-3}, trace.Node{Call: &trace.Call{Collective: "all_reduce", Dtype: "float", Bytes: 32 << 20}, After: []int{2 * i}})
	}
	s, err := replay.Schedule(nodes, replay.Finder(w, wholeWorld(w), nil))
	require.NoError(t, err)
	do := []plan.StepDo{plan.StepTriad, plan.StepGemm}
	network, computing := 0, 0
	for seed := range uint64(seeds) {
		random := rand.New(rand.NewPCG(seed, 5)) //nolint:gosec // test data
		for _, faults := range [][]string{
			nil,
			{"noise:sigma=0.1"},
			{fmt.Sprintf("contention:part=%g,times=%g,launches=%d", 0.2+0.6*random.Float64(), 1.5+2*random.Float64(), 2+random.IntN(4))},
			{fmt.Sprintf("beside:times=%g", 1.05+0.3*random.Float64())},
		} {
			d, _ := open(t, w, fabric.Conditions{Seed: seed, Faults: faults}, nil)
			allocate(t, d, s.Cases)
			launch, err := replay.Unit(t.Context(), d, 0, do[seed%2])
			require.NoError(t, err)
			c, err := replay.TakeContention(t.Context(), d, 0, s, do[seed%2], launch)
			require.NoError(t, err)
			busy, named := c.Messages.Busy != nil, c.Named(0.005)
			switch {
			case faults == nil || faults[0][0] == 'n':
				require.False(t, busy || named, "seed %d: %+v %+v", seed, c, c.Messages.Busy)
			case faults[0][0] == 'c':
				require.False(t, named, "seed %d: %+v", seed, c)
				network += map[bool]int{true: 1}[busy]
			default:
				require.False(t, busy, "seed %d: %+v", seed, c.Messages.Busy)
				computing += map[bool]int{true: 1}[named]
			}
			require.NoError(t, d.Close())
		}
	}
	require.Equal(t, []int{seeds, seeds}, []int{network, computing})
}

// Of models at random, in three worlds, a step of the loopback is that which the recommender predicts from a sweep, to
// 0.5 %, and the setting that one finds best is as good in the other. A sweep has powers of two and the sizes that the answer asks for:
// where a library's way of sending changes between two powers of two, no curve through them knows where. The rule of messages in
// flight is one: the loopback's streams are held to it.
func TestTwoModelsOneStep(t *testing.T) {
	for _, w := range []spec.World{{Nodes: 1, GPUsPerNode: 8, GPUsPerProcess: 1}, {Nodes: 2, GPUsPerNode: 8, GPUsPerProcess: 1}, {Nodes: 4, GPUsPerNode: 4, GPUsPerProcess: 1}} {
		t.Run(fmt.Sprint(w.Nodes, " nodes"), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(58, 1))
			d, m := open(t, w, fabric.Conditions{}, quiet)
			for range 20 {
				oneStep(t, d, m, w, rng)
			}
		})
	}
}

// oneStep holds the loopback's steps of a model at random to the recommender's: of its answer, of what is set now and of others.
func oneStep(t *testing.T, d *rccl.Driver, m *fabric.Machine, w spec.World, rng *rand.Rand) {
	t.Helper()
	params := []trainer.Param{{Name: "embed.weight", Elements: 1e6 + rng.Int64N(3e7)}}
	for range 10 + rng.IntN(30) {
		params = append(params, trainer.Param{Name: "w", Elements: int64(math.Exp(9 + 8*rng.Float64()))})
	}
	run := trainer.Run{DP: w.Size(), GradDtype: "float", ParamDtype: "float"}
	q := recommend.Question{Trainer: "ddp", Run: run, Params: params, Current: 25 << 18, Backward: 0.0005 * math.Pow(2, 6*rng.Float64())}
	q.Forward = q.Backward / 2
	q.Scenarios = []recommend.Scenario{{Network: 1, Compute: 1}}
	q.Curves = []recommend.Curve{{Collective: "all_reduce", Dtype: "float", Ranks: w.Size(), Groups: 1, Nodes: w.Nodes, Simulated: true, Runs: 1}}
	var sizes []int64
	for s := int64(4); s <= 16<<30; s *= 2 {
		sizes = append(sizes, s)
	}
	var a recommend.Answer
	for range 2 {
		slices.Sort(sizes)
		q.Curves[0].Points = nil
		for _, s := range slices.Compact(sizes) {
			q.Curves[0].Points = append(q.Curves[0].Points, recommend.Point{Bytes: s, Seconds: m.Curves[fabric.Group{Ranks: w.Size()}]["all_reduce"].Time(float64(s)), N: 100})
		}
		var err error
		a, err = recommend.Ask(q)
		require.NoError(t, err)
		sizes = append(sizes, a.Curves[0].Refine...)
	}
	settings := []int64{a.Least.Elements, a.Current.Elements, 1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 24, 1 << 28}
	all, err := recommend.Try(q, settings...)
	require.NoError(t, err)
	var set []int64
	for _, c := range all {
		set = append(set, c.Elements)
	}
	steps, cases := stepsOf(t, a, params, w, set...)
	allocate(t, d, cases)
	best, answer, least := math.Inf(1), 0.0, math.Inf(1)
	for i, s := range steps {
		took := staged(t, d, i, s)
		require.InEpsilon(t, took, all[i].Step, 0.005, "%d nodes, setting %d", w.Nodes, set[i])
		best = min(best, took)
		if all[i].Step < least {
			least, answer = all[i].Step, took
		}
	}
	require.LessOrEqual(t, answer, 1.005*best)
}
