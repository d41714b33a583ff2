package planted

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"zbench/bench/answers/fleet/rails"
	"zbench/bench/base/finding"
	"zbench/bench/run/plan"
	"zbench/bench/run/spec"
	"zbench/bench/work/fabric"
	"zbench/internal/native"
	"zbench/rccl"
)

// componentFault is a kind of fault that zbench rails looks for.
type componentFault struct {
	name string
	// `least` is the smallest number of nodes of a world that can have the fault.
	least int
	// draw returns the fault for --fault and the nodes that it affects. The function `is` reports
	// whether a component is the fault or a part of it.
	draw func(rng *rand.Rand, nodes, gpus int) (faults []string, on []int, is func(rails.Component) bool)
}

// onNode is a fault of a node or of one of its parts.
func onNode(name string, draw func(rng *rand.Rand, node, gpus int) (fault string, want rails.Component)) componentFault {
	return componentFault{name, 1, func(rng *rand.Rand, nodes, gpus int) ([]string, []int, func(rails.Component) bool) {
		node := rng.IntN(nodes)
		fault, want := draw(rng, node, gpus)
		want.Node = node
		return []string{fault}, []int{node}, func(c rails.Component) bool { return c == want }
	}}
}

// `left` draws the share of a bandwidth that a fault leaves.
func left(rng *rand.Rand) float64 { return between(rng, 0.3, 0.8) }

// lateBy draws how late GPUs are, in seconds. For comparison, a message of 64 MiB takes 1.5 to 1.9
// ms.
func lateBy(rng *rand.Rand) float64 { return between(rng, 5e-4, 5e-3) }

var componentFaults = []componentFault{
	onNode("slow_node", func(rng *rand.Rand, node, _ int) (string, rails.Component) {
		return fmt.Sprintf("slow_node:node=%d,left=%g", node, left(rng)), rails.Component{Part: rails.Node}
	}),
	{"slow_node on half of the nodes", 4, func(rng *rand.Rand, nodes, _ int) (faults []string, on []int, is func(rails.Component) bool) {
		on = rng.Perm(nodes)[:nodes/2]
		share := left(rng)
		for _, node := range on {
			faults = append(faults, fmt.Sprintf("slow_node:node=%d,left=%g", node, share))
		}
		return faults, on, func(c rails.Component) bool { return c.Part == rails.Node && slices.Contains(on, c.Node) }
	}},
	onNode("slow_gpu", func(rng *rand.Rand, node, gpus int) (string, rails.Component) {
		gpu := rng.IntN(gpus)
		return fmt.Sprintf("slow_gpu:node=%d,gpu=%d,left=%g", node, gpu, left(rng)), rails.Component{Part: rails.GPU, A: gpu}
	}),
	onNode("slow_link", func(rng *rand.Rand, node, gpus int) (string, rails.Component) {
		two := rng.Perm(gpus)[:2]
		slices.Sort(two)
		return fmt.Sprintf("slow_link:node=%d,a=%d,b=%d,left=%g", node, two[0], two[1], left(rng)), rails.Component{Part: rails.Link, A: two[0], B: two[1]}
	}),
	onNode("slow_rail", func(rng *rand.Rand, node, gpus int) (string, rails.Component) {
		rail := rng.IntN(gpus)
		return fmt.Sprintf("slow_rail:node=%d,rail=%d,left=%g", node, rail, left(rng)), rails.Component{Part: rails.Rail, A: rail}
	}),
	{"dead_rail", 1, func(rng *rand.Rand, nodes, gpus int) ([]string, []int, func(rails.Component) bool) {
		node, rail := rng.IntN(nodes), rng.IntN(gpus)
		return []string{fmt.Sprintf("dead_rail:node=%d,rail=%d", node, rail)}, []int{node}, func(c rails.Component) bool {
			return c.Part == rails.Rail && c.Node == node && (c.A == rail || c.A == rail^1) // the rail's GPU uses its neighbour's
		}
	}},
	{"slow_leaf", 1, func(rng *rand.Rand, nodes, gpus int) ([]string, []int, func(rails.Component) bool) {
		rail := rng.IntN(gpus)
		return []string{fmt.Sprintf("slow_leaf:rail=%d,left=%g", rail, left(rng))}, upTo(nodes), func(c rails.Component) bool {
			// With fewer than four nodes the candidates are NICs, and the leaf may be a candidate,
			// too.
			return c.A == rail && (c.Part == rails.Leaf && c.B < 0 || c.Part == rails.Rail && nodes < 4)
		}
	}},
	{"slow_leaf of half of the nodes", 4, func(rng *rand.Rand, nodes, gpus int) ([]string, []int, func(rails.Component) bool) {
		rail, leaf := rng.IntN(gpus), rng.IntN(2)
		return []string{fmt.Sprintf("slow_leaf:rail=%d,leaf=%d,nodes=%d,left=%g", rail, leaf, nodes/2, left(rng))}, upTo(nodes), func(c rails.Component) bool {
			return c.A == rail && (c.Part == rails.Leaf || c.Part == rails.Rail && c.Node/(nodes/2) == leaf)
		}
	}},
	onNode("late_gpu", func(rng *rand.Rand, node, gpus int) (string, rails.Component) {
		gpu := rng.IntN(gpus)
		return fmt.Sprintf("late_gpu:node=%d,gpu=%d,seconds=%g", node, gpu, lateBy(rng)), rails.Component{Part: rails.GPU, A: gpu}
	}),
	onNode("late_node", func(rng *rand.Rand, node, _ int) (string, rails.Component) {
		return fmt.Sprintf("late_node:node=%d,seconds=%g", node, lateBy(rng)), rails.Component{Part: rails.Node}
	}),
	onNode("flaky_link", func(rng *rand.Rand, node, _ int) (string, rails.Component) {
		return fmt.Sprintf("flaky_link:node=%d,part=%g,times=%g", node, between(rng, 0.1, 0.5), between(rng, 1.5, 4)), rails.Component{Part: rails.Node}
	}),
}

