package experiments

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"zbench/bench/answers/recommend"
	"zbench/bench/base/stat"
	"zbench/bench/base/unit"
	"zbench/bench/job/trainer"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
	"zbench/bench/work/fabric"
)

// WithinRow counts, for one noise, how often the statement "within 1 %" was true.
type WithinRow struct {
	// Noise is the standard deviation of the logarithm of each point's error.
	Noise float64
	Draws int
	// Levels counts the answers by confidence.
	Levels map[string]int
	// Answer counts draws whose setting costs at most 1 % by the noise-free curve. Listed counts
	// draws in which this holds for all settings that are listed as within 1 %.
	Answer, Listed int
	// Sure counts draws with a confidence above low. SureAnswer and SureListed count those among
	// them for which the statements are true.
	Sure, SureAnswer, SureListed int
	// Octaves is the total width of the listed ranges, in octaves, for each draw above low.
	Octaves []float64
	// Why counts the reasons for low confidence. Unproved counts the draws whose only reason is
	// that no real step has this much latency.
	Why      map[string]int
	Unproved int
}

// Holds counts the draws in which the statement is true or the confidence is low.
func (r *WithinRow) Holds() int { return r.Draws - r.Sure + r.SureListed }

// The bars. statedRight: settings that are listed as within 1 % really are, or the confidence is
// low. seldomLow: on a quiet machine, whose samples vary by sampleCV, noise seldom makes the
// confidence low. Unproved answers do not count, because noise is not their reason.
var (
	statedRight = Bar{Rate: 0.95}
	seldomLow   = Bar{Rate: 0.2, AtMost: true}
)

// pointNoises are the errors of a point that are drawn.
var pointNoises = []float64{0, 0.02, 0.05, 0.10}

// pointSamples and sampleCV describe the samples of one size in one run. The samples do not show
// the error of the point, as in a real sweep.
const (
	pointSamples = 30
	sampleCV     = 0.01
)

// The ways to get a curve: a log of another tool has one mean per size; a record has the samples of
// one run or of two.
const (
	logOfMeans = iota
	oneRun
	twoRuns
	waysToMeasure
)

// withinCase is one combination of a fabric, a trainer, a model and its computation.
type withinCase struct {
	question recommend.Question
	// seconds returns the true time of a collective.
	seconds func(collective string, bytes int64) float64
	ranks   int
	nodes   int
	truth   recommend.Answer
	// costs has the costs of settings that the table of the truth lacks.
	costs map[int64]float64
}

// The combinations: every model with every trainer, every number of tokens in a microbatch, and
// every number of nodes.
var (
	withinModels   = []string{"llama3-8b", "zaya1-base", "moonlight-16b"}
	withinTrainers = []recommend.Question{
		{Trainer: "megatron", Run: trainer.Run{Zero: 1, GradDtype: "float", ParamDtype: "bfloat16"}},
		{Trainer: "ddp", Run: trainer.Run{GradDtype: "bfloat16", ParamDtype: "bfloat16"}},
		{Trainer: "deepspeed", Run: trainer.Run{Zero: 1, GradDtype: "bfloat16", ParamDtype: "bfloat16"}},
		{Trainer: "fsdp2", Run: trainer.Run{Zero: 3, GradDtype: "float", ParamDtype: "bfloat16"}},
	}
	withinTokens = []int64{1 << 10, 4 << 10, 8 << 10, 32 << 10}
	withinNodes  = []int{1, 2, 16, 128}
)

// Combinations is the number of combinations.
var Combinations = len(withinModels) * len(withinTrainers) * len(withinTokens) * len(withinNodes)

