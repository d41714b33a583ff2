package rccl

import (
	"zbench/bench/run/plan"
	"zbench/internal/native"
)

// Blocks are the blocks by which a launch of the case is checked.
func (d *Driver) Blocks(c plan.Case, launch int) []native.Block { return d.blocks(c, launch) }
