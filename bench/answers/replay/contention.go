package replay

import (
	"context"
	"fmt"
	"math"

	"zbench/bench/base/finding"
	"zbench/bench/base/stat"
	"zbench/bench/base/unit"
	"zbench/bench/run/plan"
	"zbench/bench/run/spec"
	"zbench/bench/show/table"
)

// Contention is the mutual slowdown of GPU computation and a step's messages.
type Contention struct {
	// Amount is the setting of the step; empty for the trace's own step.
	Amount string `json:"amount"`
	// Compute is triad (computation that goes through memory) or gemm (matrix products).
	Compute plan.StepDo `json:"compute"`
	// Rounds is the number of steps of each kind. The kinds take turns.
	Rounds int `json:"rounds"`
	// SpinAlone is the computation time of a step without messages, in seconds, if the computation consists
	// of spins. A spin is one thread that waits and takes nothing from messages. The value is the sum of
	// the operations' own times: the mean over ranks, and the median over rounds.
	SpinAlone float64 `json:"spin_alone"`
	// Spin is the computation time of the same spins in a step with messages, in seconds.
	Spin float64 `json:"spin"`
	// Alone is the time of about equally long computation that uses the GPU, in a step without messages, in
	// seconds.
	Alone float64 `json:"alone"`
	// With is the time of that computation in a step with messages, in seconds.
	With float64 `json:"with"`
	// Seconds is the computation's loss per step, in seconds: (with - alone) - (spin - spin_alone), the
	// mean over rounds.
	Seconds float64 `json:"seconds"`
	// Lo is the lower end of the 98 % interval of Seconds.
	Lo float64 `json:"lo"`
	// Hi is the upper end of the 98 % interval of Seconds.
	Hi float64 `json:"hi"`
	// Beside is the time of a step in which messages and this computation run at once, in seconds: the
	// messages' own times minus the excess of the step over its computation.
	Beside float64 `json:"beside"`
	// Messages compares the messages' own times with this computation and without it.
	Messages *Messages `json:"messages"`
}

// unitLaunches is the number of launches timed to find the time of one launch.
const unitLaunches = 64

// Unit returns the seconds of one launch of a kind of computation, on the slowest rank. It stages the
// launches as a setting.
func Unit(ctx context.Context, p plan.Player, setting int, do plan.StepDo) (float64, error) {
	if err := p.Stage(ctx, setting, &plan.Step{Ops: []plan.StepOp{{Do: do, Launches: unitLaunches}}}); err != nil {
		return 0, err
	}
	seconds, err := p.Play(ctx, setting, DefaultBlock)
	if err != nil {
		return 0, err
	}
	return stat.Quantile(plan.SlowestOf(seconds, DefaultBlock), 0.5) / unitLaunches, nil
}

// Working returns the step with a kind of computation in place of spins. Launches of `unit` seconds each
// replace the spins. The number of launches is rounded so that the total time stays the same.
func Working(s *plan.Step, do plan.StepDo, unit float64) *plan.Step {
	out := &plan.Step{Sends: s.Sends, Cases: s.Cases}
	var seconds float64
	launched := 0
	for _, o := range s.Ops {
		if o.Do == plan.StepCompute {
			seconds += o.Seconds
			o = plan.StepOp{Do: do, Launches: int(math.Round(seconds/unit)) - launched}
			launched += o.Launches
		}
		out.Ops = append(out.Ops, o)
	}
	return out
}

// TakeContention times the computation of a step with and without messages. It does so for a step of spins,
// and for the same step with a kind of computation whose launches take a known time. It stages settings
// from number `first` on.
func TakeContention(ctx context.Context, p plan.Player, first int, spin *plan.Step, do plan.StepDo, launch float64) (*Contention, error) {
	with := Working(spin, do, launch)
	kinds := []*plan.Step{Alone(spin), spin, Alone(with), with, Bare(with)}
	const messages, bare = 3, 4
	for i, s := range kinds {
		if err := p.Stage(ctx, first+i, s); err != nil {
			return nil, err
		}
	}
	operations := len(kinds[0].Ops)
	times := make([][]float64, bare)
	for round := range messageRounds {
		for i := range times {
			if round%2 == 1 {
				i = len(times) - 1 - i
			}
			seconds, err := watched(ctx, p, plan.Watch{Setting: first + i, Computing: true, Count: operations})
			if err != nil {
				return nil, err
			}
			times[i] = append(times[i], stat.Mean(seconds)*float64(operations))
		}
	}
	c := contentionOf(times)
	c.Compute = do
	seconds, err := p.Play(ctx, first+messages, DefaultBlock)
	if err != nil {
		return nil, err
	}
	waits := stat.Quantile(plan.SlowestOf(seconds, DefaultBlock), 0.5) - c.With // before the next call reuses the slice
	if c.Messages, err = TakeMessages(ctx, p, first+messages, first+bare, with); err != nil {
		return nil, err
	}
	c.Beside = max(0, c.Messages.Within-max(0, waits))
	c.Messages.Late = nil // a rank that computes slowly for a step is not late
	return c, nil
}