func upTo(n int) (out []int) {
	for i := range n {
		out = append(out, i)
	}
	return out
}

// surveyed measures a fleet as zbench rails does, and judges only the times.
func surveyed(nodes int, seed uint64, faults ...string) (*rails.Verdict, *rails.Document, error) {
	w := spec.World{Nodes: nodes, GPUsPerNode: gpus, GPUsPerProcess: 1}
	f, err := fabric.ByName(fabric.Default)
	if err != nil {
		return nil, nil, err
	}
	m, err := f.Resolve(w, fabric.Conditions{Seed: seed, Faults: faults, Pairs: true})
	if err != nil {
		return nil, nil, err
	}
	c, err := rails.CaseOf(w, rails.DefaultBytes)
	if err != nil {
		return nil, nil, err
	}
	d, err := rccl.Open(rccl.Config{
		Native: native.Choice{Backend: "loopback", Machine: m.Text()}, Ranks: w.Size(), CacheBytes: f.Node.CacheBytes, Seed: seed,
	})
	if err != nil {
		return nil, nil, err
	}
	var out rails.Rounds
	s := rails.Measurement{Fleet: rails.Fleet{Nodes: nodes, GPUs: gpus}, Plan: rails.Bounds{Seed: seed}, Case: c, Launches: rails.DefaultLaunches}
	if err = d.Allocate(context.Background(), plan.Room{Cache: f.Node.CacheBytes}.For([]plan.Case{c})); err == nil {
		out, err = s.Run(context.Background(), d)
	}
	if closing := d.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return nil, nil, err
	}
	v := rails.Judge(rails.Data{Fleet: s.Fleet, Timings: out.Timings})
	about := &rails.Survey{Simulated: true, GPUs: gpus, Bytes: c.Layout.Bytes}
	for i := range nodes {
		about.Nodes = append(about.Nodes, fmt.Sprint(i))
	}
	return v, rails.OfSurvey(about, out.Timings, v), nil
}

// componentCounts are the verdicts on one kind of fault in worlds of one size.
type componentCounts struct {
	what         string
	nodes, seeds int
	// named counts faults that are among the findings. asked counts faults that are among the
	// candidates.
	named, asked int
	// ok counts verdicts OK although the fault is there. passed counts verdicts whose pass.txt has
	// a bad node. wrong counts verdicts with a finding on a node that has no fault.
	ok, passed, wrong int
	// first is the first verdict that is not right.
	first string
}

// noises are the noises of the worlds, which take turns.
var noises = []float64{0.01, 0.03, 0.05}

