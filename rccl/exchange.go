package rccl

import (
	"context"
	"fmt"

	"zbench/bench/run/plan"
	"zbench/bench/run/record"
	"zbench/internal/native"
)

// Exchange runs a round of messages between peers and returns the seconds, ordered by launch and
// then rank. The launches of its warm-up connect the peers and measure the host's enqueue time.
// That time determines the hold.
func (d *Driver) Exchange(ctx context.Context, e plan.Exchange) ([]float64, error) {
	if err := e.Check(d.cfg.World); err != nil {
		return nil, err
	}
	if comms := e.Case.Comms(); comms.Ranks != d.cfg.World || comms.Count != 1 {
		return nil, fmt.Errorf("an exchange on %d communicators of %d ranks: it needs one of all %d", comms.Count, comms.Ranks, d.cfg.World)
	}
	if err := d.Begin(e.Case, e.Round); err != nil {
		return nil, err
	}
	d.perLaunch = -1 // new peers have to connect, which takes as long as a first operation
	for i := range d.local {
		to, from := e.Peers(d.ranks[i].rank.Number)
		d.batch.SetPeers(i, to, from)
	}
	work := d.work
	work.Collective = native.Exchange
	if err := d.batch.SetWork(work, d.deadline(1)); err != nil {
		return nil, err
	}
	if e.Warmup > 0 {
		if _, err := d.isolated(ctx, record.DuringWarmUp, e.Warmup); err != nil {
			return nil, err
		}
	}
	return d.isolated(ctx, record.DuringIsolated, e.Launches)
}
