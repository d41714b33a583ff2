package experiments

import (
	"fmt"
	"math"
	"slices"

	"zbench/bench/answers/recommend"
	"zbench/bench/base/unit"
)

// policy is a way to choose a setting in elements.
type policy struct {
	name   string
	choose func(c *Cluster, a recommend.Answer) int64
}

// The first policies: the recommender's answer, its answer after a second pass, and its setting
// with the least mean regret. The recommender answers with that last setting if the gain is at
// least 1 %.
const (
	answerAsGiven = iota
	secondPass
	changed
)

// policies returns the recommender, other ways to read its table, and settings that people commonly
// use.
func policies() []policy {
	all := []policy{
		{"zbench recommend", func(_ *Cluster, a recommend.Answer) int64 { return a.Elements }},
		{"zbench recommend, second pass", func(c *Cluster, a recommend.Answer) int64 {
			again := *c
			again.sources = slices.Clone(c.sources)
			again.AnswerSizes(a)
			again.Question.Bootstrap = 0
			return answered(again.Question)
		}},
		{"zbench recommend, changes below 1 % made too", func(_ *Cluster, a recommend.Answer) int64 { return a.Least.Elements }},
		{"zbench recommend, default kept below 1 % as measured", keptAsMeasured},
	}
	all = append(all, readings()...)
	all = append(all, policy{"zbench, computation 1.6 times off even if measured", func(c *Cluster, _ recommend.Answer) int64 {
		q := c.Question
		q.Bootstrap, q.Scenarios = 0, recommend.Grid(false, true)
		return answered(q)
	}})
	for _, end := range []int64{unit.GiB, 128 * unit.MiB} {
		all = append(all, policy{"zbench, sweep ends at " + unit.Bytes(end), func(c *Cluster, _ recommend.Answer) int64 {
			q := c.Question
			q.Bootstrap, q.Curves = 0, truncated(q.Curves, end)
			return answered(q)
		}})
	}
	all = append(all, policy{"zbench, backward unknown", func(c *Cluster, _ recommend.Answer) int64 {
		q := c.Question
		q.Backward, q.Forward, q.Bootstrap = 0, 0, 0
		return answered(q)
	}})
	all = append(all, policy{"least step, α–β fit of the curve", func(c *Cluster, _ recommend.Answer) int64 {
		q := c.Question
		q.Bootstrap, q.Scenarios, q.Curves = 0, []recommend.Scenario{{Network: 1, Compute: 1}}, fitted(q.Curves)
		return answered(q)
	}})
	for _, f := range []float64{0.8, 0.9} {
		all = append(all, policy{fmt.Sprintf("%.0f %% of the peak bus bandwidth", 100*f), func(c *Cluster, _ recommend.Answer) int64 {
			return knee(c.Question, f)
		}})
	}
	for _, mib := range []int64{25, 100} {
		all = append(all, policy{fmt.Sprintf("%d MiB", mib), func(c *Cluster, _ recommend.Answer) int64 {
			return mib << 20 / c.Question.Run.GradBytes()
		}})
	}
	return append(all, fixed()...)
}

// keptAsMeasured keeps the default if the measured step alone justifies it.
func keptAsMeasured(_ *Cluster, a recommend.Answer) int64 {
	if a.Default.Step < a.Least.Step*(1+recommend.PlateauWidth) {
		return a.Default.Elements
	}
	return a.Least.Elements
}

// fixed returns settings that people commonly use.
func fixed() []policy {
	return []policy{
		{"Megatron's default, max(40 M, 1 M × ranks)", func(c *Cluster, _ recommend.Answer) int64 {
			return max(40_000_000, 1_000_000*int64(c.ranks))
		}},
		{"40 M elements", func(*Cluster, recommend.Answer) int64 { return 40_000_000 }},
		{"128 Mi elements (Megatron-Bridge)", func(*Cluster, recommend.Answer) int64 { return 128 << 20 }},
		{"5e8 elements (DeepSpeed)", func(*Cluster, recommend.Answer) int64 { return 500_000_000 }},
		{"one bucket", func(_ *Cluster, a recommend.Answer) int64 { return a.Single.Elements }},
	}
}

// readings returns other ways to choose from the recommender's table.
func readings() []policy {
	least := func(value func(c recommend.Candidate) float64) func(c *Cluster, a recommend.Answer) int64 {
		return func(_ *Cluster, a recommend.Answer) int64 {
			best := a.Table[0]
			for _, c := range a.Table {
				if value(c) < value(best) {
					best = c
				}
			}
			return best.Elements
		}
	}
	within := func(largest bool) func(c *Cluster, a recommend.Answer) int64 {
		return func(_ *Cluster, a recommend.Answer) int64 {
			chosen := int64(0)
			for _, c := range a.Table {
				if c.Nominal <= 0.01 && (chosen == 0 || largest) {
					chosen = c.Elements
				}
			}
			return chosen
		}
	}
	return []policy{
		{"least mean regret, without ties", least(func(c recommend.Candidate) float64 { return c.Score })},
		{"least worst regret", least(func(c recommend.Candidate) float64 { return c.Worst })},
		{"middle of the plateau", func(_ *Cluster, a recommend.Answer) int64 {
			return int64(math.Sqrt(float64(a.Plateau.Lo) * float64(a.Plateau.Hi)))
		}},
		{"least step as measured", least(func(c recommend.Candidate) float64 { return c.Nominal })},
		{"smallest within 1 % as measured", within(false)},
		{"largest within 1 % as measured", within(true)},
	}
}

// answered returns the recommender's setting, or 0 if it refuses.
func answered(q recommend.Question) int64 {
	a, err := recommend.Ask(q)
	if err != nil {
		return 0
	}
	return a.Elements
}

// truncated returns the curves up to a size in bytes.
func truncated(curves []recommend.Curve, end int64) []recommend.Curve {
	all := slices.Clone(curves)
	for i := range all {
		all[i].Points = slices.DeleteFunc(slices.Clone(all[i].Points), func(p recommend.Point) bool { return p.Bytes > end })
	}
	return all
}

// fitted replaces the curves by fits.
func fitted(curves []recommend.Curve) []recommend.Curve {
	all := slices.Clone(curves)
	for i := range all {
		alpha, b := all[i].Fit()
		all[i].Points = slices.Clone(all[i].Points)
		for j := range all[i].Points {
			p := &all[i].Points[j]
			p.Seconds = alpha + float64(p.Bytes)/b
		}
	}
	return all
}

// knee returns the smallest measured size that reaches a share of the largest bandwidth, in
// elements of gradients.
func knee(q recommend.Question, share float64) int64 {
	name := "all_reduce"
	if q.Trainer == "megatron" {
		name = "reduce_scatter"
	}
	i := slices.IndexFunc(q.Curves, func(c recommend.Curve) bool { return c.Collective == name })
	points := q.Curves[i].Points
	peak := 0.0
	for _, p := range points {
		peak = max(peak, float64(p.Bytes)/p.Seconds)
	}
	for _, p := range points {
		if float64(p.Bytes)/p.Seconds >= share*peak {
			return p.Bytes / q.Run.GradBytes()
		}
	}
	return 0
}
