// Package recommend answers which bucket size to give a trainer: [Question] is
// what is known, [Ask] simulates every setting that could matter, [Answer] is
// the setting with the least mean regret over a small grid of scenarios, and
// how much of that is worth believing. docs/BUCKET.md explains the method.
package recommend

import (
	"zbench/bench/cost"
	"zbench/bench/trainer"
)

// Schema names the version of recommend.json.
const Schema = "zbench.recommend/1"

// Question is everything an answer depends on. Times are in seconds, sizes in
// bytes, settings in elements.
type Question struct {
	// Curves are the measured collectives, of cost.Curves.
	Curves []cost.Curve
	// Trainer is a name of bench/trainer.
	Trainer string
	// Params are the parameter tensors in forward order. ParamsGuessed tells that
	// they were made up from totals.
	Params        []trainer.Param
	ParamsGuessed bool
	Run           trainer.Run
	// Backward and Forward are the times of one microbatch without
	// communication; 0 is not known. ComputeGuessed tells that they come from
	// tokens and FLOP/s rather than from a measurement.
	Backward, Forward float64
	ComputeGuessed    bool
	// MemBudget is what buffers of the trainer's may take; 0 is no limit.
	MemBudget int64
	// Current is what is set today; 0 is nothing.
	Current int64
	// Rescale allows curves of another number of ranks.
	Rescale bool
	// Loaded tells that the curves were measured while the GPUs computed.
	Loaded bool
	// Bootstrap is the number of resampled curves, 0 for none.
	Bootstrap int
	Seed      uint64
	// Scenarios are what is averaged over; none is the default grid.
	Scenarios []Scenario
}

// Scenario is one way in which reality may differ from the curves and the times
// that were given: messages take Network times as long, computation Compute times.
type Scenario struct {
	// Network is how many times as long messages take.
	Network float64 `json:"network"`
	// Compute is how many times as long computation takes.
	Compute float64 `json:"compute"`
}
