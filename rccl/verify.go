package rccl

import (
	"context"
	"fmt"
	"hash/fnv"

	"zbench/bench/base/unit"
	"zbench/bench/hardware/collective"
	"zbench/bench/hardware/policy"
	"zbench/bench/run/plan"
	"zbench/bench/run/record"
	"zbench/internal/native"
)

// Verify launches the case once, with data that reveal every kind of error, and checks every
// element of every rank's result on the device. On the loopback, a case that is too large is
// checked by blocks.
func (d *Driver) Verify(ctx context.Context, c plan.Case, launch int) (plan.Verification, error) {
	if d.local == 0 {
		return plan.Verification{}, nil
	}
	if d.noKernels != nil {
		return plan.Verification{}, d.noKernels
	}
	blocks, places := d.blocks(c, launch), c.SendPlaces()
	var expect []native.Expect
	for i := range d.local * max(1, len(blocks)) {
		rank := d.ranks[i%d.local].rank.Number
		if blocks == nil {
			expect = append(expect, expectation(c, rank, places))
		} else {
			expect = append(expect, ofBlock(c, rank, blocks[i/d.local]))
		}
	}
	defer d.enter()()
	defer context.AfterFunc(ctx, d.batch.Cancel)()
	d.batch.SetDeadline(d.deadline(1))
	if c.Way.AtOnce { // the buffers must keep their data until the errors are located
		d.provider.MoveData(true)
		defer d.provider.MoveData(false)
	}
	wrong, err := d.batch.Verify(expect, d.seed(c, launch), blocks...)
	if err != nil {
		d.broken = true
		return plan.Verification{}, d.ended(ctx, record.DuringVerification, err)
	}
	v := plan.Verification{Blocks: len(blocks)}
	if blocks != nil {
		v.BlockBytes = blocks[0].Count * blocks[0].Width
	}
	for _, w := range wrong {
		if v.Wrong == 0 {
			v.First = fmt.Sprintf("first on rank %d at element %d of %s: expected bits %#x, got %#x",
				d.cfg.FirstRank+w.Rank, w.Index, unit.Bytes(c.Layout.Bytes), w.Expected, w.Got)
		}
		v.Wrong += w.Count
	}
	if c.Way.AtOnce && v.Wrong > 0 {
		v.Located, err = d.locate(c, expect, wrong, d.seed(c, launch))
	}
	return v, err
}

// Unverifiable returns the reason why the case cannot be verified, "" if it can. It counts the
// ranks of all processes, so that the distribution of ranks over processes does not matter.
func (d *Driver) Unverifiable(c plan.Case) string {
	need := need(c)
	switch why := d.lacks(c); {
	case d.noKernels != nil:
		return d.noKernels.Error()
	case why != "":
		return why
	case d.Simulated() && need > d.cfg.VerifyBudget && (!c.ByBlocks || c.Collective.Messages() || c.Collective.Uneven):
		return fmt.Sprintf("memory: all ranks' buffers take %s, the budget (--verify-budget) is %s", unit.Bytes(need), unit.Bytes(d.cfg.VerifyBudget))
	case c.Ranks > native.MaxVerifiedRanks:
		return fmt.Sprintf("the check is exact up to %d ranks", native.MaxVerifiedRanks)
	}
	return ""
}

// lacks returns the reason why the libraries cannot launch the case in the way that it asks for; "" if
// they can.
func (d *Driver) lacks(c plan.Case) string {
	var needs []string
	if c.Way.Urgent {
		needs = append(needs, "streamPriority")
	}
	if c.Way.Split {
		needs = append(needs, "commSplit")
	}
	if name := d.provider.Lacks(needs...); name != "" {
		return "the libraries have no " + name
	}
	var err error
	if c.Way.Captured {
		err = d.provider.CanCall(policy.Calls{GraphLaunches: 1})
	}
	if err == nil {
		_, err = d.workOf(c.Way.Beside)
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// seed returns a seed that differs between cases and launches, so that an earlier launch's result
// is never correct for this one.
func (d *Driver) seed(c plan.Case, launch int) uint64 {
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%s/%d/%d", c.Key, launch, d.cfg.Seed) // a hash cannot fail
	return h.Sum64()
}

// expectation returns the data that a rank sends, and the data that it must receive, in elements.
func expectation(c plan.Case, rank int, places []int64) native.Expect {
	l, want := c.Layout, c.Collective.Result(rank, c.Ranks, c.Root)
	e := native.Expect{
		Fill: l.SendBytes / int64(c.Dtype.Size), SendBytes: l.SendBytes, Check: int64(want.Blocks) * l.Count,
		RecvBytes: l.RecvBytes, Reduced: c.Collective.Reduces,
		Block: l.Count, Base: int64(want.Base) * l.Count, Source: want.From, Step: want.Step,
	}
	if places != nil {
		e.Block, e.Base = places[rank+1]-places[rank], places[rank]
		e.Check = int64(want.Blocks) * e.Block
	}
	// In place, the send buffer is filled after the receive buffer is poisoned. If
	// only the root sends or receives, the buffers of the other ranks are not used.
	if c.InPlace && c.Collective.InPlace == collective.Same {
		e.RecvBytes = 0
	}
	return e
}
