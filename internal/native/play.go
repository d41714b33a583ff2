package native

/*
#include <stdlib.h>
#include "c/play.h"
#include "c/shim.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"slices"
	"unsafe"
)

// MaxSteps is the most steps of one [Play.Run].
const MaxSteps = MaxIsolated - 1

// The kinds of operations of a step.
const (
	// PlaySpin is computation that only takes time: one GPU thread spins.
	PlaySpin = C.ZB_PLAY_SPIN
	// PlayLaunch sends a message when computation arrives here.
	PlayLaunch = C.ZB_PLAY_LAUNCH
	// PlayWait makes computation wait for a message's end.
	PlayWait = C.ZB_PLAY_WAIT
	// PlayWork is computation that uses the GPU: a number of launches of the step's work.
	PlayWork = C.ZB_PLAY_WORK
	// PlayFollow makes the lane of message By, which is launched later, wait for a message's end.
	PlayFollow = C.ZB_PLAY_FOLLOW
)

// PlayOp is an operation of a step: seconds of computation, launches of work, or a message by its
// number.
type PlayOp struct {
	Kind, Message, By, Launches int
	Seconds                     float64
}

// PlayMessage is a collective call on a lane of the batch. Send and Recv are its buffers' offsets
// from a rank's base, in bytes; each rank's number adds its share.
type PlayMessage struct {
	Work                             Work
	Lane                             int
	Send, Recv, SendShare, RecvShare int64
}

// Play is a step on the ranks of a batch. Its arrays are C memory.
type Play struct {
	b      *Batch
	c      *C.zb_play
	memory memory
	// computed is the number of operations of computation.
	computed int
}

// CanPlay returns nil if the provider has the functions for steps; UseFunctions must have set a
// delay kernel.
func (p *Provider) CanPlay() error {
	if name := "streamWaitEvent"; !p.Has(name) {
		return fmt.Errorf("%s backend: %w: the runtime library has no %s, which steps need", p.Backend, ErrUnavailable, p.nameOf(name))
	}
	return nil
}

// NewPlay makes a step of operations in the order of computation. compute are the streams of
// computation of the batch's ranks, base their buffers' addresses, work their launches for
// PlayWork; nil for none. Close it before the batch.
func (b *Batch) NewPlay(compute []Stream, base []Address, work []Step, ops []PlayOp, messages []PlayMessage) (*Play, error) {
	for i := range b.ranks() {
		if k := b.ranks()[i].kernels; k == nil || k.delay == nil {
			return nil, errors.New("native: computation needs the delay kernel, which this device has not")
		}
	}
	p := &Play{b: b}
	c := kept[C.zb_play](&p.memory, 1)
	p.c, c.nops, c.nmessages = c, C.int32_t(len(ops)), C.int32_t(len(messages))
	c.op, c.message = kept[C.zb_play_op](&p.memory, len(ops)), kept[C.zb_play_message](&p.memory, len(messages))
	c.compute, c.base = kept[unsafe.Pointer](&p.memory, b.n), kept[*C.char](&p.memory, b.n)
	c.ready, c.done = kept[unsafe.Pointer](&p.memory, b.n*len(messages)), kept[unsafe.Pointer](&p.memory, b.n*len(messages))
	for i := range b.n {
		unsafe.Slice(c.compute, b.n)[i], unsafe.Slice(c.base, b.n)[i] = compute[i].ptr, base[i].ptr()
	}
	err := p.fill(ops, messages, len(work) == b.n)
	if err == nil && len(work) > 0 {
		c.work, err = p.memory.list(work)
	}
	if err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// fill copies the operations and makes the events that they need.
func (p *Play) fill(ops []PlayOp, messages []PlayMessage, works bool) error {
	list := unsafe.Slice(p.c.op, len(ops))
	none := func(message int) bool { return message < 0 || message >= len(messages) }
	for i, o := range ops {
		computes := o.Kind == PlaySpin || o.Kind == PlayWork
		if !computes && none(o.Message) || o.Kind == PlayFollow && none(o.By) || o.Kind == PlayWork && !works {
			return fmt.Errorf("native: operation %d of a step, %+v, of %d messages", i, o, len(messages))
		}
		if computes {
			p.computed++
		}
		list[i] = C.zb_play_op{kind: C.int32_t(o.Kind), message: C.int32_t(o.Message), by: C.int32_t(o.By), launches: C.int32_t(o.Launches), ns: C.uint64_t(o.Seconds*1e9 + 0.5)}
	}
	for i, m := range messages {
		w, err := workOf(m.Work)
		if err != nil {
			return err
		}
		if m.Lane < 0 || m.Lane >= p.b.Lanes() {
			return fmt.Errorf("native: message %d of a step on lane %d of %d", i, m.Lane, p.b.Lanes())
		}
		unsafe.Slice(p.c.message, len(messages))[i] = C.zb_play_message{
			work: w, lane: C.int32_t(m.Lane), send: C.uint64_t(m.Send), recv: C.uint64_t(m.Recv), send_share: C.uint64_t(m.SendShare), recv_share: C.uint64_t(m.RecvShare),
		}
		waited := slices.ContainsFunc(ops, func(o PlayOp) bool {
			return (o.Kind == PlayWait || o.Kind == PlayFollow) && o.Message == i
		})
		for rank := range p.b.n {
			at := i*p.b.n + rank
			if err := p.event(p.c.ready, at, rank); err != nil {
				return err
			}
			if waited {
				if err := p.event(p.c.done, at, rank); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (p *Play) event(list *unsafe.Pointer, at, rank int) error {
	return p.b.p.newEvent(int(p.b.ranks()[rank].device), &unsafe.Slice(list, at+1)[at])
}

// Run takes steps back to back, at most MaxSteps, and returns their seconds by step × local rank.
// The batch's deadline covers all of them.
func (p *Play) Run(steps int) ([]float64, error) {
	if steps < 1 || steps > MaxSteps {
		return nil, fmt.Errorf("native: %d steps: 1 to %d are allowed", steps, MaxSteps)
	}
	seconds := p.b.seconds(steps)
	C.zb_play_steps(p.b.c, p.c, C.int32_t(steps), (*C.double)(unsafe.SliceData(seconds)))
	return seconds, p.b.outcome()
}

// MaxWatched is the largest number of messages of one [Play.Watch].
const MaxWatched = MaxIsolated - 3

// Watch takes two steps back to back and returns the seconds of count messages of the second from
// first on, or of its operations of computation, by operation × local rank. A message's time
// includes waiting for other ranks. The batch's deadline covers both steps.
func (p *Play) Watch(computing bool, first, count int) ([]float64, error) {
	all, what := int(p.c.nmessages), "messages"
	if computing {
		all, what = p.computed, "computations"
	}
	if count < 1 || count > MaxWatched || first < 0 || first+count > all {
		return nil, fmt.Errorf("native: %s %d to %d of %d: 1 to %d are watched at once", what, first, first+count, all, MaxWatched)
	}
	seconds := p.b.seconds(count)
	p.c.computing, p.c.first, p.c.watched = C.int32_t(b2i(computing)), C.int32_t(first), C.int32_t(count)
	C.zb_play_watched(p.b.c, p.c, (*C.double)(unsafe.SliceData(seconds)))
	p.c.watched = 0
	return seconds, p.b.outcome()
}

// Close frees the step's arrays and events.
func (p *Play) Close() {
	n := int(p.c.nmessages) * p.b.n
	for i := range n {
		p.b.p.freeEvents(int(p.b.ranks()[i%p.b.n].device), unsafe.Slice(p.c.ready, n)[i], unsafe.Slice(p.c.done, n)[i])
	}
	p.memory.free()
	p.c = nil
}
