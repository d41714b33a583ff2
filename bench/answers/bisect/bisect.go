// Package bisect finds the slow build or environment among several, with few GPU-seconds.
//
//  1. A [Search] has variants and cases. If the variants are in order, the search looks for
//     the first slow variant, case by case. Otherwise it ranks the variants.
//  2. [Search.Next] returns the next round: the variants to measure, in random order, and
//     the useful cases. Each variant of a round is one child process, which starts,
//     measures the cases once and ends. [Search.Add] takes its times.
//  3. Rounds measure only undecided cases. A sequential test decides a case: its evidence is
//     how much likelier the times are with a slow variant than without. The evidence may be
//     evaluated after every child without raising the error probability (Ville's
//     inequality). Slow drift of the machine is part of the model.
//  4. [Run] repeats this with a callback that measures. `zbench bisect` prints and writes the [Document].
//
// docs/METHOD.md has the statistics. docs/EXPERIMENTS.md has their error rates and cost.
package bisect

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
)

// Criteria set the goal of a search and its error probabilities.
type Criteria struct {
	// Unordered ranks the variants. Otherwise the variants are in order, and the search looks for the first
	// slow variant.
	Unordered bool `json:"unordered"`
	// Alpha bounds the probability of blaming a variant or case that is not slower, and of naming
	// the wrong first variant.
	Alpha float64 `json:"alpha" jsonschema:"exclusiveMinimum=0,exclusiveMaximum=1"`
	// MinEffect is the smallest relative change of a time that counts.
	MinEffect float64 `json:"min_effect"`
	// Miss is the error probability at which a search for the first slow variant ends. If slow and healthy
	// were equally likely before the search, a case that is not named is slow with at most this
	// probability. A ranking calls two variants equal at this ratio of likelihoods.
	Miss float64 `json:"miss" jsonschema:"exclusiveMinimum=0,exclusiveMaximum=1"`
	// MaxRounds ends the search; cases undecided by then are unclear.
	MaxRounds int `json:"max_rounds" jsonschema:"minimum=1"`
	// Seed draws the order of the variants within each round.
	Seed uint64 `json:"seed"`
	// Start is the cost of starting a child, in the unit of Each. The two costs decide how many cases a
	// child measures. If both are 0, they are estimated from the trials.
	Start float64 `json:"start"`
	// Each is the cost of measuring one case once.
	Each float64 `json:"each"`
}

// Defaults returns the options of the command without flags.
func Defaults() Criteria {
	return Criteria{Alpha: 0.01, Miss: 0.05, MinEffect: 0.02, MaxRounds: 60, Seed: 1}
}

// firstReadings is the number of readings of the first and the last variant that a case needs before it is
// judged. A ranking needs this number of readings of every variant.
const firstReadings = 2

// Round holds the variants and cases to measure next, by number.
type Round struct {
	// Variants run in this order, one child each. Each child measures all Cases.
	Variants, Cases []int
}

// Trial holds the measurements of one child.
type Trial struct {
	// Round of the child, from 0.
	Round   int
	Variant int
	// Asked are the cases that the child had to measure.
	Asked []int
	// Seconds of each case of the search; 0 for a case that was not measured.
	Seconds []float64
	// Cost is the child's time including its start, in the unit of Criteria.Each; 0 if unknown.
	Cost float64
	// Broken is true if the variant cannot be measured. The variant is left out, and the search continues.
	Broken bool
}

// Search is the state of a search. [New] begins a search.
type Search struct {
	Criteria
	variants, cases int
	trials          []Trial
	rounds          int
	// The marked variants in `out` are left out. The marked cases in `gone` could not be measured by a
	// child.
	out, gone []bool
	// plan caches the hypotheses by number of variants.
	plan map[int][]hypothesis
}

// New begins a search.
func New(variants, cases int, o Criteria) *Search {
	return &Search{Criteria: o, variants: variants, cases: cases, out: make([]bool, variants), gone: make([]bool, cases), plan: map[int][]hypothesis{}}
}

// Add takes a child's times. A requested case without a time is not requested again.
func (s *Search) Add(t Trial) {
	s.trials = append(s.trials, t)
	for _, c := range t.Asked {
		if !usable(t.Seconds[c]) {
			s.gone[c] = true
		}
	}
}

func usable(seconds float64) bool { return seconds > 0 && !math.IsInf(seconds, 1) }

// EndRound counts a round.
func (s *Search) EndRound() { s.rounds++ }

// `working` returns the variants that can be measured, in order.
func (s *Search) working() []int { return indicesOfFalse(s.out) }

