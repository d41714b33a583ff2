// Package replay compares settings of a trainer by timed steps. [Design.Run] takes steps of all settings in
// turn and states for each setting whether it is faster than the first setting, by how much, and with which
// certainty. [Schedule] converts a plan's step to operations for a driver. [Document] is the result of
// `zbench replay`.
//
// The statistics use no prediction: a [Taker] yields seconds, and nothing else enters a verdict.
package replay

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"zbench/bench/base/stat"
)

const (
	// Level bounds the probability of any false verdict over all settings together.
	Level = 0.02
	// `first` is the part of Level that the test after the first rounds may spend. `last` is the part for
	// the final test. The rest of Level is reserved. The first rounds set the number of further rounds and
	// also count in the final test, so first rounds that happen to spread little end the test too early
	// (docs/EXPERIMENTS.md).
	first, last = 0.002, 0.010
	// firstRounds are measured before the number of steps is announced.
	firstRounds = 10
	// roundBlocks is the number of blocks of each setting in a round: one in the order of settings, one in
	// the reverse order.
	roundBlocks = 2
)

// DefaultBlock is the number of timed steps in a block: two slow steps do not move the median of
// seven.
const DefaultBlock = 7

// Design is the plan of a comparison of settings.
type Design struct {
	// Settings is the number of settings, at least 2. All other settings are compared with the first
	// setting.
	Settings int
	// Block is the number of timed steps of a setting per turn. One untimed step precedes the timed steps,
	// because it begins while the previous setting ends.
	Block int
	// Margin is the difference that matters, as a share of a step.
	Margin float64
	// MaxSteps bounds the total number of steps of all settings.
	MaxSteps int
}

// Taker takes steps of one setting back to back and returns the seconds of each step on the slowest rank.
type Taker func(setting, steps int) ([]float64, error)

// Announced is the announcement before the deciding steps.
type Announced struct {
	// Taken is the number of steps so far, of all settings, including untimed ones.
	Taken int `json:"taken"`
	// Total is the number of steps at the end.
	Total int `json:"total"`
	// Precision is the expected half width of the widest interval, as a share of a step.
	Precision float64 `json:"precision"`
}

// Difference compares a setting with the first setting.
type Difference struct {
	// Mean over rounds of a step divided by the first setting's step, less one.
	Mean float64 `json:"mean"`
	// Lower end of the mean's interval. All intervals hold at once with a probability of 1 − level.
	Lo float64 `json:"lo"`
	// Upper end of the mean's interval.
	Hi float64 `json:"hi"`
	// Verdict is faster, slower, same (no difference above the margin) or undecided.
	Verdict Verdict `json:"verdict"`
}

// Verdict is the result of a comparison.
type Verdict string

// The verdicts.
const (
	Faster    Verdict = "faster"
	Slower    Verdict = "slower"
	Same      Verdict = "same"
	Undecided Verdict = "undecided"
)

// Verdicts returns all verdicts.
func Verdicts() []Verdict { return []Verdict{Faster, Slower, Same, Undecided} }

// Outcome is the result of a design's steps.
type Outcome struct {
	// Steps are the seconds of every timed step by setting, in order of time.
	Steps [][]float64
	// Differences are by setting; the first setting's is zero.
	Differences []Difference
	// Announced is the announcement after the first rounds; nil if no further rounds were taken.
	Announced *Announced
	// Taken is the number of steps of all settings together, including untimed ones.
	Taken int
	// rounds are the logarithms of each setting's step divided by the first setting's step, by setting and
	// round.
	rounds [][]float64
}

// RoundSteps returns the number of steps in a round.
func (d Design) RoundSteps() int { return d.Settings * roundBlocks * (d.Block + 1) }

// FirstSteps returns the number of steps before the total is announced.
func (d Design) FirstSteps() int { return min(firstRounds, d.most()) * d.RoundSteps() }

// `most` returns the number of rounds that the bound on steps allows, at least two, because one round has no
// spread.
func (d Design) most() int { return max(2, d.MaxSteps/d.RoundSteps()) }

