// Package rccl runs collectives on librccl, on NCCL, or on the loopback, which has the same ABI. It
// holds the ranks of one process with their communicators, streams and buffers, and times launches
// on them.
//
// The driver does not know the library underneath. Differences between collectives are in rows of
// bench/hardware/collective and of internal/native's table.
package rccl

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"zbench/bench/base/stat"
	"zbench/bench/hardware/policy"
	"zbench/bench/run/plan"
	"zbench/bench/run/record"
	"zbench/internal/native"
)

// Config describes what to open.
type Config struct {
	Native native.Choice
	// Ranks is the number of ranks in this process.
	Ranks int
	// FirstRank is the world rank of this process's first rank. Errors and evidence use world
	// ranks.
	FirstRank int
	// World is the number of ranks in all processes; 0 means that there are only
	// this process's Ranks. If the process has only a share of the world, it joins
	// no communicator before Join. The ids for Join come from the leader.
	World int
	// Devices are the devices of the ranks, by the runtime's numbers, in the order
	// of the ranks; nil means 0, 1, 2, …
	Devices []int
	// RanksPerDevice is the number of ranks that share a device; 0 means 1.
	// NCCL supports more than 1 from 2.30 on, with
	// NCCL_MULTI_RANK_GPU_ENABLE=1.
	RanksPerDevice int
	// Deadlines limit calls that can hang. A zero deadline means its default.
	Deadlines plan.Deadlines
	// CacheBytes is the size of the device's last-level cache. Buffers rotate over
	// at least twice as much, so that no launch finds its data in the cache. 0
	// disables rotation.
	CacheBytes int64
	// VerifyBudget limits verification on devices that are simulated in host memory: a
	// case is verified whole only if the buffers of all ranks take at most this many
	// bytes.
	VerifyBudget int64
	// Seed determines the data of a verification.
	Seed uint64
	// Calls says how the libraries are called.
	Calls policy.Calls
	// Log returns what the library has logged. The result `known` is false if the library does not
	// log how it runs collectives. A nil Log counts as `known` = false.
	Log func() (text []byte, known bool)
}

// Driver holds the ranks of this process. It implements plan.Process.
type Driver struct {
	cfg       Config
	provider  *native.Provider
	functions *native.Functions
	// noKernels is the reason why kernels cannot be used; nil if they can.
	noKernels error
	ranks     []member
	devices   []native.DeviceInfo
	// library makes the calls that join ranks and launch on them: the provider, except in tests.
	library library
	// lanes are the current communicators. A case uses the first lane. `local` is the number of
	// this process's ranks in that lane.
	lanes []lane
	local int
	batch launcher
	arena int64 // size of each rank's arena in bytes
	// inLibrary is true if the library allocated the arenas.
	inLibrary bool
	// registration is how long the last Begin took to register arenas, in seconds.
	registration float64
	// `logged` is the length of the library's log when the current case began.
	logged int
	// cache is the number of bytes to rotate over, as agreed by all processes.
	cache  int64
	floor  float64
	work   native.Work
	hold   float64
	bursts []float64
	// `compute` has the computation stream of each rank. `plays` has the steps by their setting.
	// `works` has the launches of their computation. All three are empty before the first step.
	// `staged` is true if a step has messages.
	staged  bool
	compute []native.Stream
	plays   map[int]*native.Play
	works   map[plan.StepDo]*work
	// perLaunch is the expected time of a launch of the case in seconds, from earlier launches. It
	// is negative before the first launch of a collective on its communicators. `kind` is that
	// collective; `bytes` is the size to which the expectation applies.
	perLaunch float64
	kind      string
	bytes     int64
	// `broken` is true after a failed batch or init. Communicators are then aborted instead of
	// destroyed.
	broken bool
	// `inside` is the number of calls into libraries that have not returned.
	inside atomic.Int32
}

// A batch of isolated launches needs events for plan.MaxBatch launches; this fails to compile if
// there are too few.
const _ = uint(native.MaxIsolated - plan.MaxBatch)

