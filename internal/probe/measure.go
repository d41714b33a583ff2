package probe

import (
	"context"

	"zbench/bench/fleet/nodescreen"
)

// Measure fills in what can be measured in this process: GPUs, libraries, memory and the
// collective over all GPUs. The error is of a provider that cannot be opened; what fails
// later stands in the node.
func Measure(ctx context.Context, c Config, n *nodescreen.Node) error {
	gpus, facts, err := Devices(c.Native)
	if err != nil {
		return err
	}
	n.Facts = append(n.Facts, facts...)
	n.GPUs = Memory(ctx, c, gpus)
	if len(gpus) > 1 {
		n.Collective = Collective(ctx, c, len(gpus), "")
	}
	return ctx.Err()
}
