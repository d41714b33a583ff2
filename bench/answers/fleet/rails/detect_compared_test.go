package rails

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/finding"
	"zbench/test/longtest"
)

// hurt is what a planted fault makes of a transfer's time: a factor.
type hurt func(x Pair, k Kind, rng *rand.Rand) float64

// fault is a kind of fault. nodes are those that must not pass, loss is the share of the bandwidth that is
// lost; fits tells which worlds can show it.
type fault struct {
	name  string
	nodes func(f Fleet) []int
	plant func(f Fleet, times float64) hurt
	fits  func(f Fleet) bool
}

func touches(x Pair, node int) bool { return x.A.Node == node || x.B.Node == node }

// slowNode slows all links and NICs of a node.
func slowNode(node int) func(Fleet, float64) hurt {
	return func(_ Fleet, times float64) hurt {
		return func(x Pair, k Kind, _ *rand.Rand) float64 { return 1 + (times-1)*b(k != Rings && touches(x, node)) }
	}
}

var faults = []fault{
	{"link", func(Fleet) []int { return []int{0} }, func(_ Fleet, times float64) hurt {
		return func(x Pair, k Kind, _ *rand.Rand) float64 {
			return 1 + (times-1)*b(k == XGMI && x.A.Node == 0 && x.A.GPU+x.B.GPU == 1)
		}
	}, func(f Fleet) bool { return f.Nodes*f.links() > 1 }},
	{"GPU", func(Fleet) []int { return []int{0} }, func(_ Fleet, times float64) hurt {
		return func(x Pair, k Kind, _ *rand.Rand) float64 {
			return 1 + (times-1)*b(k != Rings && (x.A == Place{} || x.B == Place{}))
		}
	}, func(f Fleet) bool { return f.Nodes*f.links() > 1 || f.Nodes > 2 }},
	{"NIC", func(Fleet) []int { return []int{0} }, func(_ Fleet, times float64) hurt {
		return func(x Pair, k Kind, _ *rand.Rand) float64 {
			return 1 + (times-1)*b(k == Network && (x.A == Place{} || x.B == Place{}))
		}
	}, func(f Fleet) bool { return f.Nodes > 2 || f.Nodes == 2 && f.GPUs > 1 }},
	{"node", func(Fleet) []int { return []int{1} }, slowNode(1), func(f Fleet) bool { return f.Nodes > 2 || f.Nodes == 2 && f.GPUs > 1 }},
	{"half of the nodes", func(f Fleet) []int { return slices.Collect(halves(f)) }, func(f Fleet, times float64) hurt {
		return func(x Pair, k Kind, _ *rand.Rand) float64 {
			return 1 + (times-1)*b(k != Rings && (x.A.Node < f.Nodes/2 || x.B.Node < f.Nodes/2))
		}
	}, func(f Fleet) bool { return f.Nodes > 3 }},
	{"a slow node beside a flaky one", func(Fleet) []int { return []int{0} }, func(f Fleet, times float64) hurt {
		return func(x Pair, k Kind, rng *rand.Rand) float64 {
			return max(1+(times-1)*b(k != Rings && touches(x, 0)), 1+2*b(k != Rings && touches(x, f.Nodes-1) && rng.Float64() < 0.5))
		}
	}, func(f Fleet) bool { return f.Nodes > 1 && f.GPUs > 1 }},
	{"slow part of the time", func(Fleet) []int { return []int{0} }, func(_ Fleet, times float64) hurt {
		return func(x Pair, k Kind, rng *rand.Rand) float64 {
			return 1 + (times-1)*b(k != Rings && touches(x, 0) && rng.Float64() < 0.3)
		}
	}, func(f Fleet) bool { return f.Nodes < fewNodes && f.Nodes*f.links() > 1 }},
}

func halves(f Fleet) func(func(int) bool) {
	return func(yield func(int) bool) {
		for node := range f.Nodes / 2 {
			if !yield(node) {
				return
			}
		}
	}
}