// member is one rank with its resources.
type member struct {
	rank  native.Rank
	arena native.Buffer
	// filler is the stream that fills the send buffer, in cases whose data come from another
	// stream. plain and urgent are the streams of launches; the case decides which one rank uses.
	filler, plain, urgent native.Stream
}

// lane is a set of communicators that hold ranks at the same time, with a stream per rank for its
// messages. The list `ranks` has this process's ranks. In the first lane they are the members'
// ranks, with their buffers.
type lane struct {
	comms plan.Comms
	ranks []*native.Rank
	// `split` has the ranks' communicators that were split into the lane's; empty without a split.
	split []native.Comm
	// `registered` has the arenas that are registered with the lane's communicators.
	registered []native.Registration
}

// comms returns the communicators of the current case.
func (d *Driver) comms() plan.Comms {
	if len(d.lanes) == 0 {
		return plan.Comms{}
	}
	return d.lanes[0].comms
}

// Simulated reports whether the times come from a model.
func (d *Driver) Simulated() bool { return d.provider.Simulated }

// Fired returns how often planted data faults have changed data in the world so far; 0 on hardware.
func (d *Driver) Fired() int { return d.provider.Fired() }

// Extrapolated reports whether a case's times come from parts of the model that
// were not measured.
func (d *Driver) Extrapolated(c plan.Case) bool {
	return d.provider.Extrapolated(c.Collective.Name, c.Ranks, c.Split.Stride)
}

// Devices returns the devices of the ranks, in the order of the ranks.
func (d *Driver) Devices() []native.DeviceInfo { return d.devices }

// Visible lists the GPUs that the runtime shows to this process.
func (d *Driver) Visible() ([]native.DeviceInfo, error) {
	n, err := d.provider.Devices()
	var all []native.DeviceInfo
	for i := range n {
		info, failed := d.provider.Device(i)
		if failed != nil {
			return nil, failed
		}
		all = append(all, info)
	}
	return all, err
}

// DeviceMemory returns the memory size of the first rank's device, in bytes. It fails after Close,
// which a signal may call on another goroutine.
func (d *Driver) DeviceMemory() (int64, error) {
	defer d.enter()() // so that Close frees nothing meanwhile
	if len(d.ranks) == 0 {
		return 0, errors.New("the ranks were closed before they were asked for their memory")
	}
	_, total, err := d.library.Memory(d.ranks[0].rank.Device)
	return total, err
}

// Libraries returns the loaded libraries.
func (d *Driver) Libraries() []record.Library { return d.provider.Libraries }

// Begin sets every rank's buffers for the case. If this process has the whole world, it first joins
// the case's communicators; a share of the world must already have joined them. Begin passes the
// case and the number of the pass to the loopback, so that the noise depends only on them.
func (d *Driver) Begin(c plan.Case, pass int) error {
	defer d.enter()()
	if comms := c.Comms(); comms != d.comms() {
		if !d.alone() {
			return fmt.Errorf("the ranks have not joined the communicators of %s", c.Key)
		}
		if err := d.joinAlone(context.Background(), comms, d.Join); err != nil {
			return err
		}
	}
	d.registration = 0
	err := d.register(&d.lanes[0])
	if err == nil {
		err = d.openStreams(c)
	}
	if err != nil {
		return err
	}
	d.expect(c)
	d.library.BeginCase(plan.CaseSeed(c.Key, pass))
	d.place(c)
	if d.work.Load, err = d.workOf(c.Way.Beside); err != nil {
		return err
	}
	d.work.LoadOn = d.compute[:len(d.work.Load)]
	if c.Policy != (policy.Policy{}) {
		text, _ := d.log()
		d.logged = len(text)
	}
	d.hold = firstHold * float64(min(d.comms().Active(), max(c.GPUsPerProcess, 1)*d.share()))
	return d.batch.SetWork(d.work, d.deadline(1))
}