// Run takes firstRounds rounds, which show the spread. If these rounds do not decide, it calls announce and
// takes as many more rounds as the margin needs at that spread. Verdicts are made only after the first rounds
// and at the end.
func (d Design) Run(take Taker, announce func(Announced)) (*Outcome, error) {
	o := &Outcome{Steps: make([][]float64, d.Settings), rounds: make([][]float64, d.Settings)}
	if err := d.rounds(o, min(firstRounds, d.most()), take); err != nil {
		return o, err
	}
	d.look(o, first)
	if !slices.ContainsFunc(o.Differences, func(x Difference) bool { return x.Verdict == Undecided }) {
		return o, nil
	}
	total, precision := d.needed(o)
	if total == len(o.rounds[0]) { // the bound allows no more
		return o, nil
	}
	o.Announced = &Announced{o.Taken, total * d.RoundSteps(), precision}
	announce(*o.Announced)
	if err := d.rounds(o, total, take); err != nil {
		return o, err
	}
	d.look(o, last)
	return o, nil
}

// rounds takes rounds until there are `until` rounds. Each round has every setting in turn and then in
// reverse, so that a linear drift over the round cancels. The next round begins with another setting.
func (d Design) rounds(o *Outcome, until int, take Taker) error {
	for r := len(o.rounds[0]); r < until; r++ {
		logs := make([]float64, d.Settings)
		for i := range roundBlocks * d.Settings {
			k := (min(i, roundBlocks*d.Settings-1-i) + r) % d.Settings
			seconds, err := take(k, d.Block+1)
			if err != nil {
				return err
			}
			o.Taken += len(seconds)
			timed := seconds[1:]
			o.Steps[k] = append(o.Steps[k], timed...)
			logs[k] += math.Log(stat.Quantile(timed, 0.5)) / roundBlocks
		}
		for k := range logs {
			o.rounds[k] = append(o.rounds[k], logs[k]-logs[0])
		}
	}
	return nil
}

// look makes the verdicts. The probability of any false verdict is at most alpha.
func (d Design) look(o *Outcome, alpha float64) {
	o.Differences = make([]Difference, d.Settings)
	o.Differences[0].Verdict = Same
	for k := 1; k < d.Settings; k++ {
		mean := stat.Mean(o.rounds[k])
		half := d.half(o.rounds[k], len(o.rounds[k]), alpha)
		x := Difference{Mean: math.Expm1(mean), Lo: math.Expm1(mean - half), Hi: math.Expm1(mean + half), Verdict: Undecided}
		switch {
		case max(-x.Lo, x.Hi) <= d.Margin:
			x.Verdict = Same
		case x.Hi < 0:
			x.Verdict = Faster
		case x.Lo > 0:
			x.Verdict = Slower
		}
		o.Differences[k] = x
	}
}

// `half` returns half the width of an interval, by Student's t, for the mean of n rounds that spread like the
// given rounds. d.Settings−1 such intervals hold together with an error probability of alpha. Rounds count
// as independent. Changes slower than a round affect both of its halves and cancel; for an autoregression
// of any speed the differences of neighbouring rounds correlate by at most 0.04.
func (d Design) half(rounds []float64, n int, alpha float64) float64 {
	spread := math.Sqrt(stat.Variance(rounds, stat.Mean(rounds)))
	p := 1 - alpha/float64(d.Settings-1)/2
	return distuv.StudentsT{Sigma: 1, Nu: float64(n - 1)}.Quantile(p) * spread / math.Sqrt(float64(n))
}

// `needed` returns the number of rounds at which the half width of the widest interval is half the margin,
// and the expected half width. An interval around zero then lies within the margin. MaxSteps bounds the
// number.
func (d Design) needed(o *Outcome) (rounds int, precision float64) {
	width := func(r int) float64 {
		widest := 0.0
		for _, logs := range o.rounds[1:] {
			widest = max(widest, d.half(logs, r, last))
		}
		return widest
	}
	lo, hi := len(o.rounds[0]), d.most()
	for lo < hi { // the smallest sufficient number
		if middle := (lo + hi) / 2; width(middle) <= d.Margin/2 {
			hi = middle
		} else {
			lo = middle + 1
		}
	}
	return lo, width(lo)
}
