package rccl

import (
	"math/rand/v2"

	"zbench/bench/hardware/collective"
	"zbench/bench/run/plan"
	"zbench/internal/native"
)

// If the buffers of a case are too large for the host's memory, blocks of blockBytes bytes are
// checked instead of everything: at most mostBlocks, and as many as take a quarter of the budget.
// In a reduction each rank fills every block.
const (
	blockBytes = 4096
	mostBlocks = 64
)

// need() returns the memory of the buffers of all ranks, in bytes.
func need(c plan.Case) int64 {
	return int64(c.Comms().Active()) * (c.Layout.SendBytes + c.Layout.RecvBytes)
}

// blocks() returns the blocks that a launch of the case checks; nil if every element is checked.
// The total size is divided into equal parts, and each part has one block at a random place, on
// pages of its own. All processes choose the same blocks.
func (d *Driver) blocks(c plan.Case, launch int) []native.Block {
	if !d.Simulated() || need(c) <= d.cfg.VerifyBudget {
		return nil
	}
	size := int64(c.Dtype.Size)
	shared := max(c.Layout.SendBytes, c.Layout.RecvBytes) > c.Layout.Count*size
	all, each := c.Layout.Count, min(blockBytes/size, c.Layout.Count)
	if shared {
		all *= int64(c.Ranks)
	}
	n := max(1, min(mostBlocks, d.cfg.VerifyBudget/4/(2*blockBytes*int64(c.Ranks)), all/each))
	random := rand.New(rand.NewPCG(d.seed(c, launch), 0)) //nolint:gosec // places, not secrets
	out := make([]native.Block, n)
	for i := range out {
		at := all/n*int64(i) + random.Int64N(all/n)
		out[i] = blockOf(c, int(at/c.Layout.Count), min(at%c.Layout.Count/each*each, c.Layout.Count-each), each, random.IntN(c.Ranks))
	}
	return out
}

// blockOf returns the block that begins at an element of a share. If each rank sends to all ranks,
// the block belongs to one sender.
func blockOf(c plan.Case, share int, at, count int64, sender int) native.Block {
	b := native.Block{SendAt: at, RecvAt: at, Count: count, Width: int64(c.Dtype.Size), From: -1, To: -1}
	size := c.Layout.Count * b.Width
	sends, receives := c.Layout.SendBytes > size, c.Layout.RecvBytes > size
	switch {
	case c.Collective.Reduces:
	case sends && receives:
		b.From = sender
	case receives:
		b.From = share
	default:
		b.From = c.Root
	}
	if sends {
		b.To, b.SendAt = share, at+int64(share)*c.Layout.Count
	}
	if receives {
		b.RecvAt += int64(b.From) * c.Layout.Count
	}
	return b
}

// ofBlock returns the data of a block that a rank sends, and the data that it must receive.
func ofBlock(c plan.Case, rank int, b native.Block) native.Expect {
	want := c.Collective.Result(rank, c.Ranks, c.Root)
	e := native.Expect{Reduced: c.Collective.Reduces, Block: b.Count, Source: b.From, FillBase: b.SendAt, SendAt: b.SendAt, RecvAt: b.RecvAt}
	if b.From < 0 || b.From == rank {
		e.Fill = b.Count
	}
	if want.Blocks > 0 && (b.To < 0 || b.To == rank) {
		e.Check, e.RecvBytes = b.Count, b.Count*b.Width
		e.Base = int64(want.Base)*c.Layout.Count + b.RecvAt
		if want.Blocks > 1 {
			e.Base -= int64(b.From) * c.Layout.Count
		}
	}
	if c.InPlace && c.Collective.InPlace == collective.Same {
		e.RecvBytes = 0
	}
	return e
}
