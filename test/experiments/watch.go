package experiments

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"zbench/bench/answers/fleet/history"
)

// watchNodes is the number of nodes of the fleet. watchKinds has the number of components of a node
// by kind (memory of its GPUs, their products, a collective over them). Each component has one
// figure per day.
const watchNodes = 128

var watchKinds = []int{8, 8, 1}

// WatchNoise is the difference between checks of one healthy component.
type WatchNoise struct {
	Name string
	// Sigma is the standard deviation of checks without the wide ones, as a share of the figure.
	Sigma float64
	// Rho is the autocorrelation of neighbouring checks.
	Rho float64
	// Season is the amplitude of a yearly drift of all figures, as a share. Steps is the number of
	// changes per year that affect all nodes on the same day and that no version shows.
	Season float64
	Steps  int
}

// watchNoises are the noises of docs/EXPERIMENTS.md, with the assumed sigma and with twice the
// sigma.
var watchNoises = []WatchNoise{
	{Name: "2 % of the checks ×3, ρ = 0.5", Sigma: history.Sigma, Rho: 0.5, Season: 0.01},
	{Name: "2 % of the checks ×3, ρ = 0.5", Sigma: 2 * history.Sigma, Rho: 0.5, Season: 0.01},
	{Name: "2 % of the checks ×3, ρ = 0.5, driver steps", Sigma: 2 * history.Sigma, Rho: 0.5, Season: 0.01, Steps: 2},
}

// wideShare is the share of checks with a larger noise, independently of earlier checks. The noise
// is larger by the factor `wide`.
const wideShare, wide = 0.02, 3

// watched is the series of one component.
type watched struct {
	// lost is the planted loss, as a share.
	lost float64
	z    float64
	s    []float64
}

// `next` draws a figure. level is the healthy median.
func (w *watched) next(n WatchNoise, rng *rand.Rand, level float64) {
	w.z = n.Rho*w.z + math.Sqrt(1-n.Rho*n.Rho)*rng.NormFloat64()
	if len(w.s) == history.Window+history.Lasting {
		w.s = w.s[1:]
	}
	w.s = append(w.s, w.measure(n, rng, level))
}

// measure draws one measurement in a check. All measurements in a check share its noise, but each
// may be wide or not.
func (w *watched) measure(n WatchNoise, rng *rand.Rand, level float64) float64 {
	z := w.z
	if rng.Float64() < wideShare {
		z *= wide
	}
	return level * math.Exp(n.Sigma*z)
}

// watchedNode has the figures of a node by kind.
type watchedNode struct {
	kinds  [][]watched
	series [][][]float64
	fallen []bool
	// excused is the day until which a kind counts as fallen, because a change of the whole fleet
	// restarted it.
	excused []int
}

func newWatchedNode() *watchedNode {
	n := &watchedNode{fallen: make([]bool, len(watchKinds)), excused: make([]int, len(watchKinds))}
	for _, count := range watchKinds {
		n.kinds = append(n.kinds, make([]watched, count))
		n.series = append(n.series, make([][]float64, count))
	}
	return n
}

// check draws one day's figures of a kind. It returns whether a component is below its own past in
// the check and in the measurement that must confirm it.
func (n *watchedNode) check(kind int, noise WatchNoise, rng *rand.Rand, level float64) (declined bool) {
	for i := range n.kinds[kind] {
		w := &n.kinds[kind][i]
		w.next(noise, rng, level*(1-w.lost))
		n.series[kind][i] = w.s
	}
	n.fallen[kind] = history.Fallen(n.series[kind])
	for i, l := range history.Below(n.series[kind]) {
		w := &n.kinds[kind][i]
		declined = declined || l.Checks > 0 && l.Confirms(w.measure(noise, rng, level*(1-w.lost)))
	}
	return declined
}

// restart forgets the figures of a kind, as a new era does.
func (n *watchedNode) restart(kind int) {
	for i := range n.kinds[kind] {
		n.kinds[kind][i].s = nil
	}
}

// WatchRow counts the nodes that were taken out of use without a fault.
type WatchRow struct {
	Noise WatchNoise
	Years int
	// Isolated counts nodes. Quiet counts years without an isolated node. Eras counts the changes
	// that were attributed to the whole fleet.
	Isolated, Quiet, Eras int
}

