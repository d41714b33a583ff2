package recommend

import (
	"zbench/bench/job/trainer"
	"zbench/bench/run/record"
)

// Verdicts of an answer.
const (
	// Recommended means that Elements is the answer.
	Recommended = "recommended"
	// Ruled means that Rule is the answer, because the backward time is not known.
	Ruled = "rule"
	// NoCommunication means that nothing is reduced, because there is only one data-parallel rank.
	NoCommunication = "no_communication"
	// Refused means that there is no answer. Refusal says what is missing.
	Refused = "refused"
)

// Answer is the setting to use, with the reasons. All values are in base units.
type Answer struct {
	// Version of the format.
	Schema string `json:"schema"`
	// Verdict is "recommended" if elements is the answer, "rule" if rule is the answer, "no_communication" if
	// there is no other rank to reduce with, and "refused" if refusal says what is missing.
	Verdict string `json:"verdict"`
	// Refusal says what is missing; absent unless the verdict is refused.
	Refusal *Refusal `json:"refusal,omitempty"`
	// Simulated is true if the times of a curve come from a model, not from hardware.
	Simulated bool `json:"simulated"`
	// Trainer is the name of the training framework.
	Trainer string `json:"trainer"`
	// Knob is the name of the framework's setting.
	Knob string `json:"knob"`
	// Unit is the unit of the setting.
	Unit string `json:"unit"`
	// Run is the user's training run.
	Run trainer.Run `json:"run"`
	// Advised is the run that the answer is for and that the printed lines set. Overlap is on in this run,
	// unless it would gain too little to justify a change.
	Advised trainer.Run `json:"advised"`
	// Params is the number of gradient tensors.
	Params int `json:"params"`
	// Gradients is the number of gradient elements.
	Gradients int64 `json:"gradients"`
	// Backward is the computation of one microbatch's backward pass, in seconds. It is null if unknown; the
	// answer is then an average over a range.
	Backward *float64 `json:"backward"`
	// Forward is the computation of one microbatch's forward pass, in seconds; null if unknown.
	Forward *float64 `json:"forward"`
	// Elements is the setting to use, in elements.
	Elements int64 `json:"elements"`
	// Best is the predicted result of the setting to use; null without an answer.
	Best *Candidate `json:"best"`
	// Least is the setting of least mean regret; null without an answer. It equals `best` unless `keep` is
	// true.
	Least *Candidate `json:"least"`
	// Keep is true if the current setting (or the default) costs so little more than `least` that it stays.
	Keep bool `json:"keep"`
	// Gain is the share of a step that `least` saves over `best`. It is the larger of two values: as
	// measured, and on average over the scenarios.
	Gain float64 `json:"gain"`
	// Default is the trainer's own setting; null where it was not tried.
	Default *Candidate `json:"default"`
	// Current is the user's current setting; null if unknown.
	Current *Candidate `json:"current"`
	// Single is one bucket for all gradients; null where it was not tried.
	Single *Candidate `json:"single"`
	// Within lists all settings that cost at most 1 % more than the best, as measured and on average,
	// ascending. In 95 % of the resampled curves all listed settings meet this limit at once. If `best`
	// alone meets this limit in fewer curves, resampling removes no setting from the list.
	Within []Range `json:"within"`
	// Plateau is the range of `within` that holds `elements`; null without an answer.
	Plateau *Range `json:"plateau"`
	// Changes are the steps from the user's run to the answer. The first change is the bucket size under the
	// user's own settings. Each further change is a switch that the answer relies on and the user lacks. The
	// list is empty if there is no such switch.
	Changes []Change `json:"changes"`
	// Table lists the settings that were tried, ascending. Settings that make the same buckets are listed
	// once.
	Table []Candidate `json:"table"`
	// Latency is the share of a step that is latency: the largest such share over the settings that decide
	// the answer. It is 0 unless this share is larger than in all recorded real steps.
	Latency float64 `json:"latency"`
	// Rule gives the setting for each number of tokens; absent if no rule was requested.
	Rule *Rule `json:"rule,omitempty"`
	// Observed is the comparison of the model with timed steps; absent if none were given.
	Observed *Fit `json:"observed,omitempty"`
	// Scenarios are the cases that the regret was averaged over.
	Scenarios []Scenario `json:"scenarios"`
	// Messages are the actual sizes of the answer's calls, by collective.
	Messages []Sizes `json:"messages"`
	// Limits are the limits on the step time, the strongest first.
	Limits []Limit `json:"limits"`
	// WhyNotSmaller says what a smaller setting would cost.
	WhyNotSmaller string `json:"why_not_smaller"`
	// WhyNotLarger says what a larger setting would cost.
	WhyNotLarger string `json:"why_not_larger"`
	// WouldHelp lists changes other than the bucket size that shorten the step.
	WouldHelp []Help `json:"would_help"`
	// Bootstrap is the answer's spread over resampled curves; null if no curve was resampled.
	Bootstrap *Bootstrap `json:"bootstrap"`
	// Confidence says how far to trust the answer.
	Confidence Confidence `json:"confidence"`
	// Curves are the measured curves behind the answer.
	Curves []Used `json:"curves"`
	// Warnings are doubts about the answer.
	Warnings []record.Warning `json:"warnings"`
}

