package recommend

import (
	"zbench/bench/job/trainer"
	"zbench/bench/run/record"
)

// Verdicts of an answer.
const (
	// Recommended: Elements is the answer.
	Recommended = "recommended"
	// Ruled: Rule is the answer, as the time of backward is not known.
	Ruled = "rule"
	// NoCommunication: one data-parallel rank reduces nothing.
	NoCommunication = "no_communication"
	// Refused: Refusal says what is missing.
	Refused = "refused"
)

// Answer is what to set and why. All values are in base units.
type Answer struct {
	// Version of the format.
	Schema string `json:"schema"`
	// Verdict is recommended where elements is the answer, rule where rule is, no_communication where there is
	// no other rank to reduce with, refused where refusal says what is missing.
	Verdict string `json:"verdict"`
	// Refusal says what is missing; absent unless the verdict is refused.
	Refusal *Refusal `json:"refusal,omitempty"`
	// Simulated is true when a model, not hardware, decided the times of a curve.
	Simulated bool `json:"simulated"`
	// Trainer is the name of the training framework.
	Trainer string `json:"trainer"`
	// Knob is the name of the framework's setting.
	Knob string `json:"knob"`
	// Unit is what the setting counts.
	Unit string `json:"unit"`
	// Run is how the user trains.
	Run trainer.Run `json:"run"`
	// Advised is the run that the answer is for and the printed lines set: with overlap
	// on, unless that gains too little to change anything.
	Advised trainer.Run `json:"advised"`
	// Params is the number of gradient tensors.
	Params int `json:"params"`
	// Gradients is the number of their elements.
	Gradients int64 `json:"gradients"`
	// Backward is the computation of one microbatch's backward pass, in seconds; null
	// where it is not known and a range was averaged over.
	Backward *float64 `json:"backward"`
	// Forward is the computation of one microbatch's forward pass, in seconds; null where
	// it is not known.
	Forward *float64 `json:"forward"`
	// Elements is the setting to use, in elements.
	Elements int64 `json:"elements"`
	// Best is what the setting to use does; null without an answer.
	Best *Candidate `json:"best"`
	// Least is the setting of least mean regret: best itself, unless keep is true; null
	// without an answer.
	Least *Candidate `json:"least"`
	// Keep is true where what is set today, or the default, costs so little more than
	// least that it stays.
	Keep bool `json:"keep"`
	// Gain is the share of a step that least would gain at most over best, as measured and
	// on average over the scenarios.
	Gain float64 `json:"gain"`
	// Default is the trainer's own setting; null where it was not tried.
	Default *Candidate `json:"default"`
	// Current is what the user has set; null where it is not known.
	Current *Candidate `json:"current"`
	// Single is one bucket for all gradients; null where it was not tried.
	Single *Candidate `json:"single"`
	// Within is all settings that cost at most 1 % more than the best, as measured and on
	// average, and do so by 95 % of the resampled curves together, ascending. Where the
	// setting to use does not, the list is as measured.
	Within []Range `json:"within"`
	// Plateau is the range of within that holds elements; null without an answer.
	Plateau *Range `json:"plateau"`
	// Changes is what separates the user's run from the answer: the bucket under the
	// user's own settings first, then each switch that the answer relies on and the user
	// lacks; empty where there is no such switch.
	Changes []Change `json:"changes"`
	// Table is every setting that was tried, ascending, one for each bucketing.
	Table []Candidate `json:"table"`
	// Latency is the share of a step that is latency in a setting which the answer rests on, if it is more than in all
	// real steps that were recorded; else 0.
	Latency float64 `json:"latency"`
	// Rule says which setting to use at which number of tokens; absent where none was asked for.
	Rule *Rule `json:"rule,omitempty"`
	// Observed is the model held against steps that were timed; absent where none were given.
	Observed *Fit `json:"observed,omitempty"`
	// Scenarios are what the regret was averaged over.
	Scenarios []Scenario `json:"scenarios"`
	// Messages are the real sizes of the answer's calls, by collective.
	Messages []Sizes `json:"messages"`
	// Limits say what bounds the step time, the strongest first.
	Limits []Limit `json:"limits"`
	// WhyNotSmaller says what a smaller setting would cost.
	WhyNotSmaller string `json:"why_not_smaller"`
	// WhyNotLarger says what a larger setting would cost.
	WhyNotLarger string `json:"why_not_larger"`
	// WouldHelp lists changes other than the bucket size that shorten the step.
	WouldHelp []Help `json:"would_help"`
	// Bootstrap is the answer's spread over resampled curves; null where none were
	// resampled.
	Bootstrap *Bootstrap `json:"bootstrap"`
	// Confidence says how far the answer can be believed.
	Confidence Confidence `json:"confidence"`
	// Curves are the measured curves behind the answer.
	Curves []Used `json:"curves"`
	// Warnings are doubts about the answer.
	Warnings []record.Warning `json:"warnings"`
}

