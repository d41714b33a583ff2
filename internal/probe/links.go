package probe

import (
	"context"
	"errors"
	"fmt"

	"zbench/bench/answers/fleet/nodescreen"
	"zbench/bench/answers/fleet/rails"
	"zbench/bench/base/unit"
	"zbench/bench/run/plan"
	"zbench/bench/run/spec"
)

// Links times messages between every two GPUs of the node. It uses the rounds of `zbench rails`,
// and as many of them as are needed to confirm a slow link.
func Links(ctx context.Context, c Config, gpus int) *nodescreen.Links {
	out := &nodescreen.Links{What: "message of " + unit.Bytes(c.Message) + " between two GPUs", Bytes: c.Message}
	rounds, err := c.links(ctx, gpus)
	if err != nil {
		out.Error = err.Error()
		return out
	}
	for _, t := range rounds.Timings {
		out.Timings = append(out.Timings, nodescreen.LinkTiming{Round: t.Round, A: t.Pair.A.GPU, B: t.Pair.B.GPU, Seconds: t.Seconds})
	}
	return out
}

func (c Config) links(ctx context.Context, gpus int) (rounds rails.Rounds, err error) {
	w := spec.World{Nodes: 1, GPUsPerNode: gpus, GPUsPerProcess: gpus}
	message, err := rails.CaseOf(w, c.Message)
	if err != nil {
		return rounds, err
	}
	d, err := c.open(ctx, gpus, []plan.Case{message})
	if err != nil {
		return rounds, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	m := rails.Measurement{
		Fleet: rails.Fleet{Nodes: 1, GPUs: gpus}, Plan: rails.Bounds{Seed: c.Seed, Passes: rails.AllPasses}, Case: message, Launches: rails.DefaultLaunches,
	}
	if rounds, err = m.Run(ctx, d); err != nil {
		return rounds, fmt.Errorf("links of the GPUs: %w", err)
	}
	return rounds, ctx.Err()
}
