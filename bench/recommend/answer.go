package recommend

import (
	"zbench/bench/bucket"
	"zbench/bench/record"
	"zbench/bench/trainer"
)

// Verdicts of an answer.
const (
	// Recommended: Elements is the answer.
	Recommended = "recommended"
	// NoCommunication: there is nobody to reduce with.
	NoCommunication = "no_communication"
	// Refused: Refusal says what is missing.
	Refused = "refused"
)

// Answer is what to set and why. All values are in base units.
type Answer struct {
	Schema  string `json:"schema"`
	Verdict string `json:"verdict"`
	// Refusal is there when the verdict is Refused.
	Refusal *Refusal `json:"refusal,omitempty"`
	// Simulated is true when a model, not hardware, decided the times of a curve.
	Simulated bool   `json:"simulated"`
	Trainer   string `json:"trainer"`
	Knob      string `json:"knob"`
	Unit      string `json:"unit"`
	// Run is the user's, Advised the one that the answer is for and the printed lines
	// set: with overlap on, unless that gains too little to change anything.
	Run     trainer.Run `json:"run"`
	Advised trainer.Run `json:"advised"`
	// Params and Gradients are the numbers of tensors and of their elements.
	Params    int   `json:"params"`
	Gradients int64 `json:"gradients"`
	// Backward and Forward are the computation of one microbatch in seconds; null
	// where they are not known and a range of them was averaged over.
	Backward *float64 `json:"backward"`
	Forward  *float64 `json:"forward"`
	// Elements is the setting to use; Best is what it does. Least is the one of least
	// mean regret: Best itself, unless Keep says that what is set today, or the
	// default, costs so little that it stays. Gain is then what Least would gain at
	// most, over the step as measured and on average.
	Elements int64      `json:"elements"`
	Best     *Candidate `json:"best"`
	Least    *Candidate `json:"least"`
	Keep     bool       `json:"keep"`
	Gain     float64    `json:"gain"`
	// Default is the trainer's own, Current the user's, Single one bucket.
	Default *Candidate `json:"default"`
	Current *Candidate `json:"current"`
	Single  *Candidate `json:"single"`
	// Within is all settings that cost no more than PlateauWidth, as measured and on
	// average, ascending; Plateau is the one of these ranges that holds Elements.
	Within  []Range `json:"within"`
	Plateau *Range  `json:"plateau"`
	// Changes is what separates the user's run from the answer: the bucket under the
	// user's own settings first, then each switch that the answer relies on and the
	// user lacks. Empty where there is no such switch.
	Changes []Change `json:"changes"`
	// Table is every setting that was tried, ascending, one for each bucketing.
	Table     []Candidate `json:"table"`
	Scenarios []Scenario  `json:"scenarios"`
	// Messages is the real sizes of the answer's calls, by collective.
	Messages []Sizes `json:"messages"`
	// Limits says what bounds the step time, the strongest first.
	Limits        []Limit          `json:"limits"`
	WhyNotSmaller string           `json:"why_not_smaller"`
	WhyNotLarger  string           `json:"why_not_larger"`
	WouldHelp     []Help           `json:"would_help"`
	Bootstrap     *Bootstrap       `json:"bootstrap"`
	Confidence    Confidence       `json:"confidence"`
	Curves        []Used           `json:"curves"`
	Warnings      []record.Warning `json:"warnings"`
}

// Candidate is one setting and what it would do. Times are those of the nominal
// scenario, of one step of all microbatches, in seconds; where the answer's
// Backward is null, of a backward that takes as long as the gradients' wire.
type Candidate struct {
	Elements int64 `json:"elements"`
	Buckets  int   `json:"buckets"`
	// LargestBytes and MedianBytes are of the gradients' messages.
	LargestBytes int64 `json:"largest_bytes"`
	MedianBytes  int64 `json:"median_bytes"`
	// PaddingElements is what the trainer adds to fill buckets up.
	PaddingElements int64 `json:"padding_elements"`
	// ExposedBackward and ExposedForward are the time that communication adds to
	// each pass, After what comes when nothing is left to hide it behind; Step is
	// the whole step, computation included.
	ExposedBackward float64 `json:"exposed_backward"`
	ExposedForward  float64 `json:"exposed_forward"`
	After           float64 `json:"after"`
	Step            float64 `json:"step"`
	// Nominal is the step over the least step of all candidates, less one; Score
	// is the mean of that over the scenarios, Worst its maximum.
	Nominal float64 `json:"nominal"`
	Score   float64 `json:"score"`
	Worst   float64 `json:"worst"`
	// BusBW is all gradient bytes over all their messages' time, as bus bandwidth.
	BusBW float64 `json:"busbw"`
	// Extrapolated is true when a message lies outside the curve's sizes.
	Extrapolated bool  `json:"extrapolated"`
	Memory       int64 `json:"memory"`
	// OverBudget is true when Memory exceeds the question's budget.
	OverBudget bool `json:"over_budget"`
}