// `present` returns the cases that can be measured.
func (s *Search) present() []int { return indicesOfFalse(s.gone) }

// indicesOfFalse returns the indices of the false entries.
func indicesOfFalse(list []bool) []int {
	var out []int
	for i, is := range list {
		if !is {
			out = append(out, i)
		}
	}
	return out
}

// readings returns the readings of some variants by case. A reading's `variant` is an index into variants,
// not a number of the search.
func (s *Search) readings(variants []int) [][]reading {
	out := make([][]reading, s.cases)
	for at, t := range s.trials {
		v := slices.Index(variants, t.Variant)
		if v < 0 {
			continue
		}
		for c, seconds := range t.Seconds {
			if usable(seconds) && !s.gone[c] {
				out[c] = append(out[c], reading{v, at, math.Log(seconds)})
			}
		}
	}
	return out
}

// Next returns the next round. It returns false if nothing is left to decide, fewer than two
// variants work, or the rounds are used up.
func (s *Search) Next() (Round, bool) {
	working := s.working()
	if len(working) < 2 || s.rounds >= s.MaxRounds {
		return Round{}, false
	}
	r := s.next(working)
	if len(r.Cases) == 0 {
		return Round{}, false
	}
	rng := rand.New(rand.NewPCG(s.Seed, uint64(s.rounds))) //nolint:gosec // an order, not a secret
	rng.Shuffle(len(r.Variants), func(i, j int) { r.Variants[i], r.Variants[j] = r.Variants[j], r.Variants[i] })
	slices.Sort(r.Cases)
	return r, true
}

func (s *Search) next(working []int) Round {
	ends := []int{working[0], working[len(working)-1]}
	if s.Unordered {
		ends = working
	}
	if fresh := s.fresh(ends); len(fresh) > 0 {
		return Round{slices.Clone(ends), fresh}
	}
	if s.Unordered {
		return s.nextOfPairs(working)
	}
	return s.nextOfOrder(working)
}

// `fresh` returns the cases that lack first readings of one of these variants.
func (s *Search) fresh(variants []int) []int {
	var out []int
	readings := s.readings(variants)
	for _, c := range s.present() {
		seen := make([]int, len(variants))
		for _, r := range readings[c] {
			seen[r.variant]++
		}
		if slices.Min(seen) < firstReadings {
			out = append(out, c)
		}
	}
	return out
}

// costs returns the cost of a start and of a case: the given costs, or a least-squares fit over the
// children. Until children have measured different numbers of cases, a start counts as half of a child's
// cost.
func (s *Search) costs() (start, each float64) {
	if s.Start > 0 || s.Each > 0 {
		return s.Start, s.Each
	}
	var n, x, y, xx, xy float64
	for _, t := range s.trials {
		if k := float64(len(t.Asked)); t.Cost > 0 && k > 0 {
			n, x, y, xx, xy = n+1, x+k, y+t.Cost, xx+k*k, xy+k*t.Cost
		}
	}
	if n == 0 {
		return 1, 1
	}
	mean, size := y/n, x/n
	each = mean / 2 / size
	if spread := xx/n - size*size; spread > 1e-9*size*size {
		each = min(max((xy/n-mean*size)/spread, 0), mean/size)
	}
	return mean - each*size, each
}

// Working returns the number of variants that can be measured.
func (s *Search) Working() int { return len(s.working()) }

// Exhausted reports whether the rounds are used up and a case is undecided.
func (s *Search) Exhausted() bool {
	if s.rounds < s.MaxRounds || s.Working() < 2 {
		return false
	}
	return len(s.next(s.working()).Cases) > 0
}

// Measure runs one child: it starts the variant and measures the cases once. Round counts
// from 0. An error ends the search.
type Measure func(ctx context.Context, round, variant int, cases []int) (Trial, error)

// Run searches until everything is decided or the rounds are used up. The end of ctx, or an error
// of measure, ends the search after the running child. Measured times remain in s.
func Run(ctx context.Context, s *Search, measure Measure) error {
	for {
		round, ok := s.Next()
		if !ok {
			return nil
		}
		for _, v := range round.Variants {
			if err := ctx.Err(); err != nil {
				return context.Cause(ctx)
			}
			t, err := measure(ctx, s.rounds, v, round.Cases)
			if err != nil {
				return err
			}
			if t.Broken {
				s.out[v] = true
				continue
			}
			t.Round, t.Variant, t.Asked = s.rounds, v, round.Cases
			s.Add(t)
		}
		s.EndRound()
	}
}
