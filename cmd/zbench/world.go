package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"zbench/bench/engine"
	"zbench/bench/exit"
	"zbench/bench/plan"
	"zbench/bench/record"
	"zbench/internal/launch"
	"zbench/internal/native"
	"zbench/internal/preflight"
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

// connection are the options of both ends of the rendezvous.
func (o *collectivesOptions) connection(s State, role launch.Role) (rendezvous.Options, error) {
	token, err := rendezvous.ParseToken(s.Getenv(launch.TokenVariable))
	if err != nil {
		return rendezvous.Options{}, usage(fmt.Errorf("%s: %w", role.Text(), err),
			"before the launcher: export "+launch.TokenVariable+"=$(zbench token); or --launch inproc: then each process measures alone")
	}
	if role.Leader.Host == "" {
		return rendezvous.Options{}, usagef("export "+launch.LeaderVariable+"=HOST:PORT, with the host of rank 0, for all processes",
			"%s, but the host of rank 0 is not known", role.Text())
	}
	return rendezvous.Options{
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
	if role.Leader.Host != "127.0.0.1" { // the launcher's name of this host need not be of one of its addresses
		c.Address = fmt.Sprintf(":%d", role.Leader.Port)
	}
	c.OnStop = func(process int) { w.stop(&interruption{fmt.Sprintf("process %d was asked to stop", process)}) }
	c.OnLost = func(l rendezvous.Loss) { w.lose(l) }
	c.OnGiveUp = func(why string) { w.lose(errors.New(why)) }
	c.OnStatus = func(now rendezvous.Status) { s.note(o.quiet, "%s\n", now.Text()) }
	if w.Leader, err = rendezvous.Serve(ctx, c); err != nil {
		return exit.With(exit.Run, err, "is another run using the port? export "+launch.LeaderVariable+"=HOST:PORT with a free one for all processes")
	}
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

// team is the ranks of all processes as one driver.
type team struct {
	*plan.Group
	own     *collectivesDriver
	facts   engine.Facts
	all     []preflight.Process
	release func()
}

// processes are all of the sweep, with what they tell of their hosts.
func (t *team) processes() []preflight.Process { return t.all }

func (t *team) Facts() (engine.Facts, error) { return t.facts, nil }

// Witness is that of this process: the service gathers from all ranks.
func (t *team) Witness() *record.Witness { return t.own.Witness() }

// Close ends the sweep in all processes and closes this one's ranks, as far as they are open.
func (t *team) Close() error {
	if t.Group != nil {
		t.release()
		t.End()
	}
	if t.own == nil {
		return nil
	}
	return t.own.Close()
}

// open opens the ranks of all processes.
func (w *world) open(ctx context.Context, s State, o libraryOptions, with *opening) (engine.Driver, error) {
	if err := w.meet(s, with); err != nil {
		return nil, err
	}
	t := &team{}
	err := w.assemble(ctx, s, o, with, t)
	native.RemoveName(with.Arena) // all have it open, or the run has failed
	if err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

// assemble opens the ranks of this process and then those of the others.
func (w *world) assemble(ctx context.Context, s State, o libraryOptions, with *opening, t *team) (err error) {
	t.own, err = guarded(ctx, with.Deadlines.Init, "opening the GPUs of process 0 on "+s.Hostname(), func() (*collectivesDriver, error) {
		return openShare(ctx, s, o, with, 0, w.role.Local)
	})
	if err == nil {
		err = w.gather(ctx, s, with)
	}
	if err != nil {
		return err
	}
	var during context.Context
	t.Group, during = plan.Lead(ctx, t.own, w, w.Members(with.ranks()))
	t.Bound(with.Deadlines)
	release := context.AfterFunc(during, func() { w.stop(context.Cause(during)) })
	t.release = func() { release() }
	if t.facts, err = w.describe(ctx, s, t, with); err != nil {
		err = exit.With(codeOf(err), err, "fix the cause, and repeat the command")
	}
	return err
}

// meet names the file where the processes of a simulation meet.
func (w *world) meet(s State, with *opening) error {
	if len(with.Machine) == 0 {
		return nil
	}
	removeLeft(s)
	name := make([]byte, meetingBytes)
	if _, err := io.ReadFull(s.Random, name); err != nil {
		return err
	}
	with.Arena = meetingFile(s, sweepMeeting, name)
	return nil
}

// gather waits for all processes and starts the run.
func (w *world) gather(ctx context.Context, s State, with *opening) error {
	for {
		if err := w.Wait(ctx); err != nil {
			return err
		}
		if err := cmp.Or(w.inOrder(with), w.refused.checkWorld(w.Hellos())); err != nil {
			return err
		}
		for _, line := range w.Drift() {
			s.note(false, "%s\n", line)
		}
		err := w.Start(with)
		w.started = err == nil
		if !errors.Is(err, rendezvous.ErrMissing) { // else one has left since
			return err
		}
	}
}

// inOrder checks that the ranks of each node follow one another: the groups of a node's
// GPUs are made of consecutive ranks.
func (w *world) inOrder(with *opening) error {
	if len(with.Machine) > 0 {
		return nil // the nodes are simulated, wherever the processes run
	}
	perNode := max(with.World.GPUsPerNode/max(with.World.GPUsPerProcess, 1), 1)
	all := w.Hellos()
	for i, h := range all {
		first := all[i-i%perNode]
		if h.LocalProcess != i%perNode || h.Host != first.Host {
			return usagef("let the launcher fill one node after the other: srun --distribution=block, mpirun --map-by ppr:N:node",
				"process %d on %s has the local rank %d; process %d on %s begins its node, and local rank %d was expected: the ranks of a node must follow one another",
				i, h.Host, h.LocalProcess, i-i%perNode, first.Host, i%perNode)
		}
	}
	return nil
}

// describe opens the ranks of the others and checks that all fit together.
func (w *world) describe(ctx context.Context, s State, t *team, with *opening) (engine.Facts, error) {
	mine, err := guarded(ctx, with.Deadlines.Init, "asking the GPUs of process 0 on "+s.Hostname(), func() (introduction, error) {
		return introduce(s, t.own, with, w.role, time.Time{})
	})
	if err != nil {
		return engine.Facts{}, err
	}
	sent := s.Now()
	facts, err := t.Open()
	if err != nil {
		return engine.Facts{}, err
	}
	all := []engine.Hello{mine.Hello}
	t.all = []preflight.Process{mine.process(time.Time{}, s.Now())}
	for i, text := range facts {
		var other introduction
		if err := json.Unmarshal(text, &other); err != nil {
			return engine.Facts{}, fmt.Errorf("process %d: %w", i+1, err)
		}
		all, t.all = append(all, other.Hello), append(t.all, other.process(sent, s.Now()))
	}
	together, err := engine.Together(all, with.World.Size(), with.World.Share())
	together.Extrapolated = t.own.facts.Extrapolated
	return together, err
}