// judged measures a world with noise, and returns the document with its verdict.
func judged(t *testing.T, f Fleet, seed uint64, sigma float64, bad hurt) (*Document, *Verdict) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 53))
	_, timings := measured(t, f, Bounds{Seed: seed}, func(_ int, r Round, i int) []float64 {
		s := make([]float64, 5)
		for k := range s {
			s[k] = 1e-3 * math.Exp(sigma*rng.NormFloat64())
			if bad != nil {
				s[k] *= bad(r.Pairs[i], r.Kind, rng)
			}
		}
		return s
	})
	v := Judge(Data{Fleet: f, Timings: timings})
	s := &Survey{GPUs: f.GPUs, Bytes: 1 << 20}
	for node := range f.Nodes {
		s.Nodes = append(s.Nodes, strconv.Itoa(node))
	}
	return OfSurvey(s, timings, v), v
}

// noFalseOK plants every kind of fault in every world: no OK is of a larger loss than it prints, and no
// node with such a loss is in pass.txt.
func noFalseOK(t *testing.T, worlds []Fleet, seeds uint64, sigma float64) {
	t.Helper()
	for _, f := range worlds {
		for _, x := range faults {
			if !x.fits(f) {
				continue
			}
			for _, times := range []float64{1.25, 2, 3} {
				for seed := range seeds {
					d, v := judged(t, f, seed, sigma, x.plant(f, times))
					at := fmt.Sprintf("%d×%d, %s, %g times as long, seed %d: limit %.3f, %+v %+v", f.Nodes, f.GPUs, x.name, times, seed, d.Limit, v.Findings, v.Questions)
					if 1-1/times <= d.Limit {
						continue
					}
					require.NotEqual(t, finding.Healthy, d.State, at)
					for _, node := range x.nodes(f) {
						require.NotContains(t, d.Pass, strconv.Itoa(node), at)
					}
				}
			}
		}
	}
}

var smallWorlds = []Fleet{{Nodes: 1, GPUs: 2}, {Nodes: 1, GPUs: 3}, {Nodes: 1, GPUs: 4}, {Nodes: 1, GPUs: 8}, {Nodes: 2, GPUs: 1}, {Nodes: 2, GPUs: 4}, {Nodes: 3, GPUs: 2}, {Nodes: 4, GPUs: 1}, {Nodes: 4, GPUs: 4}}

func TestNoOKBeyondItsLimit(t *testing.T) { noFalseOK(t, smallWorlds, 2, 0.02) }

func TestLongNoOKBeyondItsLimit(t *testing.T) {
	longtest.Only(t)
	noFalseOK(t, append(smallWorlds, Fleet{Nodes: 2, GPUs: 8}, Fleet{Nodes: 5, GPUs: 2}, Fleet{Nodes: 8, GPUs: 8}, Fleet{Nodes: 16, GPUs: 8}), 20, 0.02)
}

// cleanIsOK measures worlds without a fault at three levels of noise: of a hundred at most one is not OK.
// Where a pair is alone there is nothing to say.
func cleanIsOK(t *testing.T, worlds []Fleet, seeds uint64) {
	t.Helper()
	for _, sigma := range []float64{0.01, 0.03, 0.05} {
		runs, other := 0, []string{}
		for _, f := range worlds {
			for seed := range seeds {
				d, v := judged(t, f, seed, sigma, nil)
				if f.Nodes*f.GPUs == 2 {
					require.Equal(t, finding.NotChecked, d.State)
					require.Empty(t, d.Pass)
					continue
				}
				if runs++; d.State != finding.Healthy {
					other = append(other, fmt.Sprintf("%d×%d, seed %d: %s %+v %+v", f.Nodes, f.GPUs, seed, d.State, v.Findings, v.Questions))
				}
			}
		}
		require.LessOrEqual(t, len(other), 1+runs/100, "noise %g, %d runs: %q", sigma, runs, other)
	}
}

func TestCleanRunsStayOK(t *testing.T) { cleanIsOK(t, smallWorlds, 5) }

func TestLongCleanRunsStayOK(t *testing.T) {
	longtest.Only(t)
	cleanIsOK(t, append(smallWorlds, Fleet{Nodes: 2, GPUs: 8}, Fleet{Nodes: 3, GPUs: 1}, Fleet{Nodes: 8, GPUs: 8}, Fleet{Nodes: 16, GPUs: 8}), 50)
	cleanIsOK(t, []Fleet{{Nodes: 128, GPUs: 8}}, 2)
}

