package rccl

import (
	"context"
	"errors"

	"zbench/bench/collective"
	"zbench/bench/plan"
	"zbench/internal/native"
)

const (
	// memoryShare is the part of a device's free memory the driver will take; the
	// collectives library needs some for its channels.
	memoryShare = 0.9
	// align is what every slot begins on, in bytes: a page of the device's caches
	// and more than any library's widest access.
	align = 512
	// cacheFactor is how many times the last level of cache buffers rotate over.
	cacheFactor = 2
)

// Budget is the number of bytes that one rank's buffers may take: the least
// over the devices.
func (d *Driver) Budget() (int64, error) {
	least := int64(-1)
	for _, m := range d.ranks {
		free, _, err := d.provider.Memory(m.rank.Device)
		if err != nil {
			return 0, err
		}
		share := int64(float64(free) * memoryShare / float64(max(d.cfg.RanksPerDevice, 1)))
		if least < 0 || share < least {
			least = share
		}
	}
	return least, nil
}

// RotateOver says how large the device's last level of cache is, in bytes, when
// that was not known before it was opened. Before Allocate.
func (d *Driver) RotateOver(cache int64) { d.cfg.CacheBytes = cache }

// Allocate gives every rank a send and a receive buffer that serve all cases
// that are not skipped, large enough for launches to rotate over. It is called
// before the first case, and again when cases were added: buffers only grow. The
// first time ranks connect, which a cancelled context ends.
func (d *Driver) Allocate(ctx context.Context, cases []plan.Case) error {
	first := d.batch == nil
	send, recv := max(d.send, cacheFactor*d.cfg.CacheBytes), max(d.recv, cacheFactor*d.cfg.CacheBytes)
	for _, c := range cases {
		if c.Skip == "" {
			send, recv = max(send, slot(c.Layout.SendBytes)), max(recv, slot(c.Layout.RecvBytes))
		}
	}
	if !first && send == d.send && recv == d.recv {
		return nil
	}
	d.send, d.recv = send, recv
	if !first {
		if err := d.free(); err != nil {
			return err
		}
	}
	for i := range d.ranks {
		m := &d.ranks[i]
		for _, want := range []struct {
			to    *native.Buffer
			bytes int64
		}{{&m.send, d.send}, {&m.recv, d.recv}, {&m.sync, align}, {&m.found, align}} {
			b, err := d.provider.Alloc(m.rank.Device, want.bytes)
			if err != nil {
				return err
			}
			*want.to = b
		}
		m.rank.Sync, m.rank.Found = m.sync, m.found
		m.rank.Send, m.rank.Recv = native.Address{Buffer: m.send}, native.Address{Buffer: m.recv}
	}
	if !first {
		return nil // the next Begin points the ranks at the buffers
	}
	if err := d.newBatch(); err != nil {
		return err
	}
	return d.measureFloor(ctx)
}

// free gives the buffers back; all are tried.
func (d *Driver) free() error {
	var errs []error
	for i := range d.ranks {
		m := &d.ranks[i]
		for _, b := range []*native.Buffer{&m.send, &m.recv, &m.sync, &m.found} {
			if b.Bytes > 0 {
				errs = append(errs, d.provider.Free(*b))
			}
			*b = native.Buffer{}
		}
	}
	return errors.Join(errs...)
}

func slot(bytes int64) int64 { return (bytes + align - 1) / align * align }

// place points every rank at the case's buffers. Out of place there are two; in
// place one lies in the other, at the rank's share where the collective has
// shares. Slots follow each other in both.
func (d *Driver) place(c plan.Case) {
	l := c.Layout
	sendStride, recvStride := slot(l.SendBytes), slot(l.RecvBytes)
	slots := min(d.send/sendStride, d.recv/recvStride)
	if c.InPlace {
		both := max(sendStride, recvStride)
		room := d.recv
		if c.Collective.InPlace == collective.RecvInSend {
			room = d.send
		}
		sendStride, recvStride, slots = both, both, room/both
	}
	if d.cfg.CacheBytes == 0 {
		slots = 1
	}
	for i := range d.active {
		m := &d.ranks[i]
		m.rank.Send, m.rank.Recv = native.Address{Buffer: m.send}, native.Address{Buffer: m.recv}
		if c.InPlace {
			m.rank.Send, m.rank.Recv = m.inPlace(c)
		}
		d.batch.SetRank(i, m.rank)
	}
	d.work = native.Work{
		Collective: c.Collective.Name, Dtype: c.Dtype.Name, Op: c.Op, Count: l.Count,
		Slots: max(slots, 1), SendStride: sendStride, RecvStride: recvStride,
	}
}

// inPlace is where the two buffers lie when they are one.
func (m *member) inPlace(c plan.Case) (send, recv native.Address) {
	share := int64(m.rank.Number) * c.Layout.Count * int64(c.Dtype.Size)
	switch c.Collective.InPlace {
	case collective.SendInRecv:
		return native.Address{Buffer: m.recv, Offset: share}, native.Address{Buffer: m.recv}
	case collective.RecvInSend:
		return native.Address{Buffer: m.send}, native.Address{Buffer: m.send, Offset: share}
	case collective.Same, collective.Never:
	}
	return native.Address{Buffer: m.recv}, native.Address{Buffer: m.recv}
}
