// Package rccl runs collectives on librccl, on NCCL, or on the loopback with the same ABI: it holds
// one process's ranks with their communicators, streams and buffers, and times launches on them.
//
// The driver does not know the library underneath. Behaviour that differs by collective is a row in
// bench/hardware/collective and in internal/native's table.
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
	// FirstRank is the world rank of the first of them: errors and evidence use world ranks.
	FirstRank int
	// World is the number of ranks of all processes; 0 means Ranks: there are no others.
	// A share of the world joins no communicator before Join, to which the leader
	// brings the ids.
	World int
	// Devices are the devices of the ranks, by the runtime's numbers, in order; nil
	// means from 0 on.
	Devices []int
	// RanksPerDevice is the number of ranks that share a device; 0 means one. NCCL
	// supports more from 2.30 on, with NCCL_MULTI_RANK_GPU_ENABLE=1.
	RanksPerDevice int
	// Deadlines bound calls that can hang; zeros are the defaults.
	Deadlines plan.Deadlines
	// CacheBytes is the size of the device's last-level cache: buffers rotate over at
	// least twice as much, so that no launch finds its data in the cache. 0 disables
	// rotation.
	CacheBytes int64
	// VerifyBudget is the most bytes of all ranks' buffers for which a case is verified
	// if the devices are simulated in host memory.
	VerifyBudget int64
	// Seed determines the verification's data.
	Seed uint64
	// Graphs is true if bursts will be captured and replayed.
	Graphs bool
	// Log returns what the library has logged; false if its lines of tuning are not logged, or elsewhere. Nil is that, too.
	Log func() (text []byte, known bool)
}

// Driver holds the ranks of this process. It implements plan.Process.
type Driver struct {
	cfg       Config
	provider  *native.Provider
	functions *native.Functions
	// noKernels is the reason if there are none.
	noKernels error
	ranks     []member
	devices   []native.DeviceInfo
	// library joins ranks and launches on them: the provider.
	library library
	// lanes are the current communicators. A case uses the first lane; local is the number of this
	// process's ranks in it.
	lanes []lane
	local int
	batch launcher
	arena int64 // bytes of each rank's
	// inLibrary is true if the library has allocated the arenas.
	inLibrary bool
	// registration is what the last Begin took to register arenas, in seconds.
	registration float64
	// logged is the length of the library's log before the current case.
	logged int
	// cache is the one to rotate over that all processes agreed on, in bytes.
	cache  int64
	floor  float64
	work   native.Work
	hold   float64
	bursts []float64
	// compute are the ranks' streams of computation, plays the steps by setting, works their
	// computation's launches; none before the first. staged is true if a step has messages.
	staged  bool
	compute []native.Stream
	plays   map[int]*native.Play
	works   map[plan.StepDo]*work
	// perLaunch is the expected time of a launch of the case, in seconds, from earlier launches;
	// negative before the first of a collective on its communicators. kind is that collective,
	// bytes the size of the expectation.
	perLaunch float64
	kind      string
	bytes     int64
	// broken is true after a failed batch or init: communicators are then aborted.
	broken bool
	// inside counts the calls of libraries that have not returned.
	inside atomic.Int32
}

// The number of isolated launches in a batch that have events.
const _ = uint(native.MaxIsolated - plan.MaxBatch)

// member is one rank with its resources.
type member struct {
	rank  native.Rank
	arena native.Buffer
	// filler is the stream that fills its send buffer in cases whose data come from another stream.
	filler native.Stream
}

// lane is a set of communicators that hold ranks at once, each with a stream for its messages.
// ranks belong to this process; those of the first lane are the members', with their buffers.
type lane struct {
	comms plan.Comms
	ranks []*native.Rank
	// registered are the arenas on its communicators.
	registered []native.Registration
}

// comms returns the communicators of a case.
func (d *Driver) comms() plan.Comms {
	if len(d.lanes) == 0 {
		return plan.Comms{}
	}
	return d.lanes[0].comms
}

// Simulated reports whether a model decides the times.
func (d *Driver) Simulated() bool { return d.provider.Simulated }

// Fired returns how often planted data faults have changed data in the world so far; 0 on hardware.
func (d *Driver) Fired() int { return d.provider.Fired() }

// Extrapolated reports whether the model of a case's times has parts without
// measurements.
func (d *Driver) Extrapolated(c plan.Case) bool {
	return d.provider.Extrapolated(c.Collective.Name, c.Ranks, c.Split.Stride)
}

// Devices lists the devices that the ranks are on, in their order.
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

// DeviceMemory returns the size of the first rank's device memory, in bytes. It fails after Close, which a
// signal calls while another goroutine asks.
func (d *Driver) DeviceMemory() (int64, error) {
	defer d.enter()() // Close then frees nothing
	if len(d.ranks) == 0 {
		return 0, errors.New("the ranks were closed before they were asked for their memory")
	}
	_, total, err := d.library.Memory(d.ranks[0].rank.Device)
	return total, err
}

// Libraries lists the loaded libraries.
func (d *Driver) Libraries() []record.Library { return d.provider.Libraries }

// Begin sets every rank's buffers for the case. A single process first joins the case's
// communicators; a share of the world must have joined them. It passes case and pass to the
// loopback, so that its noise only depends on them.
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
		err = d.openFillers(c)
	}
	if err != nil {
		return err
	}
	d.expect(c)
	d.library.BeginCase(plan.CaseSeed(c.Key, pass))
	d.place(c)
	if c.Policy != (policy.Policy{}) {
		text, _ := d.log()
		d.logged = len(text)
	}
	d.hold = firstHold * float64(min(d.comms().Active(), max(c.GPUsPerProcess, 1)*d.share()))
	return d.batch.SetWork(d.work, d.deadline(1))
}

// WarmUp launches the case back to back and returns the seconds per launch by rank, marks included.
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

// Burst runs bursts and returns the seconds per launch by burst × rank.
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

// firstHold is the hold of the delay kernel in the first batch of a case, in seconds per launch and
// per local rank, before the enqueue time is known. Later holds are holdMargin times the enqueue
// time.
const (
	firstHold  = 30e-6
	holdMargin = 1.5
)

// Isolated runs isolated launches, at most plan.MaxBatch, and returns the seconds by
// launch × rank.
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

// NextHold returns the hold of the next isolated launches, in seconds per launch; 0 without ranks
// in the case.
func (d *Driver) NextHold() float64 {
	if d.local == 0 {
		return 0
	}
	return d.hold
}

// SetHold replaces it: all processes hold as long as the slowest host needs.
func (d *Driver) SetHold(seconds float64) { d.hold = seconds }

// Held reports whether all launches of the last Isolated were enqueued before the first
// of them started.
func (d *Driver) Held() bool { return d.local == 0 || d.batch.Held() }

// EventFloor returns the median interval of an empty pair of events.
func (d *Driver) EventFloor() float64 { return d.floor }

// measureFloor times empty event pairs, once. The all_reduce that aligns the ranks is
// the first launch on their communicator: a rank that cannot connect hangs here.
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
