package rccl

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"zbench/bench/base/slice"
	"zbench/bench/hardware/policy"
	"zbench/bench/run/plan"
	"zbench/internal/native"
)

// library has the calls that an open driver makes. It is the provider; a test can put the other
// processes of a world in its place.
type library interface {
	Memory(device int) (free, total int64, err error)
	Alloc(device int, bytes int64) (native.Buffer, error)
	AllocFine(device int, bytes int64) (native.Buffer, error)
	AllocLibrary(device int, bytes int64) (native.Buffer, error)
	Free(native.Buffer) error
	Register(window bool, comms []native.Comm, buffers []native.Buffer) ([]native.Registration, float64, error)
	Deregister(native.Registration) error
	Implementation(comm native.Comm, w native.Work, send, recv native.Address, graph bool) string
	BeginCase(key uint64)
	NewUniqueID() (native.UniqueID, error)
	InitComms(id native.UniqueID, ranks, first int, devices []int, cta int, nonblocking bool) ([]native.Comm, error)
	SplitComms(from []native.Comm, colors, keys []int) ([]native.Comm, error)
	FreeComm(native.Comm) error
	AbortComm(native.Comm) error
	newBatch(ranks int) launcher
}

// launcher runs launches on the ranks of this process. It is a native.Batch, except in tests.
type launcher interface {
	SetRank(i int, r native.Rank)
	SetPeers(i, to, from int)
	SetApart(apart bool)
	SetCalls(c policy.Calls)
	UseFunctions(f *native.Functions)
	MakeEvents() error
	SetWork(w native.Work, deadline float64) error
	SetDeadline(seconds float64)
	WarmUp(iterations int) ([]float64, error)
	Bursts(seconds []float64, iterations, replays int) error
	Isolated(iterations int, hold float64) ([]float64, error)
	EventFloor(iterations int) ([]float64, error)
	Verify(expect []native.Expect, seed uint64, blocks ...native.Block) ([]native.Wrong, error)
	Held() bool
	EnqueueSeconds() float64
	Cancel()
	Close()
}

// The type provided makes the provider a library.
type provided struct{ *native.Provider }

func (p provided) newBatch(ranks int) launcher { return p.NewBatch(ranks) }

// alone() reports whether this process has all ranks of the world.
func (d *Driver) alone() bool { return d.cfg.World == d.cfg.Ranks }

// joinAlone joins communicators whose ranks are all in this process, by Join or JoinBeside.
func (d *Driver) joinAlone(ctx context.Context, c plan.Comms, join func(context.Context, plan.Comms, []plan.CommID) error) error {
	ids, err := d.IDs(c)
	if err == nil {
		err = join(ctx, c, ids)
	}
	return err
}

