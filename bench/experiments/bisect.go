package experiments

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"zbench/bench/bisect"
)

// The allocation in which builds are bisected.
const (
	bisectBuilds = 8
	bisectSizes  = 21
	bisectNoise  = 0.01
	bisectSlow   = 0.03
	bisectDrift  = 0.05
)

// Drift is how all times of a machine change while it is measured, as a logarithm at a time
// from 0 to 1 of the allocation.
type Drift struct {
	Name string
	at   func(x, phase float64) float64
}

// drifts are the shapes of the drift: 5 % over the allocation.
var drifts = []Drift{
	{"linear", func(x, _ float64) float64 { return bisectDrift * x }},
	{"a period", func(x, phase float64) float64 { return bisectDrift / 2 * math.Sin(2*math.Pi*(x+phase)) }},
	{"a step", func(x, phase float64) float64 {
		if x < phase {
			return 0
		}
		return bisectDrift
	}},
}

// Allocation is a simulated allocation with builds, one case of which may be slower from a
// build on.
type Allocation struct {
	rng *rand.Rand
	// first is the first slow build at size size; 0 is none.
	first, size int
	drift       Drift
	phase       float64
	// length is the allocation's, elapsed what has passed, in cases' times; start is a
	// child's.
	length, elapsed, start float64
	children               int
}

// newAllocation draws what is planted. length is in children that measure all sizes.
func newAllocation(seed uint64, planted bool, d Drift, start, length float64) *Allocation {
	a := &Allocation{rng: rand.New(rand.NewPCG(seed, 20261122)), drift: d, start: start, length: length * (start + bisectSizes)}
	a.first, a.size, a.phase = 1+a.rng.IntN(bisectBuilds-1), a.rng.IntN(bisectSizes), a.rng.Float64()
	if !planted {
		a.first = 0
	}
	return a
}

// measure is one child.
func (a *Allocation) measure(build int, sizes []int) bisect.Trial {
	t := bisect.Trial{Variant: build, Seconds: make([]float64, bisectSizes)}
	a.elapsed += a.start
	a.children++
	for _, size := range sizes {
		log := a.drift.at(a.elapsed/a.length, a.phase) + bisectNoise*a.rng.NormFloat64()
		if a.first > 0 && build >= a.first && size == a.size {
			log += math.Log1p(bisectSlow)
		}
		t.Seconds[size] = Operation * math.Exp(log)
		a.elapsed++
	}
	return t
}

// BisectRow is what searches of a kind came to.
type BisectRow struct {
	Planted bool
	Drift   Drift
	// Start is the cost of a child's start, in the time of one case.
	Start float64
	Seeds int
	// Right counts the searches that named the planted build and size and nothing else, or
	// none where none is planted; Blamed those that named a build or a size that is not to
	// blame.
	Right, Blamed int
	// Cost is the time of all searches, starts included; Squares that of its squares;
	// Children are their children.
	Cost, Squares float64
	Children      int
	// Uniform are the rounds of all builds and sizes that equal sampling takes, Calibrated
	// those with a threshold for which one must know the noise beforehand; 0 is not known.
	Uniform, Calibrated int
}

// bisectLength is the length of the allocation of a search, in children that measure all
// sizes: searches end about there, so that they see the whole drift.
const bisectLength = 16

// uniformRounds are what UniformRounds came to at full size, for a start that costs as much
// as ten cases. The full run checks them.
var uniformRounds = map[string][2]int{"linear": {7, 4}, "a period": {7, 4}, "a step": {8, 6}}

// BisectRows are the kinds of searches.
func BisectRows() []BisectRow {
	var out []BisectRow
	for _, planted := range []bool{true, false} {
		for i, d := range drifts {
			starts := []float64{10}
			if i == 0 {
				starts = []float64{2, 10, 21}
			}
			for _, start := range starts {
				r := uniformRounds[d.Name]
				out = append(out, BisectRow{Planted: planted, Drift: d, Start: start, Uniform: r[0], Calibrated: r[1]})
			}
		}
	}
	return out
}

// Bisections searches with seeds 0 … seeds−1 in each row, by the options of the command.
func Bisections(seeds int) ([]BisectRow, error) {
	rows := BisectRows()
	for i := range rows {
		rows[i].Seeds = seeds
		for seed := range seeds {
			if err := rows[i].add(uint64(seed)); err != nil { //nolint:gosec // a small number
				return nil, err
			}
		}
	}
	return rows, nil
}

// add searches once.
func (r *BisectRow) add(seed uint64) error {
	a := newAllocation(seed, r.Planted, r.Drift, r.Start, bisectLength)
	o := bisect.Defaults()
	o.Start, o.Seed = r.Start, seed
	s := bisect.New(bisectBuilds, bisectSizes, o)
	err := bisect.Run(context.Background(), s, func(_ context.Context, _, variant int, cases []int) (bisect.Trial, error) {
		return a.measure(variant, cases), nil
	})
	right, blamed := a.judge(s.Outcomes())
	if right {
		r.Right++
	}
	if blamed {
		r.Blamed++
	}
	r.Cost += a.elapsed
	r.Squares += a.elapsed * a.elapsed
	r.Children += a.children
	return err
}

// judge tells whether the outcomes are what was planted, and whether they blame anything
// else.
func (a *Allocation) judge(outcomes []bisect.Outcome) (right, blamed bool) {
	right = a.first == 0
	for size, o := range outcomes {
		switch {
		case o.Verdict != bisect.Slower:
		case o.First == a.first && size == a.size:
			right = true
		default:
			blamed = true
		}
	}
	return right && !blamed, blamed
}

