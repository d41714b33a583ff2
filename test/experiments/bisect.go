package experiments

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"zbench/bench/answers/bisect"
)

// The allocation in which builds are compared.
const (
	bisectBuilds = 8
	bisectSizes  = 21
	bisectNoise  = 0.01
	bisectSlow   = 0.03
	bisectDrift  = 0.05
)

// Drift is a change of all times of a machine while it is measured. The function `at` returns the
// logarithm of the change at a time from 0 to 1 of the allocation.
type Drift struct {
	Name string
	at   func(x, phase float64) float64
}

// drifts are the shapes of a drift of 5 % over the allocation.
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

// Allocation is a simulated allocation with several builds. One case may be slower from one build
// on.
type Allocation struct {
	rng *rand.Rand
	// first is the first slow build; 0 if no build is slow. size is the index of the slow size.
	first, size int
	drift       Drift
	phase       float64
	// length is the length of the allocation. elapsed is the time that has passed. start is the
	// time for starting a child. The unit of all three is the time of one case.
	length, elapsed, start float64
	children               int
	// The slowdown is `by`. common and uneven are the noise parameters of the row.
	by, common, uneven float64
}

// newAllocation draws what is planted. length counts children that measure all sizes.
func newAllocation(seed uint64, by float64, d Drift, start, length float64) *Allocation {
	a := &Allocation{rng: rand.New(rand.NewPCG(seed, 20261122)), drift: d, start: start, length: length * (start + bisectSizes), by: by}
	a.first, a.size, a.phase = 1+a.rng.IntN(bisectBuilds-1), a.rng.IntN(bisectSizes), a.rng.Float64()
	if by == 0 {
		a.first = 0
	}
	return a
}

// measure simulates one child.
func (a *Allocation) measure(build int, sizes []int) bisect.Trial {
	t := bisect.Trial{Variant: build, Seconds: make([]float64, bisectSizes), Cost: a.start + float64(len(sizes))}
	a.elapsed += a.start
	a.children++
	common := 0.0
	if a.common > 0 {
		common = a.common * a.rng.NormFloat64()
	}
	for _, size := range sizes {
		noise := bisectNoise
		if a.uneven > 0 && size%7 == 6 {
			noise *= a.uneven
		}
		log := a.drift.at(a.elapsed/a.length, a.phase) + common + noise*a.rng.NormFloat64()
		if a.first > 0 && build >= a.first && size == a.size {
			log += math.Log1p(a.by)
		}
		t.Seconds[size] = Operation * math.Exp(log)
		a.elapsed++
	}
	return t
}

// BisectRow is the outcome of many searches of one kind.
type BisectRow struct {
	// Planted is the relative slowdown of one size; 0 if nothing is planted.
	Planted float64
	Drift   Drift
	// Common is noise that all sizes of a child share, as the standard deviation of a logarithm.
	// Uneven is the factor on the noise of every seventh size; 0 means 1.
	Common, Uneven float64
	// Start is the time for starting a child. Its unit is the time of one case.
	Start float64
	Seeds int
	// Right counts the searches that named exactly the planted build and size, or nothing if
	// nothing was planted. Blamed counts the searches that named a wrong build or size.
	Right, Blamed int
	// Cost is the time of all searches, including starts. Squares is the sum of the squared times.
	// Children is the number of children.
	Cost, Squares float64
	Children      int
	// Uniform is the number of rounds over all builds and sizes that equal sampling needs.
	// Calibrated is the number that equal sampling needs with a threshold for which the noise must
	// be known in advance. 0 means unknown.
	Uniform, Calibrated int
}

// bisectLength is the length of a search's allocation, in children that measure all sizes. Searches
// end at about this length, so that they see the whole drift.
const bisectLength = 16

// BisectRows returns the kinds of searches.
func BisectRows() []BisectRow {
	var out []BisectRow
	for _, planted := range []float64{bisectSlow, 0} {
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
		out = append(out, BisectRow{Planted: planted, Drift: drifts[0], Start: 10, Common: 0.01}, BisectRow{Planted: planted, Drift: drifts[0], Start: 10, Uneven: 3})
	}
	return append(out, BisectRow{Planted: 0.02, Drift: drifts[0], Start: 10}, BisectRow{Planted: 0.05, Drift: drifts[0], Start: 10})
}