// IDs makes the unique ids of the communicators whose rank 0 is in this process.
func (d *Driver) IDs(c plan.Comms) ([]plan.CommID, error) {
	defer d.enter()()
	var ids []plan.CommID
	for _, h := range c.Joined().Held(d.cfg.FirstRank, d.cfg.Ranks) {
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

// Join replaces the current communicators by the communicators of c, each with its id. Cases have
// one split at a time, because each split needs memory of its own. Ranks that are in no
// communicator are not in the batch.
func (d *Driver) Join(ctx context.Context, c plan.Comms, ids []plan.CommID) error {
	defer d.enter()()
	again := d.batch != nil
	if again {
		d.unstage()
		d.batch.Close()
		d.batch = nil
	}
	d.local, d.perLaunch = 0, -1
	err := d.leave()
	if err == nil {
		d.lanes = []lane{{ranks: make([]*native.Rank, len(d.ranks))}}
		for i := range d.ranks {
			d.lanes[0].ranks[i] = &d.ranks[i].rank
		}
		d.local, err = d.joinComms(ctx, c, ids)
	}
	if err == nil && again {
		err = d.newBatch()
	}
	d.broken = d.broken || err != nil
	return err
}

// JoinBeside joins additional communicators, on which a step also sends.
func (d *Driver) JoinBeside(ctx context.Context, c plan.Comms, ids []plan.CommID) error {
	defer d.enter()()
	l := lane{}
	for _, m := range d.ranks {
		stream, err := d.provider.NewStream(m.rank.Device, d.cfg.Calls.Mask()...)
		if err != nil {
			return errors.Join(err, d.freeStreams(l))
		}
		l.ranks = append(l.ranks, &native.Rank{Device: m.rank.Device, Stream: stream})
	}
	d.lanes = append(d.lanes, l)
	_, err := d.joinComms(ctx, c, ids)
	d.broken = d.broken || err != nil
	return err
}

func (d *Driver) freeStreams(l lane) error {
	return errors.Join(slice.Map(l.ranks, func(r *native.Rank) error { return d.provider.FreeStream(r.Stream) })...)
}

// joinComms joins this process's ranks to each communicator of the last lane. It returns how many
// ranks are in any communicator.
func (d *Driver) joinComms(ctx context.Context, c plan.Comms, ids []plan.CommID) (local int, err error) {
	l, joined := &d.lanes[len(d.lanes)-1], c.Joined()
	for _, h := range joined.Held(d.cfg.FirstRank, d.cfg.Ranks) {
		var id native.UniqueID
		at := slices.IndexFunc(ids, func(id plan.CommID) bool { return id.Group == h.Group })
		if at < 0 || copy(id[:], ids[at].ID) != len(id) || len(ids[at].ID) != len(id) {
			return 0, fmt.Errorf("communicator %d of %d came without an id of %d bytes", h.Group, joined.Count, len(id))
		}
		devices := slice.Map(h.Ranks, func(rank int) int { return d.ranks[rank-d.cfg.FirstRank].rank.Device })
		comms, err := d.initComms(ctx, joined, h, devices, func() ([]native.Comm, error) {
			return d.library.InitComms(id, joined.Ranks, h.First, devices, joined.Policy.Number(), d.cfg.Calls.NonBlocking)
		})
		for i, comm := range comms {
			r := l.ranks[h.Ranks[i]-d.cfg.FirstRank]
			r.Comm, r.Number, r.Ranks = comm, h.First+i, joined.Ranks
		}
		if err == nil && c.FromSplit {
			err = d.splitComms(ctx, l, c, h, devices)
		}
		if err != nil {
			return 0, err
		}
		local += len(h.Ranks)
	}
	l.comms = c
	return local, nil
}

// splitComms replaces the communicator of this process's ranks by parts of it. The whole one is kept
// until the parts are freed.
func (d *Driver) splitComms(ctx context.Context, l *lane, c plan.Comms, whole plan.Held, devices []int) error {
	n := len(whole.Ranks)
	colors, keys := make([]int, n), make([]int, n)
	for _, h := range c.Held(d.cfg.FirstRank, d.cfg.Ranks) {
		for i, rank := range h.Ranks {
			at := slices.Index(whole.Ranks, rank)
			colors[at], keys[at] = h.Group, h.First+i
		}
	}
	l.split = slice.Map(whole.Ranks, func(rank int) native.Comm { return l.ranks[rank-d.cfg.FirstRank].Comm })
	comms, err := d.initComms(ctx, c.Joined(), whole, devices, func() ([]native.Comm, error) { return d.library.SplitComms(l.split, colors, keys) })
	for i, rank := range whole.Ranks {
		r := l.ranks[rank-d.cfg.FirstRank]
		if r.Comm, r.Number, r.Ranks = (native.Comm{}), keys[i], c.Ranks; i < len(comms) {
			r.Comm = comms[i]
		}
	}
	return err
}

// leave destroys the current communicators, and the streams of all lanes except the first.
func (d *Driver) leave() error {
	taken := d.deregister()
	given := d.give(d.library.FreeComm)
	freed := slice.Map(d.lanes[min(1, len(d.lanes)):], d.freeStreams)
	d.lanes = nil
	return errors.Join(taken, given, errors.Join(freed...))
}

// give() gives up every communicator by calling `up`, and forgets all of them.
func (d *Driver) give(up func(native.Comm) error) error {
	var errs []error
	for _, l := range d.lanes {
		for _, r := range l.ranks {
			if r.Comm != (native.Comm{}) {
				errs = append(errs, up(r.Comm))
				r.Comm = native.Comm{}
			}
		}
		errs = append(errs, slice.Map(l.split, up)...)
	}
	for i := range d.lanes {
		d.lanes[i].split = nil
	}
	return errors.Join(errs...)
}

// newBatch makes a batch of the ranks that are in the current communicators.
func (d *Driver) newBatch() error {
	d.batch = d.library.newBatch(d.local)
	d.batch.SetApart(!d.alone())
	d.batch.SetCalls(d.cfg.Calls)
	for i := range d.local {
		d.batch.SetRank(i, d.ranks[i].rank)
	}
	if d.functions != nil {
		d.batch.UseFunctions(d.functions)
	}
	return d.batch.MakeEvents()
}