// Candidate is one setting and what it would do. Times are those of the nominal
// scenario, of one step of all microbatches, in seconds; where the answer's
// Backward is null, of a backward that takes as long as the gradients' wire.
type Candidate struct {
	// Elements is the setting, in elements.
	Elements int64 `json:"elements"`
	// Buckets is the number of buckets that it makes.
	Buckets int `json:"buckets"`
	// LargestBytes is the largest of the gradients' messages, in bytes.
	LargestBytes int64 `json:"largest_bytes"`
	// MedianBytes is the median of the gradients' messages, in bytes.
	MedianBytes int64 `json:"median_bytes"`
	// PaddingElements is the number of elements that the trainer adds to fill buckets up.
	PaddingElements int64 `json:"padding_elements"`
	// ExposedBackward is the time that communication adds to the backward pass, in
	// seconds.
	ExposedBackward float64 `json:"exposed_backward"`
	// ExposedForward is the time that communication adds to the forward pass, in seconds.
	ExposedForward float64 `json:"exposed_forward"`
	// After is the communication after the passes, which nothing hides, in seconds.
	After float64 `json:"after"`
	// Step is the whole step, computation included, in seconds.
	Step float64 `json:"step"`
	// Nominal is the step over the shortest step of all candidates, less one.
	Nominal float64 `json:"nominal"`
	// Score is the mean of nominal over the scenarios: the mean regret, a ratio.
	Score float64 `json:"score"`
	// Worst is the maximum of nominal over the scenarios, a ratio.
	Worst float64 `json:"worst"`
	// BusBW is all gradient bytes over all their messages' time as bus bandwidth, in bytes
	// per second.
	BusBW float64 `json:"busbw"`
	// Latency is the share of the step that its messages take whatever their size: each the least time of its curve.
	Latency float64 `json:"latency"`
	// Extrapolated is true when a message lies outside the curve's sizes.
	Extrapolated bool `json:"extrapolated"`
	// Memory is what the trainer's buffers take, in bytes.
	Memory int64 `json:"memory"`
	// OverBudget is true when memory exceeds the given budget.
	OverBudget bool `json:"over_budget"`
	// Unfounded says why no percentage of a step can be given for the setting: beyond_sweep
	// where most of its messages' time, or of the answer's, is beyond the largest swept
	// size, dip where a dip of at most two sizes in one run makes the difference; absent
	// where one can.
	Unfounded string `json:"unfounded,omitempty"`
}

// Now is what the answer is compared with: the current setting, or the default; nil where neither was
// tried.
func (a *Answer) Now() *Candidate {
	if a.Current != nil {
		return a.Current
	}
	return a.Default
}

// exposed is the time that communication adds to a step, in seconds.
func (c *Candidate) exposed() float64 { return c.ExposedBackward + c.ExposedForward + c.After }

