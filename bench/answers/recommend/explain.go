package recommend

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
	"zbench/bench/job/trainer"
)

const (
	// `hidden` is the share of a step below which communication counts as hidden. `noted` is the share below
	// which a limit is not reported.
	hidden = 0.01
	noted  = 0.001
)

// explain reports the limits of the step with the answer's setting, and why the setting is not smaller or
// larger.
func (e *engine) explain(a *Answer, best int) {
	c := e.candidates[best]
	add := func(code string, seconds float64, format string, args ...any) {
		if seconds > noted*c.Step {
			a.Limits = append(a.Limits, Limit{code, fmt.Sprintf(format, args...), seconds})
		}
	}
	exposed := c.exposed()
	total, ideal := 0.0, 0.0
	e.reductions(c, func(i int, bytes int64, t float64) {
		total += t
		ideal += float64(bytes) * e.fastest(i)
	})
	if e.known {
		add("network", total-e.backward, "the gradients take %s on the network, longer than the backward of %s that could hide them",
			unit.Seconds(total), unit.Seconds(e.backward))
	}
	add("message_size", total-ideal, "at the curve's best bandwidth the gradients would take %s; in messages of this size they take %s",
		unit.Seconds(ideal), unit.Seconds(total))
	last, bytes, big := e.tail(c)
	if big != "" {
		add("largest_tensor", last, "the last gradients to come are one message of %s because of %s, which no setting divides",
			unit.Bytes(bytes), big)
	} else {
		add("tail", last, "the last bucket, %s, starts when backward is over", unit.Bytes(bytes))
	}
	if f := c.passes[forward].cost; len(f) > 0 {
		add("first_gather", f[0], "forward begins with waiting for the first gather")
	}
	what := "a call tells which parameters were used"
	if slices.ContainsFunc(c.passes[after].model, func(i int32) bool { return e.needs[i].collective == "all_gather" }) {
		what = "parameters are gathered"
	}
	add("after", c.After, "%s after the computation, so nothing hides it", what)
	e.limitMemory(add)
	slices.SortStableFunc(a.Limits, func(x, y Limit) int { return cmp.Compare(y.Seconds, x.Seconds) })
	if exposed <= hidden*c.Step && a.Best.Unfounded != BeyondSweep {
		a.Limits = slices.Insert(a.Limits, 0, Limit{
			"hidden", "communication hides behind computation: " + percent(exposed/c.Step) + " of a step is exposed", exposed,
		})
	}
	a.WhyNotSmaller, a.WhyNotLarger = e.whyNot(a, best, -1), e.whyNot(a, best, 1)
}

// `fastest` returns the least time per byte of a curve, in seconds.
func (e *engine) fastest(i int) float64 {
	return slices.Min(slice.Map(e.curves[i].Points, func(p Point) float64 { return p.Seconds / float64(p.Bytes) }))
}

// tail returns the time and the bytes of the last reduction of the backward pass. It also returns the name
// of a tensor that makes up most of this reduction and exceeds the setting; empty if there is none.
func (e *engine) tail(c *candidate) (seconds float64, bytes int64, tensor string) {
	p := c.passes[backward]
	for j, n := range slices.Backward(p.bytes) {
		if e.reduces(c, j) {
			seconds, bytes = p.cost[j], n
			break
		}
	}
	if c.Buckets == 0 || e.t.Unit == trainer.Blocks {
		return seconds, bytes, ""
	}
	b := e.buckets(c)[c.Buckets-1]
	for _, x := range e.q.Params[b.First : b.Last+1] {
		if x.Elements > c.Elements && 2*x.Elements > b.Elements {
			return seconds, bytes, x.Name
		}
	}
	return seconds, bytes, ""
}

// limitMemory reports a better setting that exceeds the memory budget.
func (e *engine) limitMemory(add func(code string, seconds float64, format string, args ...any)) {
	least, at := math.Inf(1), -1
	inside := math.Inf(1)
	for j, c := range e.candidates {
		if c.OverBudget && c.Step < least {
			least, at = c.Step, j
		}
		if !c.OverBudget {
			inside = min(inside, c.Step)
		}
	}
	if at >= 0 && least < inside {
		add("memory", inside-least, "%s would be faster and take %s of buffers, more than the budget of %s",
			e.amount(e.candidates[at].Elements), unit.Bytes(e.candidates[at].Memory), unit.Bytes(e.q.MemBudget))
	}
}

// `beyond` returns the index of the candidate to compare the answer with, in the direction of `step`; -1 if
// no candidate there costs more than PlateauWidth. It is the first costly candidate that differs from the
// answer by a factor of four or more, otherwise the last costly candidate.
func (e *engine) beyond(a *Answer, best, step int) int {
	at := -1
	for j := best + step; j >= 0 && j < len(e.candidates); j += step {
		x := a.Table[j]
		if !holds(e.asMeasured, x.Elements) {
			at = j
			if ratio := float64(x.Elements) / float64(a.Elements); ratio >= 4 || ratio <= 0.25 {
				break
			}
		}
	}
	return at
}

// whyNot describes the cost of the settings to one side of the answer: smaller settings if step is −1,
// larger settings if step is 1.
func (e *engine) whyNot(a *Answer, best, step int) string {
	at := e.beyond(a, best, step)
	if at < 0 {
		side := map[int]string{-1: "smaller", 1: "larger"}[step]
		if a.Best.Unfounded != "" {
			return unfounded("any " + side + " setting")
		}
		return fmt.Sprintf("no reason: every %s setting is within %s of the best", side, percent(PlateauWidth))
	}
	x, b := a.Table[at], a.Best
	switch {
	case x.OverBudget:
		return fmt.Sprintf("%s takes %s of buffers, more than the budget", e.amount(x.Elements), unit.Bytes(x.Memory))
	case x.Unfounded != "" || b.Unfounded != "":
		return unfounded(e.amount(x.Elements))
	}
	why := fmt.Sprintf("in %s of up to %s, %s instead of %s is exposed", plain.Count(x.Buckets, "message"), unit.Bytes(x.LargestBytes), unit.Seconds(x.exposed()), unit.Seconds(b.exposed()))
	if step < 0 {
		why = fmt.Sprintf("%s instead of %d, at a bus bandwidth of %s instead of %s", plain.Count(x.Buckets, "message"), b.Buckets, unit.Rate(x.BusBW), unit.Rate(b.BusBW))
	}
	return fmt.Sprintf("with %s a step takes %s more: %s", e.amount(x.Elements), percent(a.Cost(&x)), why)
}

// unfounded is the sentence for a setting that cannot be compared.
func unfounded(setting string) string {
	return "how much longer a step is with " + setting + " is not known: messages beyond the sweep, or slow times of one run, decide"
}
