package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"zbench/bench/exit"
	"zbench/internal/launch"
	"zbench/internal/rendezvous"
)

// world is the other processes of a sweep, as the process that leads it has them.
type world struct {
	*rendezvous.Leader
	role launch.Role
	// stop ends the sweep as a signal does.
	stop context.CancelCauseFunc
	// lost ends when a process is lost: launches in progress wait for it.
	lost context.Context //nolint:containedctx // it is of the whole run
	lose context.CancelCauseFunc
	// started tells that all processes have registered.
	started bool
	refused *refusedHosts
	orders  orders
}

// Context ends when a process is lost.
func (w *world) Context() context.Context { return w.lost }

// among tells whether this process is one of several of a sweep, and which. The context
// ends, too, when the zbench that started this process asks it to stop.
func (o *launchFlagSet) among(ctx context.Context, s State) (context.Context, launch.Role, bool) {
	role, detected := launch.Detect(s.Getenv)
	if s.Getenv(launch.ControlVariable) != "" && role.Rank == 0 {
		ctx = o.watchInput(ctx, s)
	}
	method, err := launch.Choose(role, detected, launch.Asked{Method: launch.Method(o.method), Dry: o.dry})
	return ctx, role, err == nil && method == launch.Env && !o.dry
}

// watchInput ends the context at the first line of standard input, or at its end, and the
// process at the second. A line on the end of another process is not one of them.
func (o *launchFlagSet) watchInput(ctx context.Context, s State) context.Context {
	ctx, cancel := context.WithCancelCause(ctx)
	ended := make(chan endedTask, maxEnded)
	o.ended = ended
	go func() {
		lines := bufio.NewScanner(s.Stdin)
		for asked := false; lines.Scan(); {
			if task, ok := readEnded(lines.Text()); ok {
				select {
				case ended <- task:
				default: // the first are enough
				}
				continue
			}
			if asked {
				s.Exit(exit.Interrupted)
			}
			asked = true
			cancel(&interruption{lines.Text()})
		}
		cancel(&interruption{"the zbench that started this process has ended"})
	}()
	return ctx
}

// selfOf is what this process tells when it registers.
func (o *collectivesOptions) selfOf(s State, role launch.Role) rendezvous.Hello {
	return rendezvous.Hello{
		Process: role.Rank, Processes: role.Size, LocalProcess: role.Local, Host: s.Hostname(), PID: s.PID,
		Build: toolVersion(), Backend: o.want.Backend,
	}
}

// rankToken is the secret of a run whose processes a launcher has started: the one that was given to
// all, or on one host the one that all processes of this user find there.
func rankToken(s State, role launch.Role) (rendezvous.Token, error) {
	text := givenToken(s)
	if text == "" && role.OneHost() && s.Secret != nil {
		secret, err := s.Secret()
		if err != nil {
			return rendezvous.Token{}, usage(fmt.Errorf("%s, and this user's secret on this host cannot be used: %w", role.Text(), err),
				"remove what is there, or before the launcher: export "+launch.TokenVariable+"=$(zbench token)")
		}
		if text, err = launch.HostToken(secret, role); err != nil {
			return rendezvous.Token{}, err
		}
	}
	token, err := rendezvous.ParseToken(text)
	if err != nil {
		lines := strings.Join(role.TokenLines(s.Args), "\n      ")
		return token, usage(fmt.Errorf("%s: %w", role.Text(), err),
			"processes on several hosts need one secret. Type:\n      "+lines+"\n    or give --launch inproc: then each process measures alone")
	}
	return token, nil
}

// connection are the options of both ends of the rendezvous.
func (o *collectivesOptions) connection(s State, role launch.Role) (rendezvous.Member, error) {
	token, err := rankToken(s, role)
	if err != nil {
		return rendezvous.Member{}, err
	}
	if role.Leader.Host == "" {
		return rendezvous.Member{}, usagef("export "+launch.LeaderVariable+"=HOST:PORT, with the host of rank 0, for all processes",
			"%s, but the host of rank 0 is not known", role.Text())
	}
	return rendezvous.Member{
		Token: token, Address: role.Leader.String(), Self: o.selfOf(s, role),
		Register: o.deadlines.join, Heartbeat: o.deadlines.heartbeat,
		Relay: token.LocalAddress(fmt.Sprintf("%s/%d/%s/%d", s.Hostname(), role.Node, role.Agent, role.Leader.Port)), // nodes and worlds may share a host
	}, nil
}

// endWait is how long a leader that fails early waits for the others to hear of it.
const endWait = 20 * time.Second

// lead runs the sweep as the leader of all processes.
func (o *collectivesOptions) lead(ctx context.Context, s State, role launch.Role, sweep func(context.Context) error) error {
	c, err := o.connection(s, role)
	if err != nil {
		return err
	}
	w := &world{role: role, orders: orders{now: s.Now}, refused: &o.launch.refused}
	ctx, w.stop = context.WithCancelCause(ctx)
	w.lost, w.lose = context.WithCancelCause(context.Background())
	var note string
	if c.Bind, note = listenAt(ctx, s, role); note != "" {
		s.note(o.quiet, "%s\n", note)
	}
	c.OnStop = func(process int) { w.stop(&interruption{fmt.Sprintf("process %d was asked to stop", process)}) }
	c.OnLost = func(l rendezvous.Loss) { w.lose(l) }
	c.OnGiveUp = func(why string) { w.lose(errors.New(why)) }
	c.OnStatus = func(now rendezvous.Status) { s.note(o.quiet, "%s\n", now.Text()) }
	if w.Leader, err = rendezvous.Serve(ctx, c); err != nil {
		return exit.With(exit.Run, err, "is another run using the port? export "+launch.LeaderVariable+"=HOST:PORT with a free one for all processes")
	}
	w.orders.listened = s.Now()
	o.world = w
	go func() {
		for {
			select {
			case task := <-o.launch.ended:
				w.Ended(task.process, task.how)
			case <-ctx.Done():
				return
			}
		}
	}()
	err = sweep(ctx)
	w.end(ctx, err)
	if text := rendezvous.RefusalText(w.Refusals()); text != "" {
		s.note(o.quiet, "zbench: %s\n", text)
	}
	return err
}

// end lets the other processes leave. Those that have not registered yet hear of an early
// error when they do.
func (w *world) end(ctx context.Context, err error) {
	why := "it has ended"
	if err != nil {
		why = err.Error()
	}
	if !w.started && ctx.Err() == nil {
		soon, cancel := context.WithTimeout(ctx, endWait)
		_ = w.Wait(soon) // those that do not come start in vain
		cancel()
	}
	w.Close(why)
}