// contentionOf evaluates rounds of the four kinds of steps.
func contentionOf(times [][]float64) *Contention {
	c := &Contention{Rounds: len(times[0])}
	var lost []float64
	for i := range times[0] {
		lost = append(lost, (times[3][i]-times[2][i])-(times[1][i]-times[0][i]))
	}
	for i, at := range []*float64{&c.SpinAlone, &c.Spin, &c.Alone, &c.With} {
		*at = stat.Quantile(times[i], 0.5)
	}
	c.Seconds = stat.Mean(lost)
	half := Design{Settings: 2}.half(lost, len(lost), Level)
	c.Lo, c.Hi = c.Seconds-half, c.Seconds+half
	return c
}

// CodeContention is the finding of computation that messages slow down.
const CodeContention = "contention"

// words describe the computation.
var words = map[plan.StepDo]string{plan.StepTriad: "memory-bound kernels", plan.StepGemm: "matrix products"}

// share returns how much longer computation takes while a message is on the network, as a share; 0 if
// unknown. With several communicators the share is unknown: messages overlap, and their times add up to
// more than the network's.
func (c *Contention) share() float64 {
	if own := c.Beside - c.Seconds; own > 0 && c.Messages.Communicators < 2 {
		return max(0, c.Seconds/own)
	}
	return 0
}

// Named reports whether computation loses more than the share `margin` of its time, beyond chance.
func (c *Contention) Named(margin float64) bool { return c.Lo > margin*c.With }

// finding states the losses of computation and messages.
func (c *Contention) finding(margin float64) finding.Finding {
	f := finding.Finding{Code: CodeContention, Severity: finding.Note}
	if c.Named(margin) {
		f.Text = fmt.Sprintf("CONTENTION: Messages slow a step's %s: together they take %s to %s longer than alone, %s", words[c.Compute], unit.Seconds(c.Lo), unit.Seconds(c.Hi), unit.Percent(c.Seconds/c.Alone))
		if s := c.share(); s > 0 {
			f.Text += fmt.Sprintf("; one that runs while a message is on the network takes %s longer", unit.Percent(s))
		}
		f.Text += "."
	} else {
		f.Severity = finding.OK
		f.Text = fmt.Sprintf("Messages slow a step's %s by at most %s, %s.", words[c.Compute], unit.Seconds(max(0, c.Hi)), unit.SmallPercent(max(0, c.Hi)/c.Alone))
	}
	f.Text += fmt.Sprintf(" Messages beside them take %.2f to %.2f times as long as without.", c.Messages.Lo, c.Messages.Hi)
	if measured := (spec.Contention{Compute: c.share(), Messages: c.Messages.Factor}); measured.Possible() && c.Messages.Communicators == 1 {
		f.Hint = fmt.Sprintf("recommend assumes 1 to 1.6 times; give it what was measured: --contention %.3g,%.3g", measured.Compute, measured.Messages)
	}
	return f
}

// table has a row for each kind of computation.
func (c *Contention) table() table.Table {
	t := table.Numbers("alone", "beside messages", "more")
	t.Columns = append([]table.Column{{Name: "computation"}}, t.Columns...)
	for _, row := range []struct {
		kind        string
		alone, with float64
	}{{"spin", c.SpinAlone, c.Spin}, {string(c.Compute), c.Alone, c.With}} {
		t.Add(row.kind, unit.Seconds(row.alone), unit.Seconds(row.with), unit.Seconds(max(0, row.with-row.alone)))
	}
	return t
}