// Watch simulates years of a healthy fleet.
func Watch(years int) (rows []WatchRow) {
	for i, n := range watchNoises {
		r := WatchRow{Noise: n, Years: years}
		for year := range years {
			isolated, eras := watchYear(n, rand.New(rand.NewPCG(uint64(year), uint64(67+i))))
			r.Isolated += isolated
			r.Eras += eras
			if isolated == 0 {
				r.Quiet++
			}
		}
		rows = append(rows, r)
	}
	return rows
}

func watchYear(n WatchNoise, rng *rand.Rand) (isolated, eras int) {
	const warm, year = history.Window + history.Lasting, 365
	nodes := make([]*watchedNode, watchNodes)
	for i := range nodes {
		nodes[i] = newWatchedNode()
	}
	level := make([]float64, len(watchKinds))
	steps := map[int]float64{}
	for range n.Steps {
		steps[warm+rng.IntN(year)] = spread(rng, 0.88, 1.06)
	}
	for k := range level {
		level[k] = 1
	}
	for day := range warm + year {
		if step, hit := steps[day]; hit {
			level[rng.IntN(len(level))] *= step
		}
		season := math.Exp(n.Season * math.Sin(2*math.Pi*float64(day)/year))
		for _, node := range nodes {
			for kind := range watchKinds {
				if !node.check(kind, n, rng, level[kind]*season) || day < warm {
					continue
				}
				if history.Together(fallenNodes(nodes, kind, day), watchNodes) {
					eras++
					node.excused[kind] = day + history.Window
				} else {
					isolated++
				}
				node.restart(kind)
			}
		}
	}
	return isolated, eras
}

func fallenNodes(nodes []*watchedNode, kind, day int) (count int) {
	for _, n := range nodes {
		if n.fallen[kind] || n.excused[kind] > day {
			count++
		}
	}
	return count
}

// FoundRow counts planted losses that were found.
type FoundRow struct {
	// Lost is the planted loss of one component. Within is the number of checks in which it must be
	// found.
	Lost   float64
	Within int
	Bar    Bar
	// Runs counts all components. Found counts those whose loss was found in time. Late counts
	// those whose loss was found within twice the number of checks.
	Runs, Found, Late int
}

// WatchFound plants losses in the memory of one GPU, with the assumed sigma.
func WatchFound(runs int) []FoundRow {
	rows := []FoundRow{{Lost: 0.08, Within: 3, Bar: Bar{Rate: 0.99}}, {Lost: 0.04, Within: 30, Bar: Bar{Rate: 0.90}}}
	for i := range rows {
		r := &rows[i]
		r.Runs = runs
		for run := range runs {
			at := plantedLoss(r.Lost, 2*r.Within, rand.New(rand.NewPCG(uint64(run), uint64(670+i))))
			if at > 0 && at <= r.Within {
				r.Found++
			} else if at > 0 {
				r.Late++
			}
		}
	}
	return rows
}

// plantedLoss returns the number of the check that finds a loss, from 1, or 0 if none of the checks
// does.
func plantedLoss(lost float64, checks int, rng *rand.Rand) int {
	n := newWatchedNode()
	noise := watchNoises[0]
	for range history.Window + history.Lasting {
		n.check(0, noise, rng, 1)
	}
	n.kinds[0][0].lost = lost
	for at := range checks {
		if n.check(0, noise, rng, 1) {
			return at + 1
		}
	}
	return 0
}

// WatchMarkdown returns both tables.
func WatchMarkdown(rows []WatchRow, found []FoundRow) string {
	var b strings.Builder
	b.WriteString("| noise of healthy nodes | σ % | years | isolated | years without | taken for the fleet's |\n|---|---|---|---|---|---|\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s | %g | %d | %d | %d | %d |\n", r.Noise.Name, 100*r.Noise.Sigma, r.Years, r.Isolated, r.Quiet, r.Eras)
	}
	b.WriteString("\n| planted loss | checks | found % | bar | within twice the checks % |\n|---|---|---|---|---|\n")
	for _, r := range found {
		share := func(n int) float64 { return 100 * float64(n) / float64(r.Runs) }
		fmt.Fprintf(&b, "| %g %% | %d | %.1f | %s | %.1f |\n", 100*r.Lost, r.Within, share(r.Found), r.Bar, share(r.Found+r.Late))
	}
	return b.String()
}
