package replay

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"zbench/bench/base/finding"
	"zbench/bench/base/slice"
	"zbench/bench/base/stat"
	"zbench/bench/hardware/policy"
	"zbench/bench/run/plan"
)

// PolicyEffect is the effect of a policy of the library on a step whose computation uses the GPU.
type PolicyEffect struct {
	// Policy names the way in which buffers are registered, and the policy of compute units.
	Policy string `json:"policy"`
	// Compute is triad (computation that goes through memory) or gemm (matrix products).
	Compute plan.StepDo `json:"compute"`
	// Unserved lists the step's collectives that the library does not run under the policy, each with the
	// reason.
	Unserved []string `json:"unserved"`
	// Untold is true if the library does not report how it ran the collectives that it served.
	Untold bool `json:"untold,omitempty"`
	// Rounds is the number of steps with the policy. The same number of steps without the policy alternates
	// with them. Rounds is 0 if the policy serves no collective; nothing was timed then.
	Rounds int `json:"rounds"`
	// Messages is the change in the time of the step's messages.
	Messages Change `json:"messages"`
	// Computation is the change in the time of the step's computation.
	Computation Change `json:"computation"`
	// Step is the change in the time of the whole step.
	Step Change `json:"step"`
}

// Change is the logarithm of a ratio of times.
type Change struct {
	// Log is the mean of the logarithm over rounds.
	Log float64 `json:"log"`
	// Limit is half the width of the interval of Log. A smaller Log counts as no change.
	Limit float64 `json:"limit"`
}

// policyChance is the largest probability that a policy without effect is reported to change one of the
// three times.
const policyChance = 0.003

// WithPolicy returns the step with its messages on communicators and buffers of a policy.
func WithPolicy(s *plan.Step, p policy.Policy) *plan.Step {
	out := *s
	out.Cases = slices.Clone(s.Cases)
	for i := range out.Cases {
		out.Cases[i].Policy = p
	}
	return &out
}

// TakePolicy times the messages, the computation and the whole of a step. Steps with the policy and steps
// without it take turns. It stages settings from number `first` on.
func TakePolicy(ctx context.Context, p plan.Player, first int, step *plan.Step, asked policy.Policy) (e PolicyEffect, err error) {
	var logs [3][]float64
	comms := slice.Map(step.Sends, func(k int) plan.Comms { return step.Cases[k].Comms() })
	sides := [2]*plan.Step{step, WithPolicy(step, asked)}
	for i, s := range sides {
		if err := Stage(ctx, p, first+i, s); err != nil {
			return e, err
		}
	}
	operations := len(Alone(step).Ops)
	for round := range messageRounds {
		var times [2][3]float64
		for i := range sides {
			if round%2 == 1 {
				i = 1 - i
			}
			messages, err := watched(ctx, p, plan.Watch{Setting: first + i, Count: len(step.Sends)})
			if err != nil {
				return e, err
			}
			computed, err := watched(ctx, p, plan.Watch{Setting: first + i, Computing: true, Count: operations})
			if err != nil {
				return e, err
			}
			whole, err := p.Play(ctx, first+i, DefaultBlock)
			if err != nil {
				return e, err
			}
			times[i] = [3]float64{stat.Mean(ownTimes(messages, comms)), stat.Mean(computed), stat.Quantile(plan.SlowestOf(whole, DefaultBlock), 0.5)}
		}
		for k := range logs {
			logs[k] = append(logs[k], math.Log(times[1][k]/times[0][k]))
		}
	}
	e.Policy, e.Rounds = asked.String(), messageRounds
	for k, at := range []*Change{&e.Messages, &e.Computation, &e.Step} {
		at.Log, at.Limit = stat.Mean(logs[k]), Design{Settings: 1 + len(logs)}.half(logs[k], messageRounds, policyChance)
	}
	return e, nil
}

// Stage stages a step as a setting and runs it twice, which connects the ranks.
func Stage(ctx context.Context, p plan.Player, setting int, s *plan.Step) error {
	err := p.Stage(ctx, setting, s)
	if err == nil {
		_, err = p.Play(ctx, setting, 2)
	}
	return err
}

// CodePolicy is the finding of a policy.
const CodePolicy = "policy"

// finding says whether the policy helps this step. In a simulation the effect on computation is not
// checked, because the model has no constants of the contention between messages and computation.
func (e *PolicyEffect) finding(simulated bool) finding.Finding {
	f := finding.Finding{Code: CodePolicy, Severity: finding.Note, Text: "POLICY " + e.Policy + ": "}
	switch {
	case e.Rounds == 0:
		f.Text += "nothing to compare."
	case simulated:
		f.Text += fmt.Sprintf("messages %s; your step %s. NOT CHECKED: what the %s beside them lose or gain, of which the fabric has no constants.",
			e.Messages.text("faster", "slower"), e.Step.text("shorter", "longer"), words[e.Compute])
	default:
		f.Text += fmt.Sprintf("messages %s, the %s beside them %s; your step %s.",
			e.Messages.text("faster", "slower"), words[e.Compute], e.Computation.text("faster", "slower"), e.Step.text("shorter", "longer"))
	}
	if len(e.Unserved) > 0 {
		f.Text += " Not served: " + strings.Join(e.Unserved, "; ") + "."
	}
	if e.Untold {
		f.Text, f.Hint = f.Text+policy.Untold, policy.UntoldHint
	}
	return f
}

// text returns the change in words, with its limit.
func (c Change) text(less, more string) string {
	return policy.Told(c.Log, c.Limit, less, more)
}
