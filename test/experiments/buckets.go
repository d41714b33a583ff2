package experiments

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"zbench/bench/answers/recommend"
	"zbench/bench/base/stat"
	"zbench/bench/job/trainer"
)

// Truths is the number of truths with which the answer for each cluster is judged.
const Truths = 5

// Regret is how much longer steps are than the best possible ones, as shares.
type Regret struct {
	Policy string
	All    []float64
	// First are the regrets for the first truth of each cluster, which are independent of each
	// other.
	First []float64
}

// Summary summarises the regrets.
func (r Regret) Summary() (mean, median, p95, largest float64) {
	for _, x := range r.All {
		mean += x / float64(len(r.All))
	}
	return mean, stat.Quantile(r.All, 0.5), stat.Quantile(r.All, 0.95), slices.Max(r.All)
}

// Buckets is the result of an experiment with bucket sizes.
type Buckets struct {
	Clusters int
	Truth    string
	// Policies are the ways of choosing a setting, in the order of the table. The first one is the
	// recommender.
	Policies []Regret
	// Levels are the recommender's regrets by its confidence. Changed are the regrets of its
	// setting with the least mean regret, even if the recommender keeps the current setting.
	Levels, Changed map[string]*Regret
	// Refused counts clusters for which the recommender gave no answer.
	Refused int
}

// RunBuckets asks for an answer for a number of clusters, with seeds from first on, and judges
// every policy with truths of each kind.
func RunBuckets(first uint64, clusters int, kinds ...Harshness) []Buckets {
	all := policies()
	found := make([]Buckets, len(kinds))
	for i, h := range kinds {
		found[i] = Buckets{Clusters: clusters, Truth: h.Name, Levels: map[string]*Regret{}, Changed: map[string]*Regret{}}
		for _, p := range all {
			found[i].Policies = append(found[i].Policies, Regret{Policy: p.name})
		}
	}
	for i := range uint64(clusters) {
		seed := first + i
		c := NewCluster(seed)
		a, err := recommend.Ask(c.Question)
		if err != nil || a.Verdict != recommend.Recommended {
			for i := range found {
				found[i].Refused++
			}
			continue
		}
		chosen, others := plans(&c, a, all)
		for i, h := range kinds {
			for j := range uint64(Truths) {
				t := newTruth(&c, h, seed*Truths+j)
				found[i].add(a.Confidence.Level, j == 0, regrets(t, chosen, others))
			}
		}
	}
	return found
}

// plans returns the plans that the policies choose, and the plans with which they are compared.
func plans(c *Cluster, a recommend.Answer, all []policy) (chosen, others []trainer.Plan) {
	t, err := trainer.ByName(c.Question.Trainer)
	if err != nil {
		panic(err) // the name was drawn from the table
	}
	for _, p := range all {
		chosen = append(chosen, t.Plan(c.params, max(1, p.choose(c, a)), c.Question.Run))
	}
	return chosen, grid(t, c, a.Gradients)
}

// add adds the regrets of all policies under one truth.
func (b *Buckets) add(level string, first bool, regrets []float64) {
	if b.Levels[level] == nil {
		b.Levels[level], b.Changed[level] = &Regret{Policy: level}, &Regret{Policy: level}
	}
	b.Levels[level].All = append(b.Levels[level].All, regrets[answerAsGiven])
	b.Changed[level].All = append(b.Changed[level].All, regrets[changed])
	for i, r := range regrets {
		p := &b.Policies[i]
		p.All = append(p.All, r)
		if first {
			p.First = append(p.First, r)
		}
	}
}

// grid returns the plans among which the best one is searched, in addition to the chosen ones: four
// settings per octave, from 64 Ki elements to one bucket.
func grid(t trainer.Trainer, c *Cluster, total int64) []trainer.Plan {
	var all []trainer.Plan
	for s := float64(64 << 10); s < 1.2*float64(total); s *= math.Pow(2, 0.25) {
		all = append(all, t.Plan(c.params, int64(s), c.Question.Run))
	}
	return all
}

// regrets returns the regrets of the chosen plans against the best of all plans.
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

// Markdown returns the table of docs/EXPERIMENTS.md and of RESULTS.md.
func (b Buckets) Markdown() string {
	var s strings.Builder
	fmt.Fprintf(&s, "\n%s: %d clusters × %d truths; %d refused\n\n| policy | mean | median | p95 | worst |\n|---|---|---|---|---|\n",
		b.Truth, b.Clusters, Truths, b.Refused)
	row := func(name string, r Regret) {
		mean, median, p95, largest := r.Summary()
		fmt.Fprintf(&s, "| %s | %.2f %% | %.2f %% | %.1f %% | %.0f %% |\n", name, 100*mean, 100*median, 100*p95, 100*largest)
	}
	for _, p := range b.Policies {
		row(p.Policy, p)
	}
	for _, name := range []string{recommend.High, recommend.Medium, recommend.Low} {
		if l := b.Levels[name]; l != nil {
			row(fmt.Sprintf("zbench at confidence %s, %d clusters", name, len(l.All)/Truths), *l)
			row("the same, changes below 1 % made too", *b.Changed[name])
		}
	}
	return s.String()
}