func noiseOf(seed int) string { return fmt.Sprintf("noise:sigma=%g", noises[seed%len(noises)]) }

// `over` plants a fault with many seeds.
func (f componentFault) over(nodes, seeds int) (componentCounts, error) {
	c := componentCounts{what: f.name, nodes: nodes, seeds: seeds}
	for seed := range seeds {
		faults, on, is := f.draw(source(f.name, nodes*1000+seed), nodes, gpus)
		faults = append(faults, noiseOf(seed))
		v, d, err := surveyed(nodes, uint64(seed), faults...) //nolint:gosec // small
		if err != nil {
			return c, fmt.Errorf("%s: %w", faults, err)
		}
		c.add(v, d, on, is, strings.Join(faults, " "))
	}
	return c, nil
}

func (c *componentCounts) add(v *rails.Verdict, d *rails.Document, on []int, is func(rails.Component) bool, what string) {
	named, asked, wrong := false, false, false
	for _, f := range v.Findings {
		named = named || is(f.Component)
		wrong = wrong || !is(f.Component) && (f.Component.Part == rails.Leaf || !slices.Contains(on, f.Component.Node))
	}
	for _, q := range v.Questions {
		asked = asked || slices.ContainsFunc(q.Candidates, is)
	}
	passed := len(on) < c.nodes && slices.ContainsFunc(on, func(node int) bool { return slices.Contains(d.Pass, fmt.Sprint(node)) })
	c.named += one(named)
	c.asked += one(asked && !named)
	c.ok += one(v.State == finding.Healthy)
	c.passed += one(passed)
	c.wrong += one(wrong)
	if c.first == "" && (passed || wrong || !named && !asked) {
		c.first = fmt.Sprintf("%s: %s %+v %+v %q", what, v.State, v.Findings, v.Questions, v.Unchecked)
	}
}

// planted returns the counts for every kind of fault in worlds of each size.
func planted(seeds int) ([]componentCounts, error) {
	var out []componentCounts
	for _, f := range componentFaults {
		for _, nodes := range smallWorlds {
			if nodes < f.least {
				continue
			}
			c, err := f.over(nodes, seeds)
			if err != nil {
				return out, err
			}
			out = append(out, c)
		}
	}
	return out, nil
}

// smallWorlds are numbers of nodes. Worlds of two and three nodes have no majority in a round.
var smallWorlds = []int{2, 3, 4, 8}

// clean counts the runs without a fault that do not end with OK. Worlds and noises take turns.
func clean(runs int) (alarms int, first string, err error) {
	for seed := range runs {
		nodes := smallWorlds[seed%len(smallWorlds)]
		v, d, err := surveyed(nodes, uint64(seed), noiseOf(seed/len(smallWorlds))) //nolint:gosec // small
		if err != nil {
			return alarms, first, err
		}
		if v.State != finding.Healthy || len(d.Pass) < nodes {
			alarms++
			first = cmp.Or(first, fmt.Sprintf("%d nodes, seed %d: %+v %+v", nodes, seed, v.Findings, v.Questions))
		}
	}
	return alarms, first, nil
}

// componentMarkdown returns a table with one row per kind of fault: how often it was named, and how
// often it was a candidate, in worlds of each size.
func componentMarkdown(all []componentCounts) string {
	var b strings.Builder
	b.WriteString("| planted, named + candidate |")
	for _, nodes := range smallWorlds {
		fmt.Fprintf(&b, " %d nodes |", nodes)
	}
	b.WriteString(" OK | a bad node in pass.txt | a good node named |\n|---|" + strings.Repeat("---|", len(smallWorlds)+3) + "\n")
	for _, f := range componentFaults {
		var sum componentCounts
		fmt.Fprintf(&b, "| %s |", f.name)
		for _, nodes := range smallWorlds {
			i := slices.IndexFunc(all, func(c componentCounts) bool { return c.what == f.name && c.nodes == nodes })
			if i < 0 {
				b.WriteString(" – |")
				continue
			}
			c := all[i]
			fmt.Fprintf(&b, " %d + %d |", c.named, c.asked)
			sum.ok, sum.passed, sum.wrong = sum.ok+c.ok, sum.passed+c.passed, sum.wrong+c.wrong
		}
		fmt.Fprintf(&b, " %d | %d | %d |\n", sum.ok, sum.passed, sum.wrong)
	}
	return b.String()
}
