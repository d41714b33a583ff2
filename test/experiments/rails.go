package experiments

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"zbench/bench/answers/fleet/rails"
	"zbench/bench/base/finding"
)

// FaultsRow is a kind of fault, or a healthy fleet, over many seeds.
type FaultsRow struct {
	Name string
	// Bar applies to exact verdicts. For intermittent faults and healthy fleets it applies to every
	// verdict except "healthy".
	Bar   Bar
	Exact int
	// Healthy counts the verdicts "healthy". Unclear counts the verdicts that name nothing.
	Healthy, Unclear int
	// Rounds is the mean number of rounds between nodes, MostRounds is the largest number.
	Rounds     float64
	MostRounds int
	Seeds      int
	// Wrong are the first verdicts that are not exact.
	Wrong []string
	alarm bool
	any   bool
}

// count returns the count to which the bar applies.
func (r *FaultsRow) count() int {
	if r.any || r.alarm {
		return r.Seeds - r.Healthy
	}
	return r.Exact
}

// drawn is a kind of fleet: how its faults are drawn, and which verdicts are expected.
type drawn struct {
	name   string
	bar    Bar
	faults func(*rand.Rand) []Broken
	// `any` is true if every verdict except "healthy" is right. alarm is true if every verdict
	// except "healthy" is a false alarm.
	any, alarm bool
	noise      func(*FleetNoise)
	o          rails.Bounds
}

const (
	fleetNodes = 128
	fleetGPUs  = 8
)

// steady draws one component of a kind that has lost 10 to 50 % of its bandwidth.
func steady(part rails.Part) func(*rand.Rand) []Broken {
	return func(rng *rand.Rand) []Broken {
		return []Broken{{component(rng, part), 0.9 - 0.4*square(rng.Float64()), 1}}
	}
}

// `least` draws one component that has lost 10 %.
func least(part rails.Part) func(*rand.Rand) []Broken {
	return func(rng *rand.Rand) []Broken { return []Broken{{component(rng, part), 0.9, 1}} }
}

func square(x float64) float64 { return x * x }

func component(rng *rand.Rand, part rails.Part) rails.Component {
	c := rails.Component{Part: part, Node: rng.IntN(fleetNodes), A: rng.IntN(fleetGPUs)}
	switch part {
	case rails.Node:
		c.A = 0
	case rails.Leaf:
		c.Node, c.B = 0, rng.IntN(fleetNodes/leafNodes)
	case rails.Link:
		for c.B = c.A; c.B == c.A; {
			c.B = rng.IntN(fleetGPUs)
		}
		c.A, c.B = min(c.A, c.B), max(c.A, c.B)
	default:
	}
	return c
}

// parts are the kinds of components from which pairs are drawn.
var parts = []rails.Part{rails.Rail, rails.Link, rails.GPU, rails.Node, rails.Leaf}

func two(rng *rand.Rand) []Broken {
	a := steady(parts[rng.IntN(len(parts))])(rng)
	b := a
	for b[0].Component == a[0].Component {
		b = steady(parts[rng.IntN(len(parts))])(rng)
	}
	return append(a, b...)
}

// flaky draws a component that has lost 20 to 50 % in a fifth of the rounds.
func flaky(of ...rails.Part) func(*rand.Rand) []Broken {
	return func(rng *rand.Rand) []Broken {
		return []Broken{{component(rng, of[rng.IntN(len(of))]), 0.8 - 0.3*square(rng.Float64()), 0.2}}
	}
}

func none(*rand.Rand) []Broken { return nil }

// fleets returns the rows of the experiment.
func fleets() []drawn {
	found, half := Bar{Rate: 0.97}, Bar{Rate: 0.9}
	silent := Bar{Rate: 0, AtMost: true}
	long := rails.Bounds{Least: 20}
	lasting := func(n *FleetNoise) { n.Lasting = true }
	single := func(n *FleetNoise) { n.Samples = 1 }
	return []drawn{
		{name: "rail, 10 to 50 %", bar: found, faults: steady(rails.Rail)},
		{name: "rail, 10 %", bar: found, faults: least(rails.Rail)},
		{name: "xGMI link, 10 to 50 %", bar: found, faults: steady(rails.Link)},
		{name: "xGMI link, 10 %", bar: found, faults: least(rails.Link)},
		{name: "GPU, 10 to 50 %", bar: found, faults: steady(rails.GPU)},
		{name: "GPU, 10 %", bar: found, faults: least(rails.GPU)},
		{name: "node, 10 to 50 %", bar: found, faults: steady(rails.Node)},
		{name: "node, 10 %", bar: found, faults: least(rails.Node)},
		{name: "leaf, 10 to 50 %", bar: Bar{Rate: 0.95}, faults: steady(rails.Leaf)},
		{name: "leaf, 10 %", bar: Bar{Rate: 0.95}, faults: least(rails.Leaf)},
		{name: "two of any, 10 to 50 %", bar: half, faults: two},
		{name: "rail or node, 20 to 50 % in a fifth of 20 rounds", bar: half, faults: flaky(rails.Rail, rails.Node), any: true, o: long},
		{name: "xGMI link, 20 to 50 % in a fifth of 20 passes", bar: half, faults: flaky(rails.Link), any: true, o: rails.Bounds{Passes: 20}},
		{name: "healthy", bar: silent, faults: none, alarm: true},
		{name: "healthy, 20 rounds and passes", bar: silent, faults: none, alarm: true, o: rails.Bounds{Least: 20, Passes: 20}},
		{name: "healthy, outliers that last a round, 20 rounds", bar: silent, faults: none, alarm: true, noise: lasting, o: long},
		{name: "rail, 10 %, outliers that last a round", bar: found, faults: least(rails.Rail), noise: lasting},
		{name: "rail, 10 %, one sample a round", bar: found, faults: least(rails.Rail), noise: single},
		{name: "healthy, one sample a round", bar: silent, faults: none, alarm: true, noise: single},
	}
}

