// Package rccl runs collectives on librccl, on NCCL, or on the loopback that
// has their ABI: it holds one process's ranks with their communicators, streams
// and buffers, and times bursts of launches on them.
//
// The driver does not know which library is underneath. Behaviour that differs
// by collective is a row in bench/collective and in internal/native's table.
package rccl

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"

	"zbench/bench/plan"
	"zbench/internal/native"
)

// DefaultDeadline is how long a burst may take before it counts as hung, in
// seconds of the provider's clock. The first operation on a communicator of
// 1,024 ranks can take minutes to connect.
const DefaultDeadline = 180.0

// memoryShare is the part of a device's free memory the driver will take; the
// collectives library needs some for its channels.
const memoryShare = 0.9

// Config says what to open.
type Config struct {
	Native native.Options
	// Ranks is the number of ranks in this process, each on a device of its own.
	Ranks int
	// Deadline bounds one burst, in seconds; 0 means DefaultDeadline.
	Deadline float64
}

// Driver holds the ranks of this process. It implements plan.Driver.
type Driver struct {
	provider *native.Provider
	deadline float64
	ranks    []native.Rank
	batch    *native.Batch
}

// Open loads the provider and joins one communicator over Ranks devices. A
// missing library or device wraps native.ErrUnavailable.
func Open(cfg Config) (*Driver, error) {
	p, err := native.Open(cfg.Native)
	if err != nil {
		return nil, err
	}
	d := &Driver{provider: p, deadline: cfg.Deadline}
	if d.deadline <= 0 {
		d.deadline = DefaultDeadline
	}
	if err := d.join(cfg.Ranks); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// join makes a stream and a communicator for each rank.
func (d *Driver) join(ranks int) error {
	have, err := d.provider.Devices()
	if err != nil {
		return err
	}
	if ranks > have {
		return fmt.Errorf("%s backend: %w: %d GPUs asked for, %d visible", d.provider.Backend, native.ErrUnavailable, ranks, have)
	}
	devices := make([]int, ranks)
	for i := range devices {
		devices[i] = i
		stream, err := d.provider.NewStream(i)
		if err != nil {
			return err
		}
		d.ranks = append(d.ranks, native.Rank{Device: i, Stream: stream})
	}
	id, err := d.provider.NewUniqueID()
	if err != nil {
		return err
	}
	comms, err := d.provider.InitComms(id, ranks, 0, devices)
	for i, c := range comms {
		d.ranks[i].Comm = c
	}
	return err
}

// Simulated tells that a model decides the times.
func (d *Driver) Simulated() bool { return d.provider.Simulated }

// Libraries lists what was loaded.
func (d *Driver) Libraries() []native.Library { return d.provider.Libraries }

// Budget is the number of bytes that one rank's buffers may take: the least
// over the devices.
func (d *Driver) Budget() (int64, error) {
	least := int64(-1)
	for _, r := range d.ranks {
		free, _, err := d.provider.Memory(r.Device)
		if err != nil {
			return 0, err
		}
		if share := int64(float64(free) * memoryShare); least < 0 || share < least {
			least = share
		}
	}
	return least, nil
}

// Allocate gives every rank a send and a receive buffer that serve all cases
// that are not skipped. It is called once, before the first burst.
func (d *Driver) Allocate(cases []plan.Case) error {
	var send, recv int64
	for _, c := range cases {
		if c.Skip == "" {
			send, recv = max(send, c.Layout.SendBytes), max(recv, c.Layout.RecvBytes)
		}
	}
	for i := range d.ranks {
		r := &d.ranks[i]
		var err error
		if r.Send, err = d.provider.Alloc(r.Device, send); err != nil {
			return err
		}
		if r.Recv, err = d.provider.Alloc(r.Device, recv); err != nil {
			return err
		}
	}
	d.batch = d.provider.NewBatch(d.ranks)
	return nil
}

// Begin names the case, so that the loopback's noise depends on it alone.
func (d *Driver) Begin(c plan.Case) {
	h := fnv.New64a()
	_, _ = h.Write([]byte(c.Key)) // a hash never fails
	d.provider.BeginCase(h.Sum64())
}

// Burst launches the case iterations times on every rank and returns the
// seconds per launch of each.
func (d *Driver) Burst(ctx context.Context, c plan.Case, iterations int) ([]float64, error) {
	stop := context.AfterFunc(ctx, d.batch.Cancel)
	defer stop()
	seconds, err := d.batch.Burst(native.Launch{
		Collective: c.Collective.Name, Dtype: c.Dtype.Name, Op: c.Op,
		Count: c.Layout.Count, Iterations: iterations, Deadline: d.deadline,
	})
	if errors.Is(err, native.ErrCancelled) {
		return nil, context.Cause(ctx)
	}
	return seconds, err
}

// Close gives everything back. After a failed burst some calls may fail too;
// all are tried.
func (d *Driver) Close() error {
	var errs []error
	if d.batch != nil {
		d.batch.Close()
		d.batch = nil
	}
	for _, r := range d.ranks {
		if r.Comm != (native.Comm{}) {
			errs = append(errs, d.provider.FreeComm(r.Comm))
		}
		errs = append(errs, d.provider.FreeStream(r.Stream))
		for _, b := range []native.Buffer{r.Send, r.Recv} {
			if b.Bytes > 0 {
				errs = append(errs, d.provider.Free(b))
			}
		}
	}
	d.ranks = nil
	d.provider.Close()
	return errors.Join(errs...)
}
