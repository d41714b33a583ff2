package experiments

import (
	"fmt"
	"math"
	"slices"

	"zbench/bench/cost"
	"zbench/bench/recommend"
	"zbench/bench/stat"
	"zbench/bench/trainer"
)

// Truths is how many truths each cluster is judged by.
const Truths = 5

// Regret is how much longer steps are than they could be, as shares.
type Regret struct {
	Policy string
	All    []float64
	// First are those of the first truth of each cluster, which are independent.
	First []float64
}

// Summary of the regrets.
func (r Regret) Summary() (mean, median, p95, largest float64) {
	for _, x := range r.All {
		mean += x / float64(len(r.All))
	}
	return mean, stat.Quantile(r.All, 0.5), stat.Quantile(r.All, 0.95), slices.Max(r.All)
}

// Buckets is what an experiment with bucket sizes found.
type Buckets struct {
	Clusters int
	Truth    string
	// Policies are the ways of choosing, in the order of their table; the first is
	// the recommender.
	Policies []Regret
	// Levels are the recommender's regrets by its confidence.
	Levels map[string]*Regret
	// Refused counts clusters without an answer.
	Refused int
}

// policy is a way to choose a setting in elements.
type policy struct {
	name   string
	choose func(c *Cluster, a recommend.Answer) int64
}

// policies are the recommender, other readings of its own table, and what people
// do.
func policies() []policy {
	all := []policy{
		{"zbench recommend", func(_ *Cluster, a recommend.Answer) int64 { return a.Elements }},
		{"zbench recommend, second pass", func(c *Cluster, a recommend.Answer) int64 {
			again := *c
			again.sources = slices.Clone(c.sources)
			again.SecondPass(a)
			again.Question.Bootstrap = 0
			return answered(again.Question)
		}},
	}
	all = append(all, readings()...)
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

// fixed are the settings of folklore.
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

// readings choose otherwise from the recommender's table.
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

// answered is the recommender's setting; 0 where it refuses.
func answered(q recommend.Question) int64 {
	a, err := recommend.Ask(q)
	if err != nil {
		return 0
	}
	return a.Elements
}

// fitted replaces the curves by their fits.
func fitted(curves []cost.Curve) []cost.Curve {
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

// knee is the smallest swept size that reaches a share of the largest bandwidth,
// in elements of gradients.
func knee(q recommend.Question, share float64) int64 {
	name := "all_reduce"
	if q.Trainer == "megatron" {
		name = "reduce_scatter"
	}
	i := slices.IndexFunc(q.Curves, func(c cost.Curve) bool { return c.Collective == name })
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

// RunBuckets asks about the clusters of seeds 0 … clusters−1 and judges every
// policy by the truths.
func RunBuckets(clusters int, h Harshness) Buckets {
	b := Buckets{Clusters: clusters, Truth: h.Name, Levels: map[string]*Regret{}}
	all := policies()
	for _, p := range all {
		b.Policies = append(b.Policies, Regret{Policy: p.name})
	}
	for seed := range clusters {
		b.add(uint64(seed), all, h)
	}
	return b
}

func (b *Buckets) add(seed uint64, all []policy, h Harshness) {
	c := NewCluster(seed)
	a, err := recommend.Ask(c.Question)
	if err != nil || a.Verdict != recommend.Recommended {
		b.Refused++
		return
	}
	t, err := trainer.ByName(c.Question.Trainer)
	if err != nil {
		panic(err) // drawn from the table
	}
	chosen := make([]trainer.Plan, len(all))
	for i, p := range all {
		chosen[i] = t.Plan(c.params, max(1, p.choose(&c, a)), c.Question.Run)
	}
	others := grid(t, &c, a.Gradients)
	level := b.Levels[a.Confidence.Level]
	if level == nil {
		level = &Regret{Policy: a.Confidence.Level}
		b.Levels[a.Confidence.Level] = level
	}
	for i := range Truths {
		for j, r := range regrets(newTruth(&c, h, seed*Truths+uint64(i)), chosen, others) {
			p := &b.Policies[j]
			p.All = append(p.All, r)
			if i == 0 {
				p.First = append(p.First, r)
			}
			if j == 0 {
				level.All = append(level.All, r)
			}
		}
	}
}

// grid is the plans that the best is sought among, beside those that were chosen:
// four an octave, from 64 Ki elements to one bucket.
func grid(t trainer.Trainer, c *Cluster, total int64) []trainer.Plan {
	var all []trainer.Plan
	for s := float64(64 << 10); s < 1.2*float64(total); s *= math.Pow(2, 0.25) {
		all = append(all, t.Plan(c.params, int64(s), c.Question.Run))
	}
	return all
}

// regrets are those of the chosen plans over the best of all.
func regrets(t *truth, chosen, others []trainer.Plan) []float64 {
	steps := make([]float64, len(chosen))
	best := math.Inf(1)
	for i, p := range chosen {
		steps[i] = t.step(p)
		best = min(best, steps[i])
	}
	for _, p := range others {
		best = min(best, t.step(p))
	}
	for i := range steps {
		steps[i] = steps[i]/best - 1
	}
	return steps
}

// Markdown is the table of docs/BUCKET.md.
func (b Buckets) Markdown() string {
	s := fmt.Sprintf("\n%s: %d clusters × %d truths; %d refused\n\n| policy | mean | median | p95 | worst |\n|---|---|---|---|---|\n",
		b.Truth, b.Clusters, Truths, b.Refused)
	row := func(r Regret) string {
		mean, median, p95, largest := r.Summary()
		return fmt.Sprintf("| %s | %.2f %% | %.2f %% | %.1f %% | %.0f %% |\n", r.Policy, 100*mean, 100*median, 100*p95, 100*largest)
	}
	for _, p := range b.Policies {
		s += row(p)
	}
	for _, name := range []string{recommend.High, recommend.Medium, recommend.Low} {
		if l := b.Levels[name]; l != nil {
			s += row(Regret{Policy: fmt.Sprintf("zbench at confidence %s, %d clusters", name, len(l.All)/Truths), All: l.All})
		}
	}
	return s
}