// The gate sees each figure of rounds and of a matrix: one that is made smaller, a comparison that is left out and a
// pass that it does not know turn an OK into something else.
func TestTheGateSeesEachFigure(t *testing.T) {
	d, measured := judged(t, Fleet{Nodes: 4, GPUs: 4}, 1, 0.01, nil)
	m := square(1, 4, 0, true, whole)
	given := judgedMatrix(m)
	for _, x := range []struct {
		d       *Document
		clean   *Verdict
		classes []string
		nodes   []string
	}{
		{d, measured, []string{"NICs", "xGMI links", "GPUs by their links"}, []string{"0", "1", "2", "3"}},
		{OfVerdict(OfMatrix, "", m, given, nil), given, []string{"ends of pairs", "ends of pairs", "pairs"}, m.Nodes},
	} {
		require.Equal(t, finding.Healthy, x.d.State)
		require.Equal(t, x.nodes, x.d.Pass)
		var classes []string
		for class, of := range x.clean.Compared {
			classes = append(classes, of.Class)
			for i, figure := range of.Figures {
				v := *x.clean
				v.Compared = slices.Clone(x.clean.Compared)
				v.Compared[class].Figures = slices.Clone(of.Figures)
				v.Compared[class].Figures[i].Rate *= 1 - of.Limit - 0.1
				v.finish()
				require.Equal(t, finding.Unclear, v.State, "%s %d", of.Class, i)
				require.Contains(t, v.Questions[0].Candidates, figure.Subject)
				x.d.sort(x.nodes, &v)
				require.NotContains(t, x.d.Pass, x.nodes[figure.Subject.Node])
			}
			v := *x.clean
			v.Compared = slices.Clone(x.clean.Compared)
			v.Compared[class].Figures = of.Figures[:1]
			v.finish()
			require.Equal(t, finding.NotChecked, v.State, of.Class)
		}
		require.Equal(t, x.classes, classes)
		v := *x.clean
		v.Compared = nil
		v.finish()
		require.Equal(t, finding.NotChecked, v.State)
	}
}

// Two of four nodes are slow in a file: no end passes for that.
func TestHalfOfAMatrixIsNoReference(t *testing.T) {
	for _, bothWays := range []bool{false, true} {
		text := ""
		for a := range 4 {
			for o := range 4 {
				if a < o || bothWays && a != o {
					text += fmt.Sprintf("n%d,n%d,%g\n", a, o, 45/(1+b(a < 2 || o < 2))+0.01*float64(a))
				}
			}
		}
		m, _ := read(t, text)
		d := OfVerdict(OfMatrix, "", m, Judge(m.Data()), nil)
		require.Equal(t, finding.Unclear, d.State)
		require.NotContains(t, d.Pass, "n0")
		require.NotContains(t, d.Pass, "n1")
	}
}

// One pair is its own reference however often it is timed. A profile is one, of what it has a figure for.
func TestAPairAloneIsNoReference(t *testing.T) {
	for _, x := range []struct {
		f     Fleet
		other Profile
	}{{Fleet{Nodes: 1, GPUs: 2}, Profile{Network: 1e-3, Source: "x"}}, {Fleet{Nodes: 2, GPUs: 1}, Profile{XGMI: 1e-3, Source: "x"}}} {
		f := x.f
		_, timings := flat(t, f, Bounds{Least: 20, Passes: 20}, even)
		v := Judge(Data{Fleet: f, Timings: timings})
		require.Equal(t, finding.NotChecked, v.State, "%+v", f)
		require.Contains(t, v.Unchecked[0], "make no reference")
		require.Equal(t, finding.NotChecked, Judge(Data{Fleet: f, Timings: timings, Profile: &x.other}).State)
		require.Equal(t, finding.Healthy, Judge(Data{Fleet: f, Timings: timings, Profile: &Profile{Network: 1e-3, XGMI: 1e-3, Source: "x"}}).State)
	}
}

// Most links are slow: those of one node, and one of a flaky node that is named. The best links of the GPUs tell.
func TestANodeIsBehindThoughMostLinksAre(t *testing.T) {
	f := Fleet{Nodes: 2, GPUs: 4}
	for seed := range uint64(5) {
		d, v := judged(t, f, seed, 0.01, func(x Pair, k Kind, rng *rand.Rand) float64 {
			slow := touches(x, 0) || x.A.GPU+x.B.GPU == 1
			return max(1+b(k == XGMI && slow), 1+2*b(k != Rings && touches(x, 1) && rng.Float64() < 0.3))
		})
		require.NotContains(t, d.Pass, "0", "seed %d: %+v %+v", seed, v.Findings, v.Questions)
	}
}