// Candidate is one setting and its predicted step. Times are in seconds, in the nominal scenario, for one
// step of all microbatches. If the answer's Backward is null, the backward pass is assumed to take as long as
// the gradients take on the network.
type Candidate struct {
	// Elements is the setting, in elements.
	Elements int64 `json:"elements"`
	// Buckets is the number of buckets that the setting makes.
	Buckets int `json:"buckets"`
	// LargestBytes is the largest of the gradients' messages, in bytes.
	LargestBytes int64 `json:"largest_bytes"`
	// MedianBytes is the median of the gradients' messages, in bytes.
	MedianBytes int64 `json:"median_bytes"`
	// PaddingElements is the number of elements that the trainer adds to fill its buckets.
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
	// Nominal is the step divided by the shortest step of all candidates, minus one.
	Nominal float64 `json:"nominal"`
	// Score is the mean of nominal over the scenarios: the mean regret, a ratio.
	Score float64 `json:"score"`
	// Worst is the maximum of nominal over the scenarios, a ratio.
	Worst float64 `json:"worst"`
	// BusBW is the bus bandwidth over all gradient messages: their bytes, times the bus factor, divided by
	// the sum of their times; in bytes per second.
	BusBW float64 `json:"busbw"`
	// Latency is the share of the step that does not depend on message sizes: for each message, the least
	// time of its curve.
	Latency float64 `json:"latency"`
	// Extrapolated is true when a message lies outside the curve's sizes.
	Extrapolated bool `json:"extrapolated"`
	// Memory is the memory for the trainer's buffers, in bytes.
	Memory int64 `json:"memory"`
	// OverBudget is true when memory exceeds the given budget.
	OverBudget bool `json:"over_budget"`
	// Unfounded is the reason why no percentage of a step can be given for the setting; absent if a
	// percentage can be given. "beyond_sweep": most of the message time of this setting, or of the answer, is
	// beyond the largest swept size. "dip": most of the difference comes from a dip of at most two sizes in a
	// single run.
	Unfounded string `json:"unfounded,omitempty"`
}

// Now returns the setting that the answer is compared with: the current setting, or the default; nil if
// neither was tried.
func (a *Answer) Now() *Candidate {
	if a.Current != nil {
		return a.Current
	}
	return a.Default
}

// exposed returns the time that communication adds to a step, in seconds.
func (c *Candidate) exposed() float64 { return c.ExposedBackward + c.ExposedForward + c.After }

// Reasons for Unfounded.
const (
	BeyondSweep = "beyond_sweep"
	OneDip      = "dip"
)

// Cost returns how much longer a step is with a setting than with the best size, as a share of the best step.
// It is the larger of two values: as measured, and on average over the scenarios.
func (a *Answer) Cost(c *Candidate) float64 {
	return max(0, a.costOf(c, a.Least.Score))
}

// Range is a range of settings, in elements. Beyond an open end, settings make the same buckets.
type Range struct {
	// Lo is the least setting, in elements.
	Lo int64 `json:"lo"`
	// Hi is the greatest setting, in elements.
	Hi int64 `json:"hi"`
	// OpenLo is true if no smaller setting would change the buckets.
	OpenLo bool `json:"open_lo"`
	// OpenHi is true if no larger setting would change the buckets.
	OpenHi bool `json:"open_hi"`
}

// Holds reports whether a setting lies in the range.
func (r Range) Holds(elements int64) bool { return r.Lo <= elements && elements <= r.Hi }

// Change is one step from the user's run to the answer.
type Change struct {
	// Name is "bucket", or the switch as the trainer spells it.
	Name string `json:"name"`
	// Elements is the setting for which `step` was computed, in elements.
	Elements int64 `json:"elements"`
	// Step is the time of a step with this change, in seconds. The bucket change is applied alone. A switch
	// is applied at the answer's setting, together with the switches listed before it.
	Step float64 `json:"step"`
	// Gain is the share of the step that the change saves.
	Gain float64 `json:"gain"`
}

// BucketChange names the change of the bucket size alone.
const BucketChange = "bucket"

// Sizes are the messages of one collective in one pass (backward, forward, after).
type Sizes struct {
	// Pass is the part of the step in which the messages are sent.
	Pass string `json:"pass"`
	// Collective is the name of the collective.
	Collective string `json:"collective"`
	// Ranks is the number of ranks of each message.
	Ranks int `json:"ranks"`
	// Count is the number of messages.
	Count int `json:"count"`
	// Bytes is the sum of the messages' sizes, in bytes.
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
	// Seconds of the step that the limit accounts for.
	Seconds float64 `json:"seconds"`
}