// Range is settings in elements. Open ends are those where no smaller, or no
// larger, setting would change the buckets.
type Range struct {
	Lo     int64 `json:"lo"`
	Hi     int64 `json:"hi"`
	OpenLo bool  `json:"open_lo"`
	OpenHi bool  `json:"open_hi"`
}

// Holds tells that a setting lies in the range.
func (r Range) Holds(elements int64) bool { return r.Lo <= elements && elements <= r.Hi }

// Change is one step from the user's run to the answer.
type Change struct {
	// Name is BucketChange, or the switch as the trainer spells it.
	Name string `json:"name"`
	// Elements is the setting that it is computed with.
	Elements int64 `json:"elements"`
	// Step is in seconds with this change: of the bucket alone, or of the switch and
	// those before it at the answer's setting. Gain is the share of the step without
	// it that it saves.
	Step float64 `json:"step"`
	Gain float64 `json:"gain"`
}

// BucketChange names the change of the bucket size alone.
const BucketChange = "bucket"

// Sizes is the messages of one collective in one pass (backward, forward, after).
type Sizes struct {
	Pass       string  `json:"pass"`
	Collective string  `json:"collective"`
	Ranks      int     `json:"ranks"`
	Count      int     `json:"count"`
	Bytes      int64   `json:"bytes"`
	Smallest   int64   `json:"smallest"`
	Median     int64   `json:"median"`
	Largest    int64   `json:"largest"`
	Seconds    float64 `json:"seconds"`
}

// Limit is something that keeps the step from being shorter.
type Limit struct {
	Code    string  `json:"code"`
	Message string  `json:"message"`
	Seconds float64 `json:"seconds"`
}

// Help is a change other than the bucket size, and the step it would leave; null
// where the curves cannot tell.
type Help struct {
	Code    string   `json:"code"`
	Message string   `json:"message"`
	Step    *float64 `json:"step"`
	// Gain is the share of today's best step that is saved per token.
	Gain *float64 `json:"gain"`
}

// Bootstrap is the answer's spread over resampled curves.
type Bootstrap struct {
	Replicates int `json:"replicates"`
	// From says what was resampled: samples, or the interval of the median.
	From string `json:"from"`
	// Lo and Hi bound 95 % of the answers, InPlateau the share of them that fell
	// into the plateau.
	Lo        int64   `json:"lo"`
	Hi        int64   `json:"hi"`
	InPlateau float64 `json:"in_plateau"`
	// ExposedLo and ExposedHi bound 95 % of the time that communication adds to a
	// step at the answer, in seconds.
	ExposedLo float64 `json:"exposed_lo"`
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
	Level   string   `json:"level"`
	Reasons []Reason `json:"reasons"`
}

// Reason caps the confidence at Level. Code is stable, Message for people.
type Reason struct {
	Code    string `json:"code"`
	Level   string `json:"level"`
	Message string `json:"message"`
}

// Refusal says what is missing or wrong and how to give it.
type Refusal struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Hint    string `json:"hint"`
}

// Used is a curve behind the answer, without its points.
type Used struct {
	Collective string `json:"collective"`
	Ranks      int    `json:"ranks"`
	// Groups is the number of communicators of Ranks that ran at once.
	Groups int `json:"groups"`
	// Stride is how far apart the ranks of each are; 0 where they are neighbours.
	Stride    int    `json:"stride,omitempty"`
	Dtype     string `json:"dtype"`
	InPlace   bool   `json:"in_place"`
	Timing    string `json:"timing"`
	Sizes     int    `json:"sizes"`
	MinBytes  int64  `json:"min_bytes"`
	MaxBytes  int64  `json:"max_bytes"`
	Simulated bool   `json:"simulated"`
	// RescaledFrom is the number of ranks that was measured; 0 where it is Ranks.
	RescaledFrom int `json:"rescaled_from,omitempty"`
	// Alpha and Bandwidth explain the curve: T = Alpha + S/Bandwidth, fitted to the
	// relative error. They decide nothing.
	Alpha     float64 `json:"alpha"`
	Bandwidth float64 `json:"bandwidth"`
	// Holes are sizes that the library handles worse than their neighbours.
	Holes []bucket.Hole `json:"holes"`
	// WantMaxBytes is how far the sweep should go: the largest message of a
	// setting that was tried, where that is beyond MaxBytes.
	WantMaxBytes int64 `json:"want_max_bytes,omitempty"`
	// Refine are sizes worth measuring next: the real messages around the answer.
	Refine []int64 `json:"refine"`
}
