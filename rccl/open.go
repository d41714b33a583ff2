package rccl

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"zbench/bench/base/slice"
	"zbench/bench/run/plan"
	"zbench/bench/run/record"
	"zbench/internal/native"
)

// Open loads the provider and opens the devices. If this process has the whole world, it
// also makes the communicator of all ranks. If a library or device is missing, the error
// wraps native.ErrUnavailable.
func Open(cfg Config) (*Driver, error) {
	p, err := native.Open(cfg.Native)
	if err != nil {
		return nil, err
	}
	if err := p.CanCall(cfg.Calls); err != nil {
		p.Close()
		return nil, err
	}
	d := newDriver(cfg, p, provided{p})
	if err := d.open(); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// newDriver returns a driver with the defaults of the configuration filled in.
func newDriver(cfg Config, p *native.Provider, l library) *Driver {
	cfg.Deadlines = cfg.Deadlines.OrDefault()
	cfg.World = max(cfg.World, cfg.Ranks)
	return &Driver{cfg: cfg, provider: p, library: l, cache: cfg.CacheBytes, perLaunch: -1}
}

// open makes a stream for each rank and loads the kernels. If this process has the whole
// world, it also joins the ranks.
func (d *Driver) open() error {
	if err := d.openRanks(); err != nil {
		return err
	}
	if d.alone() {
		if err := d.joinAlone(context.Background(), plan.Comms{Ranks: d.cfg.Ranks, Count: 1}, d.Join); err != nil {
			if share := d.share(); share > 1 {
				return fmt.Errorf("%w: %d ranks on one GPU need NCCL 2.30 or newer, and NCCL_MULTI_RANK_GPU_ENABLE=1 in the environment", err, share)
			}
			return err
		}
	}
	devices := slice.Map(d.ranks, func(m member) int { return m.rank.Device })
	d.functions, d.noKernels = d.provider.LoadFunctions(devices)
	return nil
}

// share returns the number of ranks per device.
func (d *Driver) share() int { return max(d.cfg.RanksPerDevice, 1) }

// The type opened has the ranks and devices that were opened.
type opened struct {
	ranks   []member
	devices []native.DeviceInfo
	err     error
}

// openRanks makes a stream for each rank on its device. If a call of the runtime does not return,
// its thread is left to the end of the process, and the error names the rank.
func (d *Driver) openRanks() error {
	var at atomic.Int32
	leave, deadline := d.enter(), d.cfg.Deadlines.Init
	o, ended := within(context.Background(), seconds(deadline), func() opened {
		defer leave() // counted before the caller can close the driver
		return d.openEach(&at)
	})
	if !ended {
		return d.unopened(int(at.Load()), deadline)
	}
	d.ranks, d.devices = o.ranks, o.devices
	return o.err
}

// unopened() returns the error if the deadline passes while a rank is being opened.
func (d *Driver) unopened(at int, deadline float64) error {
	e := &record.Evidence{During: record.DuringOpen, Deadline: &deadline, Iterations: 1}
	ranks := make([]record.RankProgress, d.cfg.Ranks)
	for i := range ranks {
		switch {
		case i/d.share() == at/d.share():
			ranks[i] = record.RankProgress{Failed: true, Error: "its GPU's runtime does not answer"}
		case i < at:
			ranks[i] = record.RankProgress{Enqueued: 1, Started: 1, Ended: 1, Finished: true}
		}
	}
	e.SetRanksFrom(d.cfg.FirstRank, ranks)
	return &unended{text: fmt.Sprintf("opening the GPU of rank %d: not finished at the deadline of %g s", d.cfg.FirstRank+at, deadline), evidence: e}
}

// openEach opens the ranks one after the other. It stores the number of the current rank in `at`.
func (d *Driver) openEach(at *atomic.Int32) (o opened) {
	have, err := d.provider.Devices()
	if err != nil {
		return opened{err: err}
	}
	ranks, share := d.cfg.Ranks, d.share()
	need := (ranks + share - 1) / share
	devices := slices.Clone(d.cfg.Devices)
	if devices == nil {
		for i := range need {
			devices = append(devices, i)
		}
	}
	if have == need { // take all devices that this process sees, because a launcher may show each process only its own
		devices = slice.Numbers(have)
	}
	if need > len(devices) || slices.Max(devices) >= have {
		o.err = fmt.Errorf("%s backend: %w: %d GPUs requested, %d visible", d.provider.Backend, native.ErrUnavailable, max(need, slices.Max(devices)+1), have)
		return o
	}
	for i := range ranks {
		at.Store(int32(i)) //nolint:gosec // a rank
		device := devices[i/share]
		if i%share == 0 {
			info, err := d.provider.Device(device)
			if err != nil {
				o.err = err
				return o
			}
			o.devices = append(o.devices, info)
		}
		stream, err := d.provider.NewStream(device, d.cfg.Calls.Mask()...)
		if err != nil {
			o.err = err
			return o
		}
		o.ranks = append(o.ranks, member{rank: native.Rank{Device: device, Stream: stream}, plain: stream})
	}
	return o
}

// openStreams makes the streams of a case that the ranks do not have yet.
func (d *Driver) openStreams(c plan.Case) (err error) {
	for i := range d.ranks {
		m := &d.ranks[i]
		if c.Way.Apart && m.filler == (native.Stream{}) && err == nil {
			m.filler, err = d.provider.NewStream(m.rank.Device)
		}
		if c.Way.Urgent && m.urgent == (native.Stream{}) && err == nil {
			m.urgent, err = d.provider.NewUrgentStream(m.rank.Device)
		}
	}
	return err
}
