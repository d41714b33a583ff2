// Package recommend computes the bucket size for a trainer. [Question] is the input,
// [Ask] simulates the candidate settings, and [Answer] is the setting with the least mean
// regret over a small grid of scenarios, with its confidence. docs/BUCKET.md explains
// the method.
package recommend

import (
	"zbench/bench/trainer"
)

// Schema names the version of recommend.json.
const Schema = "zbench.recommend/1"

// Question is everything an answer depends on. Times are in seconds, sizes in
// bytes, settings in elements.
type Question struct {
	// Curves are the measured collectives, of cost.Curves.
	Curves []Curve
	// Trainer is a name of bench/trainer, or an alias of one.
	Trainer string
	// Params are the parameter tensors in forward order. ParamsGuessed is true if they
	// were generated from totals.
	Params        []trainer.Param
	ParamsGuessed bool
	Run           trainer.Run
	// Backward and Forward are the times of one microbatch without communication; 0 if
	// unknown. ComputeGuessed is true if they are computed from tokens and FLOP/s, not
	// measured.
	Backward, Forward float64
	ComputeGuessed    bool
	// MemBudget is the limit of the trainer's buffers, in bytes; 0 is no limit.
	MemBudget int64
	// Current is the user's present setting; 0 if none.
	Current int64
	// Rescale allows curves of another number of ranks.
	Rescale bool
	// Loaded is true if the curves were measured while the GPUs computed.
	Loaded bool
	// Bootstrap is the number of resampled curves, 0 for none.
	Bootstrap int
	Seed      uint64
	// Scenarios are those to average over; the default grid if empty.
	Scenarios []Scenario
	// Fault is why no setting may be chosen from the curves; nil is nothing.
	Fault *Fault
	// Again is how more curves are measured.
	Again Again
	// Plans are kept for the next question; nil keeps none. They change no answer.
	Plans *Plans
}

// Scenario is one way in which reality may differ from the curves and the times
// that were given: messages take Network times as long, computation Compute times.
type Scenario struct {
	// Network is how many times as long messages take.
	Network float64 `json:"network"`
	// Compute is how many times as long computation takes.
	Compute float64 `json:"compute"`
}
