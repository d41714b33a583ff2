package rccl

import (
	"context"
	"errors"

	"zbench/bench/hardware/collective"
	"zbench/bench/hardware/policy"
	"zbench/bench/run/plan"
	"zbench/internal/native"
)

// memoryShare is the share of a device's free memory that the driver uses. The
// collectives library needs the rest for its channels.
const memoryShare = 0.9

// Budget returns the memory for one rank's arena: the smallest over the devices. The
// memory of existing arenas counts as free, because they are freed before larger ones
// are allocated.
func (d *Driver) Budget() (plan.Room, error) {
	defer d.enter()()
	room := plan.Room{Bytes: -1, Cache: d.cfg.CacheBytes}
	share := d.share()
	for i := 0; i < len(d.ranks); i += share {
		free, _, err := d.library.Memory(d.ranks[i].rank.Device)
		if err != nil {
			return room, err
		}
		for _, m := range d.ranks[i:min(i+share, len(d.ranks))] {
			free += m.arena.Bytes
		}
		if one := int64(float64(free) * memoryShare / float64(share)); room.Bytes < 0 || one < room.Bytes {
			room.Bytes = one
		}
	}
	return room, nil
}

// RotateOver sets the size of the device's last-level cache in bytes, if it was unknown when the
// device was opened. Call it before Budget.
func (d *Driver) RotateOver(cache int64) { d.cfg.CacheBytes = cache }

// Allocate allocates an arena of exactly room.Bytes for every rank. From then on buffers rotate
// over room.Cache. It is called before the first case, and again when cases are added; arenas only
// grow. The first call connects the ranks. It stops if the context is cancelled.
func (d *Driver) Allocate(ctx context.Context, room plan.Room) error {
	defer d.enter()()
	first := d.batch == nil
	d.cache = room.Cache
	need := max(d.arena, room.Bytes, plan.ArenaHead)
	if !first && need == d.arena && room.Library == d.inLibrary {
		return nil
	}
	d.arena, d.inLibrary = need, room.Library
	if !first {
		if err := d.free(); err != nil {
			return err
		}
	}
	for i := range d.ranks {
		m := &d.ranks[i]
		alloc := d.library.Alloc
		switch {
		case room.Library:
			alloc = d.library.AllocLibrary
		case d.cfg.Calls.MemoryType == policy.Fine:
			alloc = d.library.AllocFine
		}
		arena, err := alloc(m.rank.Device, need)
		if err != nil {
			return err
		}
		m.arena = arena
		m.rank.Sync, m.rank.Found = m.at(0), m.at(plan.Align)
		m.rank.Send, m.rank.Recv = m.at(0), m.at(0)
	}
	if !first {
		return nil // the next Begin sets the ranks' buffers
	}
	if err := d.newBatch(); err != nil {
		return err
	}
	return d.measureFloor(ctx)
}

// free frees all arenas, even after an error.
func (d *Driver) free() error {
	errs := []error{d.deregister()}
	for i := range d.ranks {
		m := &d.ranks[i]
		if m.arena.Bytes > 0 {
			errs = append(errs, d.library.Free(m.arena))
		}
		m.arena = native.Buffer{}
	}
	return errors.Join(errs...)
}

// at() returns the address at an offset of the rank's arena.
func (m *member) at(offset int64) native.Address {
	return native.Address{Buffer: m.arena, Offset: offset}
}

// place sets the buffers of every rank for the case.
func (d *Driver) place(c plan.Case) {
	l, p := c.Layout, c.Places(d.cache)
	for i := range d.local {
		m := &d.ranks[i]
		m.rank.Send, m.rank.Recv = m.at(p.Send), m.at(p.Recv)
		if c.InPlace {
			m.rank.Send, m.rank.Recv = m.inPlace(c, p)
		}
		m.rank.FilledOn, m.rank.Stream = native.Stream{}, m.plain
		if c.Way.Apart {
			m.rank.FilledOn = m.filler
		}
		if c.Way.Urgent {
			m.rank.Stream = m.urgent
		}
		d.batch.SetRank(i, m.rank)
	}
	d.work = native.Work{
		Collective: c.Collective.Name, Dtype: c.Dtype.Name, Op: c.Op, Root: c.Root, Count: l.Count,
		Slots: p.Slots, SendStride: p.SendStride, RecvStride: p.RecvStride, Places: c.SendPlaces(),
		AtOnce: c.Way.AtOnce, FromHost: c.Way.Copied, Captured: c.Way.Captured,
	}
}

// inPlace returns the send and receive addresses of an in-place call. In an all_gather the send
// buffer is the rank's share of the receive buffer; in a reduce_scatter it is the other way round.
func (m *member) inPlace(c plan.Case, p plan.Places) (send, recv native.Address) {
	share := int64(m.rank.Number) * c.Layout.Count * int64(c.Dtype.Size)
	switch c.Collective.InPlace {
	case collective.SendInRecv:
		return m.at(p.Send + share), m.at(p.Recv)
	case collective.RecvInSend:
		return m.at(p.Send), m.at(p.Recv + share)
	case collective.Same, collective.Never:
	}
	return m.at(p.Send), m.at(p.Recv)
}
