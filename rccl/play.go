package rccl

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"zbench/bench/base/slice"
	"zbench/bench/hardware/collective"
	"zbench/bench/run/plan"
	"zbench/bench/run/record"
	"zbench/internal/native"
)

var kinds = map[plan.StepDo]int{
	plan.StepCompute: native.PlaySpin, plan.StepLaunch: native.PlayLaunch, plan.StepWait: native.PlayWait,
	plan.StepTriad: native.PlayWork, plan.StepGemm: native.PlayWork, plan.StepFollow: native.PlayFollow,
}

// Stage keeps the step of a setting. Each rank gets a stream for computation; messages use the
// streams of their lanes.
func (d *Driver) Stage(ctx context.Context, setting int, s *plan.Step) error {
	defer d.enter()()
	if err := s.Check(d.cfg.World); err != nil {
		return err
	}
	if err := d.joinStep(ctx, s); err != nil {
		return err
	}
	b, can := d.batch.(*native.Batch)
	if !can {
		return errors.New("this batch takes no steps")
	}
	if err := d.provider.CanPlay(); err != nil {
		return err
	}
	if d.noKernels != nil {
		return fmt.Errorf("a step's computation is a kernel, and there are none: %w", d.noKernels)
	}
	for i := range d.lanes {
		if err := d.register(&d.lanes[i]); err != nil {
			return err
		}
	}
	for _, l := range d.lanes[b.Lanes():] {
		b.AddLane(l.ranks)
	}
	if err := d.openCompute(); err != nil {
		return err
	}
	p, err := d.play(b, s)
	if err != nil {
		return err
	}
	if d.plays == nil {
		d.plays = map[int]*native.Play{}
	}
	if before := d.plays[setting]; before != nil {
		before.Close()
	}
	d.plays[setting], d.perLaunch, d.staged = p, -1, d.staged || len(s.Cases) > 0
	return nil
}

// joinStep joins the communicators of a step. A process with only a share of the world must already
// have joined them.
func (d *Driver) joinStep(ctx context.Context, s *plan.Step) error {
	current := slice.Map(d.lanes, func(l lane) plan.Comms { return l.comms })
	return s.Join(current, d.staged, func(c plan.Comms, beside bool) error {
		if !d.alone() {
			return errors.New("the ranks have not joined the communicators of the step")
		}
		if beside {
			return d.joinAlone(ctx, c, d.JoinBeside)
		}
		return d.joinAlone(ctx, c, d.Join)
	})
}

// play makes a step in a batch.
func (d *Driver) play(b *native.Batch, s *plan.Step) (*native.Play, error) {
	ops := slice.Map(s.Ops, func(o plan.StepOp) native.PlayOp {
		return native.PlayOp{Kind: kinds[o.Do], Message: o.Message, By: o.By, Launches: o.Launches, Seconds: o.Seconds}
	})
	base := make([]native.Address, d.local)
	for i := range base {
		base[i] = d.ranks[i].at(0)
	}
	var work []native.Step
	if i := slices.IndexFunc(s.Ops, func(o plan.StepOp) bool { return o.Do.Works() }); i >= 0 {
		var err error
		if work, err = d.workOf(s.Ops[i].Do); err != nil {
			return nil, err
		}
	}
	return b.NewPlay(d.compute[:d.local], base, work, ops, d.messages(s))
}

// messages returns the messages of a step. Their buffers follow each other in the arena. When
// the arena is full, they begin again at its start. So buckets are adjacent, and no launch
// finds its data in the cache.
func (d *Driver) messages(s *plan.Step) []native.PlayMessage {
	var all []native.PlayMessage
	next := int64(plan.ArenaHead)
	for _, k := range s.Sends {
		c := s.Cases[k]
		need := c.Places(0)
		if next+need.Arena-plan.ArenaHead > d.arena {
			next = plan.ArenaHead
		}
		m := native.PlayMessage{
			Lane: slices.IndexFunc(d.lanes, func(l lane) bool { return l.comms == c.Comms() }),
			Work: native.Work{Collective: c.Collective.Name, Dtype: c.Dtype.Name, Op: c.Op, Count: c.Layout.Count, Slots: 1},
			Send: next + need.Send - plan.ArenaHead, Recv: next + need.Recv - plan.ArenaHead,
		}
		if share := c.Layout.Count * int64(c.Dtype.Size); c.InPlace && c.Collective.InPlace == collective.SendInRecv {
			m.SendShare = share
		} else if c.InPlace && c.Collective.InPlace == collective.RecvInSend {
			m.RecvShare = share
		}
		all = append(all, m)
		next += need.Arena - plan.ArenaHead
	}
	return all
}

// Play runs steps of a setting back to back and returns the seconds, ordered by step and then rank.
func (d *Driver) Play(ctx context.Context, setting, steps int) ([]float64, error) {
	return d.played(ctx, setting, steps, func(p *native.Play) ([]float64, error) { return p.Run(steps) })
}

// Watch runs two steps of a setting and returns the seconds of messages or of computation,
// ordered by operation and then rank.
func (d *Driver) Watch(ctx context.Context, w plan.Watch) ([]float64, error) {
	return d.played(ctx, w.Setting, 2, func(p *native.Play) ([]float64, error) { return p.Watch(w.Computing, w.First, w.Count) })
}

func (d *Driver) played(ctx context.Context, setting, steps int, play func(p *native.Play) ([]float64, error)) ([]float64, error) {
	if d.local == 0 {
		return nil, nil
	}
	defer d.enter()()
	p := d.plays[setting]
	if p == nil {
		return nil, errors.New("the step of this setting was not staged")
	}
	defer context.AfterFunc(ctx, d.batch.Cancel)()
	d.batch.SetDeadline(d.deadline(steps))
	seconds, err := play(p)
	d.took(seconds, err)
	return seconds, d.ended(ctx, record.DuringBurst, err)
}

// unstage frees the steps. Their computation is kept for the next steps.
func (d *Driver) unstage() {
	for _, p := range d.plays {
		p.Close()
	}
	d.plays, d.staged = nil, false
}

// freeWork frees the computation with its streams.
func (d *Driver) freeWork() error {
	var errs []error
	for _, w := range d.works {
		errs = append(errs, w.free(d.provider))
	}
	errs = append(errs, slice.Map(d.compute, d.provider.FreeStream)...)
	d.works, d.compute = nil, nil
	return errors.Join(errs...)
}