// WarmUp launches the case back to back. It returns the seconds per launch of each rank, which
// include the marks.
func (d *Driver) WarmUp(ctx context.Context, launches int) ([]float64, error) {
	if d.local == 0 {
		return nil, nil
	}
	defer d.enter()()
	defer context.AfterFunc(ctx, d.batch.Cancel)()
	d.batch.SetDeadline(d.deadline(launches))
	seconds, err := d.batch.WarmUp(launches)
	d.took(seconds, err)
	return seconds, d.ended(ctx, record.DuringWarmUp, err)
}

// Burst runs bursts and returns the seconds per launch, ordered by burst and then rank.
func (d *Driver) Burst(ctx context.Context, b plan.Bursts) ([]float64, error) {
	if d.local == 0 {
		return nil, nil
	}
	defer d.enter()()
	defer context.AfterFunc(ctx, d.batch.Cancel)()
	n := b.Count * d.local
	d.bursts = slices.Grow(d.bursts[:0], n)[:n]
	d.batch.SetDeadline(d.deadline(b.Launches()))
	err := d.batch.Bursts(d.bursts, b.Iterations, b.Replays)
	d.took(d.bursts, err)
	if err != nil {
		return nil, d.ended(ctx, record.DuringBurst, err)
	}
	return d.bursts, nil
}

// firstHold is how long the delay kernel holds the streams in the first batch of a case, in seconds
// per launch and per local rank, because the enqueue time is not known yet. Later it holds them for
// holdMargin times the enqueue time.
const (
	firstHold  = 30e-6
	holdMargin = 1.5
)

// Isolated times launches one at a time, at most plan.MaxBatch of them. It returns their times in
// seconds, ordered by launch and then by rank.
func (d *Driver) Isolated(ctx context.Context, n int) ([]float64, error) {
	return d.isolated(ctx, record.DuringIsolated, n)
}

func (d *Driver) isolated(ctx context.Context, during string, n int) ([]float64, error) {
	if d.local == 0 {
		return nil, nil
	}
	defer d.enter()()
	defer context.AfterFunc(ctx, d.batch.Cancel)()
	d.batch.SetDeadline(d.deadline(n) + d.hold*float64(n))
	seconds, err := d.batch.Isolated(n, d.hold*float64(n))
	d.took(seconds, err)
	if err == nil {
		d.hold = holdMargin * d.batch.EnqueueSeconds() / float64(n)
	}
	return seconds, d.ended(ctx, during, err)
}

// NextHold returns how long the next isolated launches will be held, in seconds per launch; 0 if
// this process has no rank in the case.
func (d *Driver) NextHold() float64 {
	if d.local == 0 {
		return 0
	}
	return d.hold
}

// SetHold replaces the value of NextHold. All processes hold as long as the slowest host needs.
func (d *Driver) SetHold(seconds float64) { d.hold = seconds }

// Held reports whether all launches of the last Isolated were enqueued before the first
// of them started.
func (d *Driver) Held() bool { return d.local == 0 || d.batch.Held() }

// EventFloor returns the median interval of an empty pair of events, in seconds.
func (d *Driver) EventFloor() float64 { return d.floor }

// measureFloor times empty pairs of events, once. The all_reduce that aligns the ranks
// is the first launch on their communicator, so a rank that cannot connect hangs here.
func (d *Driver) measureFloor(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	defer context.AfterFunc(ctx, d.batch.Cancel)()
	if err := d.batch.SetWork(native.Work{Collective: "all_reduce", Dtype: "float", Op: "sum", Count: 1, Slots: 1}, d.cfg.Deadlines.First); err != nil {
		return err
	}
	pairs, err := d.batch.EventFloor(native.MaxIsolated)
	if err != nil {
		return fmt.Errorf("the first launches on a communicator of %d ranks: %w", d.comms().Ranks, d.ended(ctx, record.DuringIsolated, err))
	}
	d.floor = stat.Quantile(pairs, 0.5)
	return nil
}