// newWithinCase returns the combination with a number. plans are the plans of its model and
// trainer.
func newWithinCase(number int, plans *recommend.Plans) *withinCase {
	digit := func(base int) int {
		d := number % base
		number /= base
		return d
	}
	nodes, tokens := withinNodes[digit(len(withinNodes))], withinTokens[digit(len(withinTokens))]
	q := withinTrainers[digit(len(withinTrainers))]
	m, err := trainer.Preset(withinModels[digit(len(withinModels))])
	must(err)
	compute, err := trainer.Load{Tokens: tokens, ActiveParams: m.ActiveParams, Flops: 400e12}.Estimate()
	must(err)
	q.Params, q.Plans, q.Backward, q.Forward = trainer.WithBlocks(m.Params), plans, compute.Backward, compute.Forward
	name := "mi300x-pollara"
	if nodes == 1 {
		name = "mi300x-8gpu"
	}
	f, err := fabric.ByName(name)
	must(err)
	machine, err := f.Resolve(spec.World{Nodes: nodes, GPUsPerNode: 8, GPUsPerProcess: 1}, fabric.Conditions{})
	must(err)
	c := &withinCase{
		question: q, ranks: 8 * nodes, nodes: nodes, costs: map[int64]float64{},
		seconds: func(collective string, bytes int64) float64 {
			return machine.Launch(machine.Whole(), collective, bytes)
		},
	}
	c.question.Run.DP = c.ranks
	c.question.Curves = curvesOf([]recommend.Source{c.sweep(rand.New(rand.NewPCG(0, 0)), 0, logOfMeans)})
	c.truth = c.ask(c.question)
	c.question.Bootstrap = 200
	return c
}

func must(err error) {
	if err != nil {
		panic(err) // the name is from a table, and the table has the model
	}
}

func (c *withinCase) ask(q recommend.Question) recommend.Answer {
	a, err := recommend.Ask(q)
	must(err)
	if a.Verdict != recommend.Recommended {
		panic(a.Refusal.Message)
	}
	return a
}

// draw returns the answer from curves with the given noise.
func (c *withinCase) draw(rng *rand.Rand, noise float64, way int) recommend.Answer {
	sources := []recommend.Source{c.sweep(rng, noise, way)}
	if way == twoRuns {
		sources = append(sources, c.sweep(rng, noise, way))
	}
	q := c.question
	q.Curves, q.Seed = curvesOf(sources), rng.Uint64()
	return c.ask(q)
}

// sweep measures once. Each size has an error of its own. The sizes cover all messages, so that
// nothing except noise affects the confidence.
func (c *withinCase) sweep(rng *rand.Rand, noise float64, way int) recommend.Source {
	rec := &record.Record{Schema: record.Schema, Source: record.Source{Kind: record.Measured}}
	for _, name := range []string{"all_reduce", "reduce_scatter", "all_gather"} {
		for s := 64 * unit.KiB; s <= 32*unit.GiB; s *= 2 {
			t := c.seconds(name, s) * math.Exp(rng.NormFloat64()*noise)
			r := record.Result{
				Case: record.Case{Key: name + strconv.FormatInt(s, 10), Status: record.OK}, Collective: name, Dtype: "bfloat16", Bytes: s, Ranks: c.ranks, Nodes: c.nodes,
				GPUsPerProcess: 1, Groups: 1, InPlace: true,
			}
			if way == logOfMeans {
				r.Burst = &record.Timing{MeanOfRanks: stat.Summarize([]float64{t})}
			} else {
				r.Isolated = &record.Timing{MaxOfRanks: stat.Summarize(samplesOf(rng, t))}
			}
			rec.Results = append(rec.Results, r)
		}
	}
	if way == logOfMeans {
		rec.Source.Kind = record.Imported
	}
	return recommend.Source{Record: rec}
}

func samplesOf(rng *rand.Rand, t float64) []float64 {
	series := make([]float64, pointSamples)
	for i := range series {
		series[i] = t * math.Exp(rng.NormFloat64()*sampleCV)
	}
	return series
}

// cost returns what a setting costs by the noise-free curve, as an answer computes it.
func (c *withinCase) cost(setting int64) float64 {
	if known, ok := c.costs[setting]; ok {
		return known
	}
	of := func(x recommend.Candidate) float64 {
		return max(x.Step/c.truth.Least.Step-1, x.Score-c.truth.Least.Score)
	}
	i, found := slices.BinarySearchFunc(c.truth.Table, setting, func(x recommend.Candidate, s int64) int { return cmp.Compare(x.Elements, s) })
	if found {
		return of(c.truth.Table[i])
	}
	q := c.question
	q.Bootstrap, q.Current, q.Plans = 0, setting, nil
	c.costs[setting] = of(*c.ask(q).Current)
	return c.costs[setting]
}

// rounding is the difference up to which costs count as equal.
const rounding = 1e-9

