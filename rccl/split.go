package rccl

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"zbench/bench/plan"
	"zbench/internal/native"
)

// library is what a driver calls after it was opened: the provider. A test puts the other
// processes of a world there.
type library interface {
	Memory(device int) (free, total int64, err error)
	Alloc(device int, bytes int64) (native.Buffer, error)
	Free(native.Buffer) error
	BeginCase(key uint64)
	NewUniqueID() (native.UniqueID, error)
	InitComms(id native.UniqueID, ranks, first int, devices []int) ([]native.Comm, error)
	FreeComm(native.Comm) error
	AbortComm(native.Comm) error
	newBatch(ranks int) launcher
}

// launcher runs launches on the ranks of this process: native.Batch.
type launcher interface {
	SetRank(i int, r native.Rank)
	SetPeers(i, to, from int)
	SetApart(apart bool)
	UseFunctions(f *native.Functions)
	MakeEvents() error
	SetWork(w native.Work, deadline float64) error
	SetDeadline(seconds float64)
	WarmUp(iterations int) ([]float64, error)
	Bursts(seconds []float64, iterations, replays int) error
	Isolated(iterations int, hold float64) ([]float64, error)
	EventFloor(iterations int) ([]float64, error)
	Verify(expect []native.Expect, seed uint64) ([]native.Wrong, error)
	Held() bool
	EnqueueSeconds() float64
	Cancel()
	Close()
}

// provided is the provider as a library.
type provided struct{ *native.Provider }

func (p provided) newBatch(ranks int) launcher { return p.NewBatch(ranks) }

// alone reports whether this process holds all ranks of the world.
func (d *Driver) alone() bool { return d.cfg.World == d.cfg.Ranks }

// joinAlone joins communicators of this process's ranks alone.
func (d *Driver) joinAlone(ctx context.Context, c plan.Comms) error {
	ids, err := d.IDs(c)
	if err == nil {
		err = d.Join(ctx, c, ids)
	}
	return err
}

// IDs makes the unique ids of the communicators whose rank 0 is in this process.
func (d *Driver) IDs(c plan.Comms) ([]plan.CommID, error) {
	defer d.enter()()
	var ids []plan.CommID
	for _, h := range c.Held(d.cfg.FirstRank, d.cfg.Ranks) {
		if h.First > 0 {
			continue
		}
		id, err := d.library.NewUniqueID()
		if err != nil {
			return nil, err
		}
		ids = append(ids, plan.CommID{Group: h.Group, ID: id[:]})
	}
	return ids, nil
}

// Join replaces the current communicators by those of c, each with its id. Only one split
// exists at a time, because each needs memory of its own. The ranks that are in no
// communicator are not in the batch.
func (d *Driver) Join(ctx context.Context, c plan.Comms, ids []plan.CommID) error {
	defer d.enter()()
	again := d.batch != nil
	if again {
		if err := d.unstage(); err != nil {
			return err
		}
		d.batch.Close()
		d.batch = nil
	}
	d.comms, d.local, d.perLaunch = plan.Comms{}, 0, -1
	err := d.leave()
	if err == nil {
		err = d.joinComms(ctx, c, ids)
	}
	if err != nil {
		d.broken = true
		return err
	}
	if again {
		err = d.newBatch()
	}
	return err
}

// joinComms joins this process's ranks, communicator by communicator.
func (d *Driver) joinComms(ctx context.Context, c plan.Comms, ids []plan.CommID) error {
	local := 0
	for _, h := range c.Held(d.cfg.FirstRank, d.cfg.Ranks) {
		var id native.UniqueID
		at := slices.IndexFunc(ids, func(id plan.CommID) bool { return id.Group == h.Group })
		if at < 0 || copy(id[:], ids[at].ID) != len(id) || len(ids[at].ID) != len(id) {
			return fmt.Errorf("communicator %d of %d came without an id of %d bytes", h.Group, c.Count, len(id))
		}
		devices := make([]int, len(h.Ranks))
		for i, rank := range h.Ranks {
			devices[i] = d.ranks[rank-d.cfg.FirstRank].rank.Device
		}
		comms, err := d.initComms(ctx, c, h, id, devices)
		for i, comm := range comms {
			r := &d.ranks[h.Ranks[i]-d.cfg.FirstRank].rank
			r.Comm, r.Number, r.Ranks = comm, h.First+i, c.Ranks
		}
		if err != nil {
			return err
		}
		local += len(h.Ranks)
	}
	d.comms, d.local = c, local
	return nil
}

// leave destroys the current communicators.
func (d *Driver) leave() error {
	var errs []error
	for i := range d.ranks {
		r := &d.ranks[i].rank
		if r.Comm != (native.Comm{}) {
			errs = append(errs, d.library.FreeComm(r.Comm))
			r.Comm = native.Comm{}
		}
	}
	return errors.Join(errs...)
}

// newBatch creates a batch of the ranks in the current communicators.
func (d *Driver) newBatch() error {
	d.batch = d.library.newBatch(d.local)
	d.batch.SetApart(!d.alone())
	for i := range d.local {
		d.batch.SetRank(i, d.ranks[i].rank)
	}
	if d.functions != nil {
		d.batch.UseFunctions(d.functions)
	}
	return d.batch.MakeEvents()
}