// Help is a change other than the bucket size, with the resulting step.
type Help struct {
	// Short fixed name of the change.
	Code string `json:"code"`
	// The change in words.
	Message string `json:"message"`
	// Step is the resulting step, in seconds; null if the curves cannot tell.
	Step *float64 `json:"step"`
	// Gain is the share of the time per token that the change saves compared with the answer; null if the
	// curves cannot tell.
	Gain *float64 `json:"gain"`
}

// Bootstrap is the answer's spread over resampled curves.
type Bootstrap struct {
	// Replicates is the number of resampled curves.
	Replicates int `json:"replicates"`
	// From says what was resampled: the samples, or the interval of the median.
	From string `json:"from"`
	// Lo is the lower end of 95 % of the answers, in elements.
	Lo int64 `json:"lo"`
	// Hi is the upper end of 95 % of the answers, in elements.
	Hi int64 `json:"hi"`
	// InPlateau is the share of the answers that lie in the plateau.
	InPlateau float64 `json:"in_plateau"`
	// Holds is the share of the resampled curves in which the setting to use costs at most 1 %.
	Holds float64 `json:"holds"`
	// CostHi is the cost that the setting to use does not exceed in 95 % of the resampled curves, as a
	// share of a step.
	CostHi float64 `json:"cost_hi"`
	// ExposedLo is the lower end of the 95 % interval of the time that communication adds to a step with
	// the answer's setting, in seconds.
	ExposedLo float64 `json:"exposed_lo"`
	// ExposedHi is the upper end of the same 95 % interval, in seconds.
	ExposedHi float64 `json:"exposed_hi"`
}

// Levels of Confidence.
const (
	High   = "high"
	Medium = "medium"
	Low    = "low"
)

// Confidence says how far to trust the answer, with the reasons that limit the trust.
type Confidence struct {
	// Level of confidence.
	Level string `json:"level"`
	// Reasons are the reasons why the level is not higher.
	Reasons []Reason `json:"reasons"`
}

// Why returns the first reason behind the confidence's level; nil if the level is high.
func (c Confidence) Why() *Reason {
	for i := range c.Reasons {
		if c.Reasons[i].Level == c.Level {
			return &c.Reasons[i]
		}
	}
	return nil
}

// Reason limits the confidence to Level. Code is stable, Message is for people.
type Reason struct {
	// Short fixed name of the reason.
	Code string `json:"code"`
	// Level is the highest level that the reason allows.
	Level string `json:"level"`
	// The reason in words.
	Message string `json:"message"`
}

// FixFirst is the code of a refusal because of a hardware fault.
const FixFirst = "fix_first"

// Refusal says what is missing or wrong and how to give it.
type Refusal struct {
	// Short fixed name of what is missing.
	Code string `json:"code"`
	// What is missing or wrong, in words.
	Message string `json:"message"`
	// How to give the missing input.
	Hint string `json:"hint"`
	// Command is the command to run next; absent if it depends on the missing input.
	Command string `json:"command,omitempty"`
	// Missing names the collectives that the trainer calls and that have no curve; absent if something else
	// is missing.
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
	// Stride is the distance between the ranks of a group; absent if they are neighbours.
	Stride int `json:"stride,omitempty"`
	// Dtype is the element type.
	Dtype string `json:"dtype"`
	// InPlace is true for one buffer, false for two.
	InPlace bool `json:"in_place"`
	// Timing names the time that the curve shows.
	Timing string `json:"timing"`
	// Sizes is the number of sizes of the curve.
	Sizes int `json:"sizes"`
	// MinBytes is the smallest size, in bytes.
	MinBytes int64 `json:"min_bytes"`
	// MaxBytes is the largest size, in bytes.
	MaxBytes int64 `json:"max_bytes"`
	// Simulated is true if the times come from a model, not from hardware.
	Simulated bool `json:"simulated"`
	// RescaledFrom is the number of ranks that was measured; absent if it equals ranks.
	RescaledFrom int `json:"rescaled_from,omitempty"`
	// Alpha is the intercept of T = alpha + S/bandwidth, fitted to the relative error, in seconds. Alpha
	// explains the curve; no decision uses it.
	Alpha float64 `json:"alpha"`
	// Bandwidth is the bandwidth of the fit T = alpha + S/bandwidth, in bytes per second.
	Bandwidth float64 `json:"bandwidth"`
	// Holes are sizes that the library handles worse than their neighbours.
	Holes []Hole `json:"holes"`
	// WantMaxBytes is the size that the sweep should reach, in bytes: the largest message of the answer, or
	// of a single bucket if the bandwidth still grows. It is absent if the curve reaches that size.
	WantMaxBytes int64 `json:"want_max_bytes,omitempty"`
	// Refine lists sizes worth measuring next, in bytes: the actual messages of settings around the answer.
	Refine []int64 `json:"refine"`
}
