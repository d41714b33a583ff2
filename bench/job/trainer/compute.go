package trainer

import (
	"errors"
	"fmt"
	"math"

	"zbench/bench/base/unit"
)

// ErrCompute is wrapped by every error about compute times.
var ErrCompute = errors.New("no compute time")

// Compute is the time of one microbatch without communication, in seconds; zeroes if unknown.
type Compute struct {
	Backward, Forward float64
	// Measured is true for a measured time, false for an estimate.
	Measured bool
	// Source is the origin of the times.
	Source string
}

// Known reports whether there is a backward time.
func (c Compute) Known() bool { return c.Backward > 0 }

// ComputeTimed takes measured times of a microbatch, in seconds. A forward of 0 becomes half the
// backward.
func ComputeTimed(backward, forward float64) (Compute, error) {
	if !positive(backward) || forward != 0 && !positive(forward) {
		return Compute{}, fmt.Errorf("%w: backward %g s, forward %g s", ErrCompute, backward, forward)
	}
	c := Compute{Backward: backward, Forward: forward, Measured: true, Source: "measured"}
	if forward == 0 {
		c.Forward, c.Source = backward/2, "backward measured, forward taken as half of it"
	}
	return c, nil
}

// ComputeOfStep divides the measured time of a microbatch's forward and backward pass without
// communication: two thirds are the backward's, which has two matrix products for each of the
// forward's.
func ComputeOfStep(step float64) (Compute, error) {
	if !positive(step) {
		return Compute{}, fmt.Errorf("%w: a step of %g s", ErrCompute, step)
	}
	return Compute{Backward: step * 2 / 3, Forward: step / 3, Measured: true, Source: "step measured, split 2:1 into backward and forward"}, nil
}

// Load is the work of one microbatch on one GPU.
type Load struct {
	// Tokens is per GPU and microbatch, ActiveParams the number of parameters in a token's matrix
	// products.
	Tokens, ActiveParams int64
	// Flops is a GPU's rate in training, in floating-point operations per second.
	Flops float64
	// Recompute is true if the backward repeats the whole forward.
	Recompute bool
	// Spared is the share of the backward's products that frozen tensors spare.
	Spared float64
}

// Estimate computes the times from the work: 2 operations per parameter and token forward, 4
// backward less those that frozen tensors spare, and 2 more if the forward is recomputed.
// Attention's own products are left out.
func (l Load) Estimate() (Compute, error) {
	work := float64(l.Tokens) * float64(l.ActiveParams)
	if l.Tokens < 1 || l.ActiveParams < 1 || !positive(l.Flops) || !positive(work/l.Flops) {
		return Compute{}, fmt.Errorf("%w: %d tokens, %d active parameters, %g FLOP/s", ErrCompute, l.Tokens, l.ActiveParams, l.Flops)
	}
	passes, again := 4*(1-l.Spared), ""
	if l.Recompute {
		passes, again = passes+2, ", recomputed"
	}
	return Compute{
		Backward: passes * work / l.Flops, Forward: 2 * work / l.Flops,
		Source: fmt.Sprintf("estimated from %d tokens, %s active parameters and %.4g TFLOP/s%s", l.Tokens, unit.Number(float64(l.ActiveParams)), l.Flops/1e12, again),
	}, nil
}

func positive(v float64) bool { return v > 0 && !math.IsInf(v, 0) }