// uniformly measures every build and size so many times, builds in random order in each
// round.
func uniformly(seed uint64, planted bool, d Drift, rounds int) (*Allocation, []bisect.Outcome) {
	a := newAllocation(seed, planted, d, 10, float64(rounds*bisectBuilds))
	s := bisect.New(bisectBuilds, bisectSizes, bisect.Defaults())
	all := make([]int, bisectSizes)
	for i := range all {
		all[i] = i
	}
	for range rounds {
		for _, v := range a.rng.Perm(bisectBuilds) {
			s.Add(a.measure(v, all))
		}
	}
	return a, s.Outcomes()
}

// largest is the case with the most evidence.
func largest(outcomes []bisect.Outcome) (size int) {
	for i, o := range outcomes {
		if o.Evidence > outcomes[size].Evidence {
			size = i
		}
	}
	return size
}

// above blames the case with the most evidence, if that is above the threshold.
func above(outcomes []bisect.Outcome, threshold float64) []bisect.Outcome {
	size := largest(outcomes)
	out := make([]bisect.Outcome, len(outcomes))
	if most := outcomes[size]; most.Evidence > threshold {
		out[size].Verdict, out[size].First = bisect.Slower, most.Likeliest
	}
	return out
}

// UniformRounds is the smallest number of rounds with which equal sampling names the first
// slow build in 95 of 100 searches and blames wrongly in at most 2 of 100, with and without
// a slow build: by the test of bisect, or, if calibrated, by the largest evidence, above
// what 98 of 100 searches without a slow build have. That threshold is the best there is,
// and nothing that one could know beforehand.
func UniformRounds(seeds int, d Drift, calibrated bool) int {
	right, wrong := Bar{Rate: 0.95}, Bar{Rate: 0.02, AtMost: true}
	for rounds := 2; ; rounds++ {
		var evidence []float64
		found, blamed, none := 0, 0, 0
		for seed := range uint64(seeds) { //nolint:gosec // a small number
			a, o := uniformly(seed, false, d, rounds)
			evidence = append(evidence, o[largest(o)].Evidence)
			if _, b := a.judge(o); b {
				none++
			}
		}
		slices.Sort(evidence)
		threshold := evidence[seeds-1-seeds/50]
		for seed := range uint64(seeds) { //nolint:gosec // a small number
			a, o := uniformly(seed, true, d, rounds)
			if calibrated {
				o = above(o, threshold)
			}
			r, b := a.judge(o)
			if r {
				found++
			}
			if b {
				blamed++
			}
		}
		if right.Holds(found, seeds) && wrong.Holds(blamed, seeds) && (calibrated || wrong.Holds(none, seeds)) {
			return rounds
		}
	}
}

// ratio is the cost of the searches over that of so many rounds, and its standard error.
func (r *BisectRow) ratio(rounds int) (ratio, spread float64) {
	n := float64(r.Seeds)
	mean := r.Cost / n
	uniform := float64(rounds*bisectBuilds) * (r.Start + bisectSizes)
	return mean / uniform, math.Sqrt(max(0, r.Squares/n-mean*mean)/n) / uniform
}

// The bars of a search.
var (
	bisectRight  = Bar{Rate: 0.95}
	bisectBlamed = Bar{Rate: 0.02, AtMost: true}
)

// bisectCost is the most that a search may cost, over equal sampling with the same test.
const bisectCost = 0.5

// BisectFailures lists the bars that do not hold; in a small run only those that chance does
// not explain.
func BisectFailures(rows []BisectRow, small bool) []string {
	var out []string
	for i := range rows {
		r := &rows[i]
		for _, j := range []struct {
			what  string
			bar   Bar
			count int
		}{{"right", bisectRight, r.Right}, {"blamed wrongly", bisectBlamed, r.Blamed}} {
			if !j.bar.Holds(j.count, r.Seeds) && !(small && j.bar.Plausible(j.count, r.Seeds)) {
				out = append(out, fmt.Sprintf("%s: %s %d of %d, bar %s", r.text(), j.what, j.count, r.Seeds, j.bar))
			}
		}
		if ratio, spread := r.ratio(r.Uniform); r.Uniform > 0 && ratio > bisectCost && !(small && ratio-4*spread <= bisectCost) {
			out = append(out, fmt.Sprintf("%s: %.2f of the cost of equal sampling, bar %g", r.text(), ratio, bisectCost))
		}
	}
	return out
}

func (r *BisectRow) text() string {
	planted := "no slow build"
	if r.Planted {
		planted = "3 % in one size"
	}
	return fmt.Sprintf("%s, drift %s, start %g", planted, r.Drift.Name, r.Start)
}

// BisectTable is the table of docs/EXPERIMENTS.md.
func BisectTable(rows []BisectRow) string {
	var b strings.Builder
	b.WriteString("| planted | drift of 5 % | start, in cases | right % | bar | blamed wrongly % | bar | children | cost over equal sampling | bar | over calibrated equal sampling |\n|---|---|---|---|---|---|---|---|---|---|---|\n")
	for i := range rows {
		r := &rows[i]
		what, bar := "none", fmt.Sprintf("≤ %g", bisectCost)
		if r.Planted {
			what = "3 % in one size"
		}
		cost, _ := r.ratio(r.Uniform)
		calibrated, _ := r.ratio(r.Calibrated)
		if cost > bisectCost {
			bar += " **fails**"
		}
		n := float64(r.Seeds)
		fmt.Fprintf(&b, "| %s | %s | %g | %.1f | %s | %.1f | %s | %.0f | %.2f | %s | %.2f |\n", what, r.Drift.Name, r.Start,
			100*float64(r.Right)/n, mark(&bisectRight, r.Right, r.Seeds), 100*float64(r.Blamed)/n, mark(&bisectBlamed, r.Blamed, r.Seeds),
			float64(r.Children)/n, cost, bar, calibrated)
	}
	return b.String()
}
