package replay

import (
	"context"
	"fmt"
	"math"

	"zbench/bench/finding"
	"zbench/bench/plan"
	"zbench/bench/stat"
	"zbench/bench/table"
	"zbench/bench/unit"
)

// Contention is what computation that uses the GPU and a step's messages take from each other.
type Contention struct {
	// Amount is the setting whose step it is; empty for the trace's own.
	Amount string `json:"amount"`
	// Compute is triad (computation that goes through memory) or gemm (matrix products).
	Compute plan.StepDo `json:"compute"`
	// Rounds are the blocks of steps of each kind, in turn.
	Rounds int `json:"rounds"`
	// SpinAlone is a step of computation that only takes time, without messages, in seconds: the median over rounds.
	SpinAlone float64 `json:"spin_alone"`
	// Spin is the same with messages.
	Spin float64 `json:"spin"`
	// Alone is a step of computation that uses the GPU, about as long, without messages.
	Alone float64 `json:"alone"`
	// With is the same with messages.
	With float64 `json:"with"`
	// Seconds is what computation loses a step: (with - alone) - (spin - spin_alone), the mean over rounds.
	Seconds float64 `json:"seconds"`
	// Lo is the lower end of its 98 % interval.
	Lo float64 `json:"lo"`
	// Hi is the upper end.
	Hi float64 `json:"hi"`
	// Beside is how long messages of a step run beside computation, in seconds: their own times less what a step with a
	// spin waits for them.
	Beside float64 `json:"beside"`
	// Messages are the messages' own times beside this computation and without.
	Messages *Messages `json:"messages"`
}

// unitLaunches is how many launches are timed for the seconds of one.
const unitLaunches = 64

// contentionRounds is how many blocks are taken of each kind of step.
const contentionRounds = 10

// Unit is the seconds of a launch of computation of a kind, on the slowest rank. It is staged as a setting.
func Unit(ctx context.Context, p plan.Player, setting int, do plan.StepDo) (float64, error) {
	if err := p.Stage(ctx, setting, &plan.Step{Ops: []plan.StepOp{{Do: do, Launches: unitLaunches}}}); err != nil {
		return 0, err
	}
	seconds, err := block(ctx, p, setting)
	return seconds / unitLaunches, err
}

// block is the median of some steps that are staged, of the slowest rank, but for the first.
func block(ctx context.Context, p plan.Player, setting int) (float64, error) {
	seconds, err := p.Play(ctx, setting, DefaultBlock+1)
	if err != nil {
		return 0, err
	}
	return stat.Quantile(plan.SlowestOf(seconds, DefaultBlock+1)[1:], 0.5), nil
}

// Working is the step with computation of a kind in place of that which only takes time: whole launches of so many
// seconds each, whose sum follows that of the seconds.
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

// TakeContention times a step of spins with and without messages, and the same with computation of a kind whose
// launches take so many seconds. m are the messages in the step of spins. Settings from first on are staged.
func TakeContention(ctx context.Context, p plan.Player, first int, spin *plan.Step, do plan.StepDo, launch float64, m *Messages) (*Contention, error) {
	with := Working(spin, do, launch)
	kinds := []*plan.Step{Alone(spin), spin, Alone(with), with}
	for i, s := range kinds {
		if err := p.Stage(ctx, first+i, s); err != nil {
			return nil, err
		}
	}
	times := make([][]float64, len(kinds))
	for round := range contentionRounds {
		for i := range kinds {
			if round%2 == 1 {
				i = len(kinds) - 1 - i
			}
			seconds, err := block(ctx, p, first+i)
			if err != nil {
				return nil, err
			}
			times[i] = append(times[i], seconds)
		}
	}
	c := contentionOf(times, m.Within)
	c.Compute = do
	bare := first + len(kinds)
	err := p.Stage(ctx, bare, Bare(with))
	if err == nil {
		c.Messages, err = TakeMessages(ctx, p, first+3, bare, len(with.Sends))
	}
	return c, err
}

// contentionOf is by rounds of the four kinds of steps; messages is what all of a step's take.
func contentionOf(times [][]float64, messages float64) *Contention {
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
	c.Beside = max(0, messages-max(0, c.Spin-c.SpinAlone))
	return c
}

// CodeContention is the finding of computation that messages slow down.
const CodeContention = "contention"

// words say what computation does.
var words = map[plan.StepDo]string{plan.StepTriad: "kernels that go through memory", plan.StepGemm: "matrix products"}

// Named tells that computation loses more than a share of a step.
func (c *Contention) Named(margin float64) bool { return c.Lo > margin*c.With }

// finding says what computation and messages lose. Ranks that compute unevenly wait for each other only with
// messages: up to the margin nothing is named.
func (c *Contention) finding(margin float64) finding.Finding {
	f := finding.Finding{Code: CodeContention, Severity: finding.Note}
	if c.Named(margin) {
		f.Text = fmt.Sprintf("CONTENTION: Beside messages, %s make a step %s to %s longer than with a spin in their place", words[c.Compute], unit.Seconds(c.Lo), unit.Seconds(c.Hi))
		if left := c.Beside - c.Seconds; left > 0 {
			f.Text += fmt.Sprintf(": while a message is on the network, each takes %s longer", unit.Percent(c.Seconds/left))
		}
		f.Text += "."
	} else {
		f.Severity = finding.OK
		f.Text = fmt.Sprintf("Beside messages, %s lose at most %s a step, %s.", words[c.Compute], unit.Seconds(max(0, c.Hi)), unit.SmallPercent(max(0, c.Hi)/c.With))
	}
	f.Text += fmt.Sprintf(" Messages beside them take %.2f to %.2f times as long as without; recommend assumes 1 to 1.6.", c.Messages.Lo, c.Messages.Hi)
	return f
}

// table has a row for each kind of computation.
func (c *Contention) table() table.Table {
	t := table.Numbers("alone", "with messages", "more")
	t.Columns = append([]table.Column{{Name: "computation"}}, t.Columns...)
	for _, row := range []struct {
		kind        string
		alone, with float64
	}{{"spin", c.SpinAlone, c.Spin}, {string(c.Compute), c.Alone, c.With}} {
		t.Add(row.kind, unit.Seconds(row.alone), unit.Seconds(row.with), unit.Seconds(max(0, row.with-row.alone)))
	}
	return t
}