// Bisections runs searches with seeds 0 to seeds−1 in each row, with the options of the command.
func Bisections(rows []BisectRow, seeds int) error {
	for i := range rows {
		rows[i].Seeds = seeds
		for seed := range seeds {
			if err := rows[i].add(uint64(seed)); err != nil { //nolint:gosec // a seed is not negative
				return err
			}
		}
	}
	return nil
}

// add runs one search.
func (r *BisectRow) add(seed uint64) error {
	a := newAllocation(seed, r.Planted, r.Drift, r.Start, bisectLength)
	a.common, a.uneven = r.Common, r.Uneven
	o := bisect.Defaults()
	o.Seed = seed
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

// judge reports whether the outcomes are exactly what was planted, and whether they blame anything
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

// ratio returns the cost of the searches divided by the cost of a number of rounds, and the
// standard error of this ratio.
func (r *BisectRow) ratio(rounds int) (ratio, spread float64) {
	n := float64(r.Seeds)
	mean := r.Cost / n
	uniform := float64(rounds*bisectBuilds) * (r.Start + bisectSizes)
	return mean / uniform, math.Sqrt(max(0, r.Squares/n-mean*mean)/n) / uniform
}

// The bars for a search.
var (
	bisectRight  = Bar{Rate: 0.95}
	bisectBlamed = Bar{Rate: 0.02, AtMost: true}
)

// bisectCost is the largest allowed cost of a search, as a share of the cost of equal sampling with
// the same test.
const bisectCost = 0.5

// BisectFailures lists the bars that do not hold. In a small run it lists only those that chance
// cannot explain.
func BisectFailures(rows []BisectRow, small bool) []string {
	var out []string
	for i := range rows {
		r := &rows[i]
		for _, j := range []struct {
			what  string
			bar   Bar
			count int
		}{{"right", bisectRight, r.Right}, {"blamed wrongly", bisectBlamed, r.Blamed}} {
			if r.Uniform == 0 && j.what == "right" { // stated only, without a bar
				continue
			}
			if !j.bar.Holds(j.count, r.Seeds) && (!small || !j.bar.Plausible(j.count, r.Seeds)) {
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
	return fmt.Sprintf("%s, %s, start %g", r.what(), r.Drift.Name, r.Start)
}

// `what` describes the planted change, and the differences between the row and the other rows.
func (r *BisectRow) what() string {
	out := "none"
	if r.Planted > 0 {
		out = fmt.Sprintf("%g %% in one size", 100*r.Planted)
	}
	if r.Common > 0 {
		out += fmt.Sprintf("; %g %% noise common to a child's sizes", 100*r.Common)
	}
	if r.Uneven > 0 {
		out += fmt.Sprintf("; every seventh size %g times as noisy", r.Uneven)
	}
	return out
}

// BisectTable returns the table of RESULTS.md.
func BisectTable(rows []BisectRow) string {
	var b strings.Builder
	b.WriteString("| planted | drift of 5 % | start, in cases | right % | bar | blamed wrongly % | bar | children | cost over equal sampling | bar | over calibrated equal sampling |\n|---|---|---|---|---|---|---|---|---|---|---|\n")
	for i := range rows {
		r := &rows[i]
		right, cost, bar, calibrated := "", "", "", ""
		if r.Uniform > 0 {
			ratio, _ := r.ratio(r.Uniform)
			best, _ := r.ratio(r.Calibrated)
			right, cost, calibrated = mark(&bisectRight, r.Right, r.Seeds), fmt.Sprintf("%.2f", ratio), fmt.Sprintf("%.2f", best)
			bar = fmt.Sprintf("≤ %g", bisectCost)
			if ratio > bisectCost {
				bar += " **fails**"
			}
		}
		n := float64(r.Seeds)
		fmt.Fprintf(&b, "| %s | %s | %g | %.1f | %s | %.1f | %s | %.0f | %s | %s | %s |\n", r.what(), r.Drift.Name, r.Start,
			100*float64(r.Right)/n, right, 100*float64(r.Blamed)/n, mark(&bisectBlamed, r.Blamed, r.Seeds),
			float64(r.Children)/n, cost, bar, calibrated)
	}
	return b.String()
}