// Reasons for Unfounded.
const (
	BeyondSweep = "beyond_sweep"
	OneDip      = "dip"
)

// Cost is how much longer a step is with a setting than with the best size, as a share of
// it: as measured, or on average over the scenarios where that is more.
func (a *Answer) Cost(c *Candidate) float64 {
	return max(0, a.costOf(c, a.Least.Score))
}

// Range is settings in elements. Open ends are those where no smaller, or no
// larger, setting would change the buckets.
type Range struct {
	// Lo is the least setting, in elements.
	Lo int64 `json:"lo"`
	// Hi is the greatest setting, in elements.
	Hi int64 `json:"hi"`
	// OpenLo is true where no smaller setting would change the buckets.
	OpenLo bool `json:"open_lo"`
	// OpenHi is true where no larger setting would change the buckets.
	OpenHi bool `json:"open_hi"`
}

// Holds tells that a setting lies in the range.
func (r Range) Holds(elements int64) bool { return r.Lo <= elements && elements <= r.Hi }

// Change is one step from the user's run to the answer.
type Change struct {
	// Name is "bucket", or the switch as the trainer spells it.
	Name string `json:"name"`
	// Elements is the setting that it is computed with, in elements.
	Elements int64 `json:"elements"`
	// Step is the step with this change, in seconds: of the bucket alone, or of the switch
	// and those before it at the answer's setting.
	Step float64 `json:"step"`
	// Gain is the share of the step without the change that it saves.
	Gain float64 `json:"gain"`
}

// BucketChange names the change of the bucket size alone.
const BucketChange = "bucket"

// Sizes is the messages of one collective in one pass (backward, forward, after).
type Sizes struct {
	// Pass is where in the step the messages are sent.
	Pass string `json:"pass"`
	// Collective is the name of the collective.
	Collective string `json:"collective"`
	// Ranks is the number of ranks of each message.
	Ranks int `json:"ranks"`
	// Count is the number of messages.
	Count int `json:"count"`
	// Bytes is the sum of their sizes, in bytes.
	Bytes int64 `json:"bytes"`
	// Smallest message, in bytes.
	Smallest int64 `json:"smallest"`
	// Median message, in bytes.
	Median int64 `json:"median"`
	// Largest message, in bytes.
	Largest int64 `json:"largest"`
	// Seconds is the time of all messages one after the other.
	Seconds float64 `json:"seconds"`
}

// Limit is something that keeps the step from being shorter.
type Limit struct {
	// Short fixed name of the kind of limit.
	Code string `json:"code"`
	// The limit in words.
	Message string `json:"message"`
	// Seconds of the step that it accounts for.
	Seconds float64 `json:"seconds"`
}

// Help is a change other than the bucket size, and the step it would leave; null
// where the curves cannot tell.
type Help struct {
	// Short fixed name of the change.
	Code string `json:"code"`
	// The change in words.
	Message string `json:"message"`
	// Step is the step that it would leave, in seconds; null where the curves cannot tell.
	Step *float64 `json:"step"`
	// Gain is the share of today's best step that is saved per token; null where the
	// curves cannot tell.
	Gain *float64 `json:"gain"`
}

// Bootstrap is the answer's spread over resampled curves.
type Bootstrap struct {
	// Replicates is the number of resampled curves.
	Replicates int `json:"replicates"`
	// From says what was resampled: samples, or the interval of the median.
	From string `json:"from"`
	// Lo is the lower end of 95 % of the answers, in elements.
	Lo int64 `json:"lo"`
	// Hi is the upper end of 95 % of the answers, in elements.
	Hi int64 `json:"hi"`
	// InPlateau is the share of the answers that fell into the plateau.
	InPlateau float64 `json:"in_plateau"`
	// Holds is the share of the resampled curves by which the setting to use costs at most
	// 1 %.
	Holds float64 `json:"holds"`
	// CostHi is what the setting to use costs at most by 95 % of the resampled curves, as a
	// share of a step.
	CostHi float64 `json:"cost_hi"`
	// ExposedLo is the lower end of 95 % of the time that communication adds to a step at
	// the answer, in seconds.
	ExposedLo float64 `json:"exposed_lo"`
	// ExposedHi is the upper end of it, in seconds.
	ExposedHi float64 `json:"exposed_hi"`
}

