// Package replay compares settings of a trainer by timed steps. [Design.Run] takes steps of all settings in
// turn and says of each whether it is faster than the first, by how much, and how sure that is; [Schedule]
// is the step of a plan as operations for a driver; [Document] is what `zbench replay` returns.
//
// The statistics know no prediction: a [Taker] yields seconds, and nothing else enters a verdict.
package replay

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"zbench/bench/stat"
)

const (
	// Level is the probability of at least one false verdict over all settings together, at most.
	Level = 0.02
	// first and last are what the looks after the first rounds and at the end may spend of it. Something is
	// kept back: the first rounds decide how many follow and are judged with them, and those that happen to
	// spread little end too early (docs/EXPERIMENTS.md).
	first, last = 0.002, 0.010
	// firstRounds are measured before the number of steps is announced.
	firstRounds = 10
	// roundBlocks is how many blocks of each setting a round has: one on the way there, one on the way back.
	roundBlocks = 2
)

// DefaultBlock is the number of timed steps in a block: the median of seven is not moved by two that are slow.
const DefaultBlock = 7

// Design is how settings are compared.
type Design struct {
	// Settings is how many there are, from 2 on. The first is what the others are compared with.
	Settings int
	// Block is how many steps are timed of a setting before it is the next one's turn. One more is
	// taken before them and not timed: it begins while the setting before ends.
	Block int
	// Margin is the difference that matters, as a share of a step.
	Margin float64
	// MaxSteps bounds the steps of all settings together.
	MaxSteps int
}

// Taker takes steps of one setting back to back and returns the seconds of each, of the slowest rank.
type Taker func(setting, steps int) ([]float64, error)

// Announced is what is said before the steps that decide are taken.
type Announced struct {
	// Taken are the steps up to here, of all settings, untimed ones included.
	Taken int `json:"taken"`
	// Total are those at the end.
	Total int `json:"total"`
	// Precision is the half width that the widest interval is expected to have, as a share of a step.
	Precision float64 `json:"precision"`
}

// Difference is a setting against the first.
type Difference struct {
	// Mean over rounds of a step over the first setting's step, less one.
	Mean float64 `json:"mean"`
	// Lower end of its interval. All intervals hold at once with a probability of 1 − level.
	Lo float64 `json:"lo"`
	// Upper end of its interval.
	Hi float64 `json:"hi"`
	// Verdict is faster, slower, same (no difference above the margin) or undecided.
	Verdict Verdict `json:"verdict"`
}

// Verdict is what a comparison comes to.
type Verdict string

// The verdicts.
const (
	Faster    Verdict = "faster"
	Slower    Verdict = "slower"
	Same      Verdict = "same"
	Undecided Verdict = "undecided"
)

// Verdicts lists them all.
func Verdicts() []Verdict { return []Verdict{Faster, Slower, Same, Undecided} }

// Outcome is what the steps of a design come to.
type Outcome struct {
	// Steps are the seconds of every timed step by setting, in the order of time.
	Steps [][]float64
	// Differences are by setting; that of the first is zero.
	Differences []Difference
	// Announced is what was announced after the first rounds; nil where no more were taken.
	Announced *Announced
	// Taken is the number of steps of all settings together, untimed ones included.
	Taken int
	// rounds are the logarithms of each setting's step over the first's, by setting and round.
	rounds [][]float64
}

// RoundSteps is how many steps a round has.
func (d Design) RoundSteps() int { return d.Settings * roundBlocks * (d.Block + 1) }

// FirstSteps is how many steps are taken before the total is announced.
func (d Design) FirstSteps() int { return min(firstRounds, d.most()) * d.RoundSteps() }

// most is the number of rounds that the bound on steps allows, at least two: one has no spread.
func (d Design) most() int { return max(2, d.MaxSteps/d.RoundSteps()) }

// Run takes rounds: first so many as a spread needs, then, where these do not decide, as many as the margin
// takes by that spread. announce is called between the two. The verdicts come from two looks and no more.
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

// rounds takes rounds until there are so many. Each has every setting in turn and then in reverse, so that a
// drift that is even over the round cancels; the next begins with another setting.
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

// look makes the verdicts, with a probability of a false one of at most alpha.
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

// half is half the width of one interval of several, by Student's t: that of the mean of n rounds which spread
// as these do. Rounds count as independent. What is slower than a round is in both of its halves and cancels; for
// an autoregression of any speed the differences of neighbouring rounds correlate by 0.04 at most.
func (d Design) half(rounds []float64, n int, alpha float64) float64 {
	spread := math.Sqrt(stat.Variance(rounds, stat.Mean(rounds)))
	p := 1 - alpha/float64(d.Settings-1)/2
	return distuv.StudentsT{Sigma: 1, Nu: float64(n - 1)}.Quantile(p) * spread / math.Sqrt(float64(n))
}

// needed is the number of rounds at which half the margin is the half width of the widest interval: then an
// interval that holds zero lies within the margin. It is bounded, and comes with the half width expected there.
func (d Design) needed(o *Outcome) (rounds int, precision float64) {
	width := func(r int) float64 {
		widest := 0.0
		for _, logs := range o.rounds[1:] {
			widest = max(widest, d.half(logs, r, last))
		}
		return widest
	}
	lo, hi := len(o.rounds[0]), d.most()
	for lo < hi { // the least that is enough
		if middle := (lo + hi) / 2; width(middle) <= d.Margin/2 {
			hi = middle
		} else {
			lo = middle + 1
		}
	}
	return lo, width(lo)
}
