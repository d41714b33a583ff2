package rccl

import (
	"errors"

	"zbench/bench/plan"
	"zbench/internal/native"
)

// joinSplit creates communicators of size of the active ranks, each with its own unique
// id.
func (d *Driver) joinSplit(s plan.Split, active, size int) error {
	d.split, d.active = s, active
	for group := range active / size {
		id, err := d.provider.NewUniqueID()
		if err != nil {
			return err
		}
		devices := make([]int, size)
		for i := range devices {
			devices[i] = d.ranks[s.Rank(group, i, size)].rank.Device
		}
		comms, err := d.provider.InitComms(id, size, 0, devices)
		for i, c := range comms {
			r := &d.ranks[s.Rank(group, i, size)].rank
			r.Comm, r.Number, r.Ranks = c, i, size
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// leave destroys the current communicators.
func (d *Driver) leave() error {
	var errs []error
	for i := range d.ranks {
		r := &d.ranks[i].rank
		if r.Comm != (native.Comm{}) {
			errs = append(errs, d.provider.FreeComm(r.Comm))
			r.Comm = native.Comm{}
		}
	}
	return errors.Join(errs...)
}

// rejoin replaces the communicators of one split by those of another. Only one split
// exists at a time, because each needs memory of its own. The ranks that the case does
// not use are not in the batch.
func (d *Driver) rejoin(c plan.Case) error {
	d.batch.Close()
	err := d.leave()
	if err == nil {
		err = d.joinSplit(c.Split, c.Ranks*c.Parallel, c.Ranks)
	}
	return errors.Join(err, d.newBatch())
}

// newBatch creates a batch of the ranks in the current communicators.
func (d *Driver) newBatch() error {
	d.batch = d.provider.NewBatch(d.active)
	for i := range d.active {
		d.batch.SetRank(i, d.ranks[i].rank)
	}
	if d.functions != nil {
		d.batch.UseFunctions(d.functions)
	}
	return d.batch.MakeEvents()
}