// Levels of Confidence.
const (
	High   = "high"
	Medium = "medium"
	Low    = "low"
)

// Confidence is how far the answer may be believed and what keeps it there.
type Confidence struct {
	// Level of confidence.
	Level string `json:"level"`
	// Reasons are what keeps the level from being higher.
	Reasons []Reason `json:"reasons"`
}

// Why is the first reason that keeps the confidence at its level; nil where it is high.
func (c Confidence) Why() *Reason {
	for i := range c.Reasons {
		if c.Reasons[i].Level == c.Level {
			return &c.Reasons[i]
		}
	}
	return nil
}

// Reason caps the confidence at Level. Code is stable, Message for people.
type Reason struct {
	// Short fixed name of the reason.
	Code string `json:"code"`
	// Level that the reason allows at most.
	Level string `json:"level"`
	// The reason in words.
	Message string `json:"message"`
}

// FixFirst is the code of a refusal because of a fault of the hardware.
const FixFirst = "fix_first"

// Refusal says what is missing or wrong and how to give it.
type Refusal struct {
	// Short fixed name of what is missing.
	Code string `json:"code"`
	// What is missing or wrong, in words.
	Message string `json:"message"`
	// How to give it.
	Hint string `json:"hint"`
	// Command is what to run next; absent where it depends on what is given.
	Command string `json:"command,omitempty"`
	// Missing names the collectives that the trainer calls and no curve is of; absent where
	// something else is missing.
	Missing []string `json:"missing,omitempty"`
}

// Used is a curve behind the answer, without its points.
type Used struct {
	// Collective is the name of the collective.
	Collective string `json:"collective"`
	// Ranks is the number of ranks of a message.
	Ranks int `json:"ranks"`
	// Groups is the number of communicators of this many ranks that ran at once.
	Groups int `json:"groups"`
	// Stride is how far apart the ranks of each group are; absent where they are
	// neighbours.
	Stride int `json:"stride,omitempty"`
	// Dtype is the element type.
	Dtype string `json:"dtype"`
	// InPlace is true for one buffer, false for two.
	InPlace bool `json:"in_place"`
	// Timing names the time that the curve is of.
	Timing string `json:"timing"`
	// Sizes is the number of sizes of the curve.
	Sizes int `json:"sizes"`
	// MinBytes is the smallest size, in bytes.
	MinBytes int64 `json:"min_bytes"`
	// MaxBytes is the largest size, in bytes.
	MaxBytes int64 `json:"max_bytes"`
	// Simulated is true when a model, not hardware, decided the times.
	Simulated bool `json:"simulated"`
	// RescaledFrom is the number of ranks that was measured; absent where ranks was
	// measured.
	RescaledFrom int `json:"rescaled_from,omitempty"`
	// Alpha is the intercept of T = alpha + S/bandwidth, fitted to the relative error, in
	// seconds. It explains the curve and decides nothing.
	Alpha float64 `json:"alpha"`
	// Bandwidth is that of the same fit, in bytes per second.
	Bandwidth float64 `json:"bandwidth"`
	// Holes are sizes that the library handles worse than their neighbours.
	Holes []Hole `json:"holes"`
	// WantMaxBytes is how far the sweep should go, in bytes: the largest message of a
	// setting that was tried; absent where the curve reaches it.
	WantMaxBytes int64 `json:"want_max_bytes,omitempty"`
	// Refine are sizes worth measuring next, in bytes: the real messages around the
	// answer.
	Refine []int64 `json:"refine"`
}
