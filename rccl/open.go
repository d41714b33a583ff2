package rccl

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"zbench/bench/plan"
	"zbench/internal/native"
)

// Open loads the provider and opens the devices. Without other processes it also creates
// the communicator of all ranks. The error of a missing library or device wraps
// native.ErrUnavailable.
func Open(cfg Config) (*Driver, error) {
	p, err := native.Open(cfg.Native)
	if err != nil {
		return nil, err
	}
	if cfg.Graphs {
		if err := p.CanCapture(); err != nil {
			p.Close()
			return nil, err
		}
	}
	d := newDriver(cfg, p, provided{p})
	if err := d.open(); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// newDriver fills in the defaults of the configuration.
func newDriver(cfg Config, p *native.Provider, l library) *Driver {
	cfg.Deadlines = cfg.Deadlines.OrDefault()
	cfg.World = max(cfg.World, cfg.Ranks)
	return &Driver{cfg: cfg, provider: p, library: l, cache: cfg.CacheBytes, perLaunch: -1}
}

// open creates a stream for each rank, loads the kernels, and joins the ranks if there
// are no others.
func (d *Driver) open() error {
	if err := d.openRanks(); err != nil {
		return err
	}
	if d.alone() {
		if err := d.joinAlone(context.Background(), plan.Comms{Ranks: d.cfg.Ranks, Count: 1}); err != nil {
			if share := d.share(); share > 1 {
				return fmt.Errorf("%w: %d ranks on one GPU need NCCL 2.30 or newer, and NCCL_MULTI_RANK_GPU_ENABLE=1 in the environment", err, share)
			}
			return err
		}
	}
	devices := make([]int, len(d.ranks))
	for i, m := range d.ranks {
		devices[i] = m.rank.Device
	}
	d.functions, d.noKernels = d.provider.LoadFunctions(devices)
	return nil
}

// share is the number of ranks per device.
func (d *Driver) share() int { return max(d.cfg.RanksPerDevice, 1) }

// openRanks creates a stream for each rank on its device.
func (d *Driver) openRanks() error {
	have, err := d.provider.Devices()
	if err != nil {
		return err
	}
	ranks, share := d.cfg.Ranks, d.share()
	need := (ranks + share - 1) / share
	devices := slices.Clone(d.cfg.Devices)
	if devices == nil {
		for i := range need {
			devices = append(devices, i)
		}
	}
	if have == need { // all that this process sees: a launcher may show each process its own
		for i := range devices {
			devices[i] = i
		}
	}
	if need > len(devices) || slices.Max(devices) >= have {
		return fmt.Errorf("%s backend: %w: %d GPUs requested, %d visible", d.provider.Backend, native.ErrUnavailable, max(need, slices.Max(devices)+1), have)
	}
	for _, device := range devices[:need] {
		info, err := d.provider.Device(device)
		if err != nil {
			return err
		}
		d.devices = append(d.devices, info)
	}
	for i := range ranks {
		device := devices[i/share]
		stream, err := d.provider.NewStream(device)
		if err != nil {
			return err
		}
		d.ranks = append(d.ranks, member{rank: native.Rank{Device: device, Stream: stream}})
	}
	return nil
}