// RunRails measures fleets of 128 nodes with many seeds. It runs only the rows whose names begin
// with the given text, which may be empty.
func RunRails(first uint64, seeds int, only string) []FaultsRow {
	var out []FaultsRow
	for _, d := range fleets() {
		if strings.HasPrefix(d.name, only) {
			out = append(out, d.run(first, seeds))
		}
	}
	return out
}

func (d drawn) run(first uint64, seeds int) FaultsRow {
	row := FaultsRow{Name: d.name, Bar: d.bar, Seeds: seeds, alarm: d.alarm, any: d.any}
	noise := FleetDefault()
	if d.noise != nil {
		d.noise(&noise)
	}
	for i := range seeds {
		seed := first + uint64(i)
		broken := d.faults(rand.New(rand.NewPCG(seed, 0xb40c)))
		f := NewFleet(seed, fleetNodes, fleetGPUs, noise, broken...)
		o := d.o
		o.Seed = seed
		timings, rounds := f.Run(o)
		v := rails.Judge(rails.Data{Fleet: f.Fleet, Timings: timings})
		row.add(v, broken, rounds, seed)
	}
	return row
}

func (r *FaultsRow) add(v *rails.Verdict, broken []Broken, rounds int, seed uint64) {
	var want []rails.Component
	for _, b := range broken {
		want = append(want, b.Component)
	}
	exact := v.Exactly(want...)
	if exact {
		r.Exact++
	} else if len(r.Wrong) < 5 {
		r.Wrong = append(r.Wrong, fmt.Sprintf("seed %d: planted %+v; %s: %+v %+v", seed, broken, v.State, v.Findings, v.Questions))
	}
	switch v.State {
	case finding.Healthy:
		r.Healthy++
	case finding.Unclear:
		r.Unclear++
	default:
	}
	r.Rounds += float64(rounds) / float64(r.Seeds)
	r.MostRounds = max(r.MostRounds, rounds)
}

// RailsFailures lists the bars that do not hold. In a small run it lists only those that chance
// cannot explain.
func RailsFailures(rows []FaultsRow, small bool) []string {
	var out []string
	for _, r := range rows {
		if n := r.count(); !r.Bar.Holds(n, r.Seeds) && !(small && r.Bar.Rate > 0 && r.Bar.Plausible(n, r.Seeds)) {
			out = append(out, fmt.Sprintf("%s: %d of %d, bar %s: %s", r.Name, n, r.Seeds, r.Bar, strings.Join(r.Wrong, "\n")))
		}
		if r.MostRounds > 20 {
			out = append(out, fmt.Sprintf("%s: %d rounds between nodes", r.Name, r.MostRounds))
		}
	}
	return out
}

// RailsMarkdown returns the table.
func RailsMarkdown(rows []FaultsRow) string {
	var b strings.Builder
	b.WriteString("| fleet | exactly named % | \"healthy\" % | \"unclear\" % | bar | rounds between nodes, mean | most |\n|---|---|---|---|---|---|---|\n")
	for _, r := range rows {
		what := "exact "
		if r.alarm || r.any {
			what = "not \"healthy\" "
		}
		of := func(n int) float64 { return 100 * float64(n) / float64(r.Seeds) }
		fmt.Fprintf(&b, "| %s | %.1f | %.1f | %.1f | %s%s | %.1f | %d |\n", r.Name, of(r.Exact), of(r.Healthy), of(r.Unclear),
			what, mark(&r.Bar, r.count(), r.Seeds), r.Rounds, r.MostRounds)
	}
	return b.String()
}