// judge adds a draw.
func (r *WithinRow) judge(c *withinCase, a recommend.Answer) {
	cheap := func(setting int64) bool { return c.cost(setting) <= recommend.PlateauWidth+rounding }
	answer, octaves := cheap(a.Elements), 0.0
	listed := answer
	for _, w := range a.Within {
		octaves += math.Log2(float64(w.Hi) / float64(w.Lo))
		listed = listed && cheap(w.Lo) && cheap(w.Hi)
		for _, x := range c.truth.Table {
			listed = listed && (!w.Holds(x.Elements) || cheap(x.Elements))
		}
	}
	r.Draws++
	r.Levels[a.Confidence.Level]++
	sure := a.Confidence.Level != recommend.Low
	if sure {
		r.Octaves = append(r.Octaves, octaves)
	}
	var low []string
	for _, x := range a.Confidence.Reasons {
		if x.Level == recommend.Low {
			r.Why[x.Code]++
			low = append(low, x.Code)
		}
	}
	if slices.Equal(low, []string{"unproved"}) {
		r.Unproved++
	}
	for count, is := range map[*int]bool{
		&r.Answer: answer, &r.Listed: listed, &r.Sure: sure, &r.SureAnswer: sure && answer, &r.SureListed: sure && listed,
	} {
		if is {
			*count++
		}
	}
}

// RunWithin draws answers for the combinations 0, every, 2·every and so on: a number of draws for
// each noise.
func RunWithin(every, draws int) []WithinRow {
	var rows []WithinRow
	for _, noise := range pointNoises {
		rows = append(rows, WithinRow{Noise: noise, Levels: map[string]int{}, Why: map[string]int{}})
	}
	plans := map[int]*recommend.Plans{}
	for i := 0; i < Combinations; i += every {
		kind := i / (len(withinTokens) * len(withinNodes))
		if plans[kind] == nil {
			plans[kind] = &recommend.Plans{}
		}
		c := newWithinCase(i, plans[kind])
		for j := range rows {
			for d := range draws {
				rng := rand.New(rand.NewPCG(uint64(i), uint64(j*draws+d))) //nolint:gosec // small numbers
				rows[j].judge(c, c.draw(rng, rows[j].Noise, (i/every+d)%waysToMeasure))
			}
		}
	}
	return rows
}

// WithinFailures lists the bars that do not hold. In a small run it lists only those that chance
// cannot explain.
func WithinFailures(rows []WithinRow, small bool) []string {
	var out []string
	check := func(b Bar, what string, count int, r WithinRow) {
		if b.Holds(count, r.Draws) || small && b.Plausible(count, r.Draws) {
			return
		}
		out = append(out, fmt.Sprintf("noise of %.0f %%: %s %d of %d, bar %s", 100*r.Noise, what, count, r.Draws, b))
	}
	for _, r := range rows {
		check(statedRight, "true or low", r.Holds(), r)
		if r.Noise == 0 {
			check(seldomLow, "low", r.Draws-r.Sure-r.Unproved, r)
		}
	}
	return out
}

// WithinMarkdown returns the table of docs/EXPERIMENTS.md.
func WithinMarkdown(rows []WithinRow) string {
	var b strings.Builder
	b.WriteString("| noise | draws | answer within 1 % | all listed within 1 % | high, medium, low | above low: answer, all listed | true, or low | octaves listed, median | reasons for low |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, r := range rows {
		share := func(n, of int) string { return fmt.Sprintf("%.1f %%", 100*float64(n)/float64(max(1, of))) }
		fmt.Fprintf(&b, "| %.0f %% | %d | %s | %s | %d, %d, %d | %s, %s | %s | %.1f | %s |\n", 100*r.Noise, r.Draws, share(r.Answer, r.Draws), share(r.Listed, r.Draws),
			r.Levels[recommend.High], r.Levels[recommend.Medium], r.Levels[recommend.Low], share(r.SureAnswer, r.Sure), share(r.SureListed, r.Sure),
			share(r.Holds(), r.Draws), stat.Quantile(append(r.Octaves, 0), 0.5), why(r.Why))
	}
	return b.String()
}

// `why` lists the reasons with their counts.
func why(counts map[string]int) string {
	var all []string
	for _, code := range slices.Sorted(maps.Keys(counts)) {
		all = append(all, fmt.Sprintf("%s %d", code, counts[code]))
	}
	return strings.Join(all, ", ")
}
