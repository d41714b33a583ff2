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
	// Measured is true if the times were measured, false if they are estimates.
	Measured bool
	// Source says where the times come from.
	Source string
}

// Known reports whether the backward time is known.
func (c Compute) Known() bool { return c.Backward > 0 }

// ComputeTimed returns measured times of a microbatch, given in seconds. A forward time of 0 is
// replaced by half the backward time.
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
// communication. Backward gets two thirds, because it has two matrix products for each product of
// forward.
func ComputeOfStep(step float64) (Compute, error) {
	if !positive(step) {
		return Compute{}, fmt.Errorf("%w: a step of %g s", ErrCompute, step)
	}
	return Compute{Backward: step * 2 / 3, Forward: step / 3, Measured: true, Source: "step measured, split 2:1 into backward and forward"}, nil
}

// Load is the work of one microbatch on one GPU.
type Load struct {
	// Tokens is the number of tokens per GPU and microbatch. ActiveParams is the number of
	// parameters in the matrix products of a token.
	Tokens, ActiveParams int64
	// Flops is the rate of a GPU in training, in floating-point operations per second.
	Flops float64
	// Recompute is true if backward repeats the whole forward pass.
	Recompute bool
	// Spared is the share of backward's products that frozen tensors make unnecessary.
	Spared float64
}

// Estimate computes the times from the work. Forward takes 2 operations per parameter and token.
// Backward takes 4 operations. It takes fewer with frozen tensors, and 2 more if it recomputes
// forward. Attention's own products are left out.
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
