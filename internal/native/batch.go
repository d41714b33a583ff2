package native

/*
#include <stdlib.h>
#include "c/loop.h"
#include "c/shim.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"unsafe"

	"zbench/bench/hardware/policy"
)

// Element types and operators by zbench's names. The values are from ncclDataType_t and
// ncclRedOp_t, which are equal in RCCL and NCCL.
var (
	dtypeCodes = map[string]C.int32_t{
		"int8": 0, "uint8": 1, "int32": 2, "uint32": 3, "int64": 4, "uint64": 5,
		"half": 6, "float": 7, "double": 8, "bfloat16": 9, "f8e4m3": 10, "f8e5m2": 11,
	}
	opCodes = map[string]C.int32_t{"": 0, "sum": 0, "prod": 1, "max": 2, "min": 3, "avg": 4, "mulsum": C.ZB_MULSUM}
)

// The errors of a batch that ended without a result.
var (
	ErrDeadline  = errors.New("not finished at the deadline")
	ErrCancelled = errors.New("cancelled")
	ErrAsync     = errors.New("asynchronous error")
)

// MaxIsolated is the largest number of launches in a batch of isolated timing.
const MaxIsolated = 64

// Rank holds the resources of one local rank that a batch uses.
type Rank struct {
	Device int
	// Number is the rank's number in its communicator; Ranks is the communicator's number of ranks.
	Number, Ranks int
	Comm          Comm
	Stream        Stream
	// FilledOn is the stream on which a verification fills the buffers. The zero value means the
	// rank's own Stream.
	FilledOn Stream
	// Send and Recv are the starts of the buffers of slot 0. They overlap if the call is in place.
	Send, Recv Address
	// Sync is the 8-byte buffer of the all_reduce that aligns the ranks; Found is
	// the 32-byte buffer for the result of a check.
	Sync, Found Address
}

// Exchange is the name of a Work in which every rank sends to one peer and receives from one peer,
// as set by SetPeers. It is not a collective.
const Exchange = "exchange"

// Address is an address in a buffer.
type Address struct {
	Buffer Buffer
	Offset int64
}

func (a Address) ptr() *C.char { return (*C.char)(unsafe.Add(a.Buffer.ptr, a.Offset)) }

// Work describes a batch's launches on every rank.
type Work struct {
	// Collective, Dtype and Op are zbench's names. Op is empty for a collective without an
	// operator.
	Collective, Dtype, Op string
	Root                  int
	// Count is the number of elements that is passed to the call.
	Count int64
	// Slots is the number of buffer positions, which launches use in turn.
	// SendStride and RecvStride are the distances between two positions in
	// bytes.
	Slots, SendStride, RecvStride int64
	// Places are the positions in the send buffer where each rank's data starts, and where the
	// last rank's data ends, in elements. They are nil for a collective that is not Uneven.
	Places []int64
	// AtOnce is true if a verification launches the collective right after it fills the buffers,
	// without a host wait between.
	AtOnce bool
	// FromHost is true if the data of an AtOnce launch are copied from the host instead of written
	// by a kernel.
	FromHost bool
	// Captured is true if verification launches replay a graph. The first of them captures it;
	// CanCall must have returned nil for graphs.
	Captured bool
	// Load has a launch for each rank that runs beside a verification's launch, on the rank's
	// stream in LoadOn. It is nil for none.
	Load   []Step
	LoadOn []Stream
}

// Batch runs launches on a fixed set of local ranks. Its arrays are C memory.
type Batch struct {
	p      *Provider
	c      *C.zb_batch
	n      int
	memory memory
	// places is the C memory of the work's Places and Load.
	places memory
	// The lock `closing` prevents a late Cancel from using memory that Close has freed.
	closing sync.Mutex
}

// NewBatch makes a batch for n ranks. Close it when done.
func (p *Provider) NewBatch(n int) *Batch {
	b := &Batch{p: p, n: n}
	c := kept[C.zb_batch](&b.memory, 1)
	b.c, c.table, c.nlocal = c, p.table, C.int32_t(n)
	c.ranks = kept[C.zb_rank](&b.memory, n)
	c.lane, c.nlanes = kept[*C.zb_rank](&b.memory, 1), 1
	*c.lane = c.ranks
	c.start_ns, c.seconds = kept[C.int64_t](&b.memory, n), kept[C.double](&b.memory, n*MaxIsolated)
	c.state, c.async = kept[C.uint8_t](&b.memory, n), kept[C.int32_t](&b.memory, n)
	c.started, c.ended = kept[C.int32_t](&b.memory, n), kept[C.int32_t](&b.memory, n)
	for i := range b.ranks() {
		r := &b.ranks()[i]
		r.start, r.stop = kept[unsafe.Pointer](&b.memory, MaxIsolated), kept[unsafe.Pointer](&b.memory, MaxIsolated)
	}
	return b
}

func (b *Batch) ranks() []C.zb_rank { return unsafe.Slice(b.c.ranks, b.n) }

// SetRank sets local rank i.
func (b *Batch) SetRank(i int, r Rank) {
	c := &b.ranks()[i]
	c.device, c.rank, c.nranks = C.int32_t(r.Device), C.int32_t(r.Number), C.int32_t(r.Ranks)
	c.comm, c.stream, c.filled_on = r.Comm.ptr, r.Stream.ptr, r.FilledOn.ptr
	c.send, c.recv = r.Send.ptr(), r.Recv.ptr()
	c.sync, c.found = r.Sync.ptr(), (*C.uint64_t)(unsafe.Pointer(r.Found.ptr()))
}

// Lanes returns the number of streams per rank for messages.
func (b *Batch) Lanes() int { return int(b.c.nlanes) }

// AddLane gives every rank another stream for the messages of a Play, on another communicator. The
// ranks must already have their events. Of the given ranks, only communicator, stream and number
// are used.
func (b *Batch) AddLane(ranks []*Rank) {
	lane := kept[C.zb_rank](&b.memory, b.n)
	copy(unsafe.Slice(lane, b.n), b.ranks())
	for i := range b.n {
		c, r := &unsafe.Slice(lane, b.n)[i], ranks[i]
		c.rank, c.nranks, c.comm, c.stream = C.int32_t(r.Number), C.int32_t(r.Ranks), r.Comm.ptr, r.Stream.ptr
	}
	lanes := append(slices.Clone(unsafe.Slice(b.c.lane, b.Lanes())), lane)
	b.c.lane, b.c.nlanes = kept[*C.zb_rank](&b.memory, len(lanes)), C.int32_t(len(lanes)) //nolint:gosec // a few
	copy(unsafe.Slice(b.c.lane, len(lanes)), lanes)
}

// SetPeers sets the ranks that local rank i sends to and receives from in an Exchange; −1 means
// none. Both peers may be the same rank.
func (b *Batch) SetPeers(i, to, from int) {
	c := &b.ranks()[i]
	c.to, c.from = C.int32_t(to), C.int32_t(from)
}

// SetApart sets whether other processes hold ranks of the world. If so, every burst begins with a
// small untimed all_reduce on each communicator, so that no process starts its clock before all
// processes have arrived. A library that has its own barrier for hosts uses its own barrier
// instead.
func (b *Batch) SetApart(apart bool) {
	b.c.apart = C.int32_t(b2i(apart))
}

// SetCalls sets how bursts launch: how many launches are in one group, and how the host waits after
// each group. It also sets whether the communicators are non-blocking.
func (b *Batch) SetCalls(c policy.Calls) {
	b.c.aggregate, b.c.blocking, b.c.nonblocking = C.int32_t(c.Aggregate), C.int32_t(c.Blocking), C.int32_t(b2i(c.NonBlocking)) //nolint:gosec // checked by CheckCalls
}

// MakeEvents creates the events of isolated timing for every rank. Call it once, after
// all ranks are set.
func (b *Batch) MakeEvents() error {
	for i := range b.ranks() {
		r := &b.ranks()[i]
		for k := range MaxIsolated {
			for _, at := range []*unsafe.Pointer{&unsafe.Slice(r.start, MaxIsolated)[k], &unsafe.Slice(r.stop, MaxIsolated)[k]} {
				if err := b.p.newEvent(int(r.device), at); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// Close frees the batch's arrays and events, but not the resources of the ranks.
func (b *Batch) Close() {
	b.closing.Lock()
	defer b.closing.Unlock()
	C.zb_drop_graphs(b.c)
	for i := range b.ranks() {
		r := &b.ranks()[i]
		for _, list := range []*unsafe.Pointer{r.start, r.stop} {
			b.p.freeEvents(int(r.device), unsafe.Slice(list, MaxIsolated)...)
		}
	}
	b.memory.free()
	b.places.free()
	b.c = nil
}

// Cancel makes the running batch and all later batches return ErrCancelled soon.
// Any goroutine may call it, even after Close.
func (b *Batch) Cancel() {
	b.closing.Lock()
	defer b.closing.Unlock()
	if b.c != nil {
		C.zb_cancel(b.c)
	}
}

// SetWork sets the launches of the following runs, and the deadline of each run in seconds of the
// provider's clock. The buffers rotate from slot 0 on.
func (b *Batch) SetWork(w Work, deadline float64) error {
	work, err := workOf(w)
	if err != nil {
		return err
	}
	C.zb_drop_graphs(b.c)
	b.places.free()
	if len(w.Load) > 0 {
		if work.load, err = b.places.list(w.Load); err != nil {
			return err
		}
		work.load_on = kept[unsafe.Pointer](&b.places, b.n)
		for i, s := range w.LoadOn {
			unsafe.Slice(work.load_on, b.n)[i] = s.ptr
		}
	}
	if len(w.Places) > 0 {
		places := unsafe.Slice(kept[C.uint64_t](&b.places, len(w.Places)), len(w.Places))
		for i, at := range w.Places {
			places[i] = C.uint64_t(at)
		}
		work.places = &places[0]
	}
	b.c.work, b.c.slot, b.c.deadline_s = work, 0, C.double(deadline)
	return nil
}

func workOf(w Work) (C.zb_work, error) {
	index, ok := collectiveIndex(w.Collective)
	dtype, okType := dtypeCodes[w.Dtype]
	op, okOp := opCodes[w.Op]
	switch {
	case !ok || !okType || !okOp:
		return C.zb_work{}, fmt.Errorf("native: no call for %s of %s with %q", w.Collective, w.Dtype, w.Op)
	case w.Count < 1 || w.Slots < 1:
		return C.zb_work{}, fmt.Errorf("native: count %d and slots %d must be at least 1", w.Count, w.Slots)
	}
	return C.zb_work{
		collective: index, dtype: dtype, op: op, root: C.int32_t(w.Root), count: C.uint64_t(w.Count),
		send_stride: C.uint64_t(w.SendStride), recv_stride: C.uint64_t(w.RecvStride), slots: C.uint64_t(w.Slots),
		at_once: C.int32_t(b2i(w.AtOnce)), from_host: C.int32_t(b2i(w.FromHost)), captured: C.int32_t(b2i(w.Captured)),
	}, nil
}

// SetDeadline sets the deadline of the next run only, in seconds of the provider's clock.
func (b *Batch) SetDeadline(seconds float64) { b.c.deadline_s = C.double(seconds) }

// Burst launches the work `iterations` times on every rank, waits, and returns the seconds
// per launch of each local rank. If replays is not 0, the launches are captured into a
// graph before the timing, and the graph is launched `replays` times; CanCall must have
// returned nil. The slice is valid until the next run.
func (b *Batch) Burst(iterations, replays int) ([]float64, error) {
	seconds := b.seconds(1)
	return seconds, b.Bursts(seconds, iterations, replays)
}

// Bursts repeats Burst until the slice is full of seconds, ordered by burst and then rank. Its
// length must be a multiple of the number of local ranks; without local ranks nothing runs. All
// bursts are one call of C: after each long wait in C, Go's scheduler takes more time than the
// wait.
func (b *Batch) Bursts(seconds []float64, iterations, replays int) error {
	if replays > 0 {
		if err := b.p.CanCall(policy.Calls{GraphLaunches: replays}); err != nil {
			return err
		}
	}
	b.c.iterations, b.c.replays = C.int32_t(iterations), C.int32_t(replays)
	C.zb_bursts(b.c, C.int32_t(len(seconds)/max(b.n, 1)), (*C.double)(unsafe.SliceData(seconds))) //nolint:gosec // a batch of bursts is small
	return b.outcome()
}

// WarmUp launches like Burst, without taking a sample. Events mark up to MaxIsolated launches, so
// that the evidence of a hang shows how many launches each rank started. The returned seconds per
// launch include the events.
func (b *Batch) WarmUp(iterations int) ([]float64, error) {
	b.c.iterations, b.c.replays = C.int32_t(iterations), 0
	C.zb_warm_up(b.c)
	return b.seconds(1), b.outcome()
}

// Isolated runs up to MaxIsolated isolated launches and returns their seconds, ordered by iteration
// and then rank. `hold` is the time in seconds for which the delay kernel holds the streams while
// the host enqueues; 0 means no hold.
func (b *Batch) Isolated(iterations int, hold float64) ([]float64, error) {
	b.c.iterations, b.c.delay_ns = C.int32_t(min(iterations, MaxIsolated)), C.uint64_t(hold*1e9)
	C.zb_isolated(b.c)
	return b.seconds(int(b.c.iterations)), b.outcome()
}

// EventFloor times an empty pair of events in the same way as Isolated. The result is the cost of
// the events, in seconds.
func (b *Batch) EventFloor(iterations int) ([]float64, error) {
	b.c.iterations, b.c.delay_ns = C.int32_t(min(iterations, MaxIsolated)), 0
	C.zb_event_floor(b.c)
	return b.seconds(int(b.c.iterations)), b.outcome()
}

func (b *Batch) seconds(iterations int) []float64 {
	return unsafe.Slice((*float64)(b.c.seconds), b.n*iterations)
}

// Held reports whether the delay kernel held every stream until the host had enqueued
// all launches of the last Isolated. It is false if no delay kernel ran.
func (b *Batch) Held() bool { return b.c.held != 0 }

// EnqueueSeconds returns the host's time to enqueue the last run, in seconds, on the slowest rank.
func (b *Batch) EnqueueSeconds() float64 { return float64(b.c.enqueue_s) }

func collectiveIndex(name string) (C.int32_t, bool) {
	if name == Exchange {
		return C.ZB_EXCHANGE, true
	}
	for i := range C.zb_collective_count() {
		if C.GoString(C.zb_collective_name(i)) == name {
			return C.int32_t(i), true
		}
	}
	return 0, false
}

// Collectives lists the collectives that the timed loop can launch.
func Collectives() []string {
	names := make([]string, 0, int(C.zb_collective_count()))
	for i := range C.zb_collective_count() {
		names = append(names, C.GoString(C.zb_collective_name(i)))
	}
	return names
}
