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

// MaxSteps is the largest number of steps of one [Play.Run].
const MaxSteps = MaxIsolated - 1

// The kinds of operations of a step.
const (
	// PlaySpin is computation that only takes time: one thread of the GPU spins.
	PlaySpin = C.ZB_PLAY_SPIN
	// PlayLaunch sends a message when computation reaches it.
	PlayLaunch = C.ZB_PLAY_LAUNCH
	// PlayWait makes computation wait for the end of a message.
	PlayWait = C.ZB_PLAY_WAIT
	// PlayWork is computation that uses the GPU: a number of launches of the step's work.
	PlayWork = C.ZB_PLAY_WORK
	// PlayFollow makes the lane of message By wait for the end of a message. Message By is launched
	// later.
	PlayFollow = C.ZB_PLAY_FOLLOW
)

// PlayOp is one operation of a step. Depending on its kind it has the seconds of a computation, the
// number of launches, or the number of a message.
type PlayOp struct {
	Kind, Message, By, Launches int
	Seconds                     float64
}

// PlayMessage is a collective call on a lane of the batch. Send and Recv are the offsets of its
// buffers from a rank's base, in bytes. Rank r adds r times the share of each buffer.
type PlayMessage struct {
	Work                             Work
	Lane                             int
	Send, Recv, SendShare, RecvShare int64
}

// Play is a step of a trainer on the ranks of a batch. Its arrays are C memory.
type Play struct {
	b      *Batch
	c      *C.zb_play
	memory memory
	// `computed` is the number of operations that are computation.
	computed int
}

// CanPlay returns nil if the provider has the functions that steps need. UseFunctions must have
// set a delay kernel.
func (p *Provider) CanPlay() error {
	if name := "streamWaitEvent"; !p.Has(name) {
		return fmt.Errorf("%s backend: %w: the runtime library has no %s, which steps need", p.Backend, ErrUnavailable, p.nameOf(name))
	}
	return nil
}

// NewPlay makes a step from operations in the order of computation. The lists have one element
// per rank of the batch: compute has the computation streams, base has the addresses of the
// buffers, and work has the launches for PlayWork (nil for none). Close the Play before the
// batch.
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

// fill copies the operations into C memory and makes the events that they need.
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

// Run runs steps back to back, at most MaxSteps, and returns their seconds, ordered by step and
// then local rank. The batch's deadline covers all steps.
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

// Watch runs two steps back to back and times operations of the second step: `count` messages from
// number `first` on, or computations if `computing` is true. It returns seconds, ordered by
// operation and then local rank. A message's time includes waiting for other ranks. The batch's
// deadline covers both steps.
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
