package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"zbench/bench/base/exit"
	"zbench/bench/base/plain"
	"zbench/bench/engine"
	"zbench/bench/run/plan"
	"zbench/bench/run/record"
	"zbench/internal/launch"
	"zbench/internal/native"
	"zbench/internal/preflight"
	"zbench/internal/rendezvous"
)

// world is the leader's view of the followers of a sweep.
type world struct {
	*rendezvous.Leader
	role launch.Role
	// stop cancels the sweep, as a signal would.
	stop context.CancelCauseFunc
	// lost ends when a process is lost. Launches in progress then stop waiting for that process.
	lost context.Context //nolint:containedctx // the context lasts for the whole run
	lose context.CancelCauseFunc
	// started is true once all processes have registered.
	started bool
	refused *refusedHosts
	orders  orders
}

// Context returns a context that ends when a process is lost.
func (w *world) Context() context.Context { return w.lost }

// among returns the role of this process. The bool is true if this process is one of several of a
// sweep. The context also ends when the zbench that started this process asks it to stop.
func (o *launchFlagSet) among(ctx context.Context, s State) (context.Context, launch.Role, bool) {
	role, detected := launch.Detect(s.Getenv)
	if s.Getenv(launch.ControlVariable) != "" && role.Rank == 0 {
		ctx = o.watchInput(ctx, s)
	}
	method, err := launch.Choose(role, detected, launch.Asked{Method: launch.Method(o.method), Dry: o.dry})
	return ctx, role, err == nil && method == launch.Env && !o.dry
}

// watchInput reads standard input. The first line, or the end of the input, ends the context. The
// second line ends the process. Lines about the end of another process do not count.
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
				default: // the first reports are enough
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

// selfOf returns what this process reports when it registers.
func (o *worldRun) selfOf(s State, role launch.Role) rendezvous.Hello {
	return rendezvous.Hello{
		Process: role.Rank, Processes: role.Size, LocalProcess: role.Local, Host: s.Hostname(), PID: s.PID,
		Build: toolVersion(), Backend: o.want.Backend,
	}
}

// rankToken returns the secret of a run whose processes a launcher has started. It is the given
// secret. If all processes are on one host, it may also be the secret that all processes of this
// user can read there.
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

// connection returns the options that both ends of the rendezvous need.
func (o *worldRun) connection(s State, role launch.Role) (rendezvous.Member, error) {
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

// endWait is how long a leader that fails early waits for followers, so that it can tell them the
// reason.
const endWait = 20 * time.Second

// lead runs the sweep as the leader of all processes.
func (o *worldRun) lead(ctx context.Context, s State, role launch.Role, sweep func(context.Context) error) error {
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
		return exit.With(exit.Run, err, freeLeader(s, role, err))
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
	// mpirun kills all processes once one has ended with an error code, so the leader prints the
	// reason first.
	complain(s, err)
	w.end(ctx, err)
	if text := rendezvous.RefusalText(w.Refusals()); text != "" {
		s.note(o.quiet, "zbench: %s\n", text)
	}
	return exit.Quiet(exit.CodeOf(err))
}

// freeLeader returns the user's next step if rank 0 cannot listen. If each process computes the
// port by itself, this process cannot change it, and the user must give all processes a free port.
func freeLeader(s State, role launch.Role, err error) string {
	at := launch.Leader{Host: cmp.Or(role.Leader.Host, s.Hostname()), Port: role.Leader.Port}
	if !errors.Is(err, syscall.EADDRINUSE) || s.Taken == nil {
		return "export " + launch.LeaderVariable + "=HOST:PORT for all processes, with an address of rank 0's host"
	}
	at.Port = launch.Port(at.String(), s.Getenv("SLURM_STEP_RESV_PORTS"), s.Taken)
	return "another program, as another run, listens there; before the launcher, for all processes: export " + launch.LeaderVariable + "=" + at.String() + " (this port is free)"
}

// end lets the followers leave. A follower that registers later is told why the leader ended.
func (w *world) end(ctx context.Context, err error) {
	why := "it has ended"
	if err != nil {
		why = err.Error()
	}
	if !w.started && ctx.Err() == nil {
		soon, cancel := context.WithTimeout(ctx, endWait)
		_ = w.Wait(soon) // so that late processes do not wait in vain
		cancel()
	}
	w.Close(why, exit.CodeOf(err))
}

// listenAt returns the addresses at which rank 0 listens: those addresses of the requested host
// that belong to this machine. note is the reason if it listens on all interfaces instead. This
// happens because a name from a launcher may not resolve to an address of this host, or may resolve
// to the loopback address, which other hosts cannot reach.
func listenAt(ctx context.Context, s State, role launch.Role) (addresses []string, note string) {
	port, host := strconv.Itoa(role.Leader.Port), role.Leader.Host
	all := []string{net.JoinHostPort("", port)}
	given := s.Getenv(launch.LeaderVariable) != ""
	byUser := given && s.Getenv(launch.ControlVariable) == ""
	found, why := []netip.Addr{}, "is no address of this host"
	if ip, err := netip.ParseAddr(host); err == nil {
		found = append(found, ip)
	} else if s.Resolve == nil || !given && host != localhost {
		return all, ""
	} else if found, err = s.Resolve(ctx, host); err != nil {
		why = "cannot be resolved here: " + err.Error()
	} else if !byUser && role.LocalSize < role.Size && !slices.ContainsFunc(found, func(a netip.Addr) bool { return !a.IsLoopback() }) {
		found, why = nil, "is the loopback interface, which other hosts do not reach"
	}
	for _, a := range found {
		if address := net.JoinHostPort(a.Unmap().String(), port); s.has(a.Unmap()) && !slices.Contains(addresses, address) {
			addresses = append(addresses, address)
		}
	}
	if len(addresses) == 0 {
		return all, fmt.Sprintf("%s %s: rank 0 listens on all interfaces", plain.Line(host), why)
	}
	return addresses, ""
}

const localhost = "localhost"

// has returns true if an address belongs to this host.
func (s State) has(a netip.Addr) bool {
	if a.IsUnspecified() || a.Is4() && a.IsLoopback() || s.Interfaces == nil {
		return true
	}
	interfaces, err := s.Interfaces()
	return err != nil || slices.ContainsFunc(interfaces, func(i preflight.Interface) bool { return slices.Contains(i.Addrs, a.WithZone("")) })
}

// orders counts the leader's orders to the followers. It also has the times that the leader waits
// for them. The leader waits until all have registered, until all have opened their GPUs, and,
// after its own work, until their reports arrive.
type orders struct {
	now                        func() time.Time
	listened                   time.Time
	registered, opened, waited time.Duration
	sent                       int
}

// `since` returns the time since the leader began to listen.
func (o *orders) since() time.Duration { return o.now().Sub(o.listened) }

func (w *world) Send(o plan.Order) {
	w.orders.sent++
	w.Leader.Send(o)
}

func (w *world) SendEach(each []plan.Order) {
	w.orders.sent++
	w.Leader.SendEach(each)
}

func (w *world) Reports(own plan.Report) []plan.Report {
	began := w.orders.now()
	reports := w.Leader.Reports(own)
	w.orders.waited += w.orders.now().Sub(began)
	return reports
}

// control returns the cost of leading the other processes, or nil if there are none.
func (w *world) control() *record.Control {
	if w == nil {
		return nil
	}
	o := &w.orders
	return &record.Control{
		Processes: w.role.Size, Registered: o.registered.Seconds(), Opened: o.opened.Seconds(), Orders: o.sent, Waited: o.waited.Seconds(),
	}
}

// team is the ranks of all processes as one driver.
type team struct {
	*plan.Group
	own   *collectivesDriver
	facts engine.Facts
	// `all` has the processes of the sweep, with the facts that they reported about their hosts.
	all []preflight.Process
	end func()
}

func (t *team) Facts() (engine.Facts, error) { return t.facts, nil }

// Witness asks the library's service in this process, because the service gathers the state of all
// ranks.
func (t *team) Witness() *record.Witness { return t.own.Witness() }

// Fired returns how often planted faults have changed data. All processes share this count.
func (t *team) Fired() int { return t.own.Fired() }

// Close ends the sweep in all processes and closes the ranks of this process.
func (t *team) Close() error {
	if t.Group != nil {
		t.end()
	}
	if t.own == nil {
		return nil
	}
	return t.own.Close()
}

// open opens the ranks of all processes.
func (w *world) open(ctx context.Context, s State, o libraryOptions, with *opening) (engine.Ranks, error) {
	if err := w.meet(s, with); err != nil {
		return nil, err
	}
	t := &team{}
	err := w.assemble(ctx, s, o, with, t)
	native.RemoveName(with.Arena) // all processes have the file open, or the run has failed
	if err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

// assemble opens the ranks of this process, and then the ranks of all other processes.
func (w *world) assemble(ctx context.Context, s State, o libraryOptions, with *opening, t *team) (err error) {
	bounds := ctx
	if with.Arena != "" { // opening takes milliseconds; if it continued after a return, the file would remain
		bounds = context.WithoutCancel(ctx)
	}
	t.own, err = guarded(bounds, with.Deadlines.Init, 1, "opening the GPUs of process 0 on "+s.Hostname(), func() (*collectivesDriver, error) {
		return openShare(ctx, s, o, with, 0, w.role.Local)
	})
	if err == nil {
		err = w.gather(ctx, with)
	}
	if err != nil {
		return err
	}
	t.Group, t.end = w.group(ctx, t.own, with, with.ranks())
	if t.facts, err = w.describe(ctx, s, t, with); err != nil {
		err = exit.With(exit.CodeOf(err), err, "fix the cause, and repeat the command")
	}
	return err
}

// group makes this process the leader of the other processes, each of which has the given number of
// ranks. end lets them leave.
func (w *world) group(ctx context.Context, own plan.Process, with *opening, ranks int) (g *plan.Group, end func()) {
	g, during := plan.Lead(ctx, own, w, w.Members(ranks))
	g.Bound(with.Deadlines)
	release := context.AfterFunc(during, func() { w.stop(context.Cause(during)) })
	return g, func() {
		release()
		g.End()
	}
}

// introductions opens the ranks of the other processes and returns the introduction of each.
func introductions[T any](w *world, g *plan.Group) ([]T, error) {
	facts, err := g.Open()
	if err != nil {
		return nil, err
	}
	w.orders.opened = w.orders.since()
	all := make([]T, len(facts))
	for i, text := range facts {
		if err := json.Unmarshal(text, &all[i]); err != nil {
			return nil, fmt.Errorf("process %d: %w", i+1, err)
		}
	}
	return all, nil
}

// meet sets the name of the file that the processes of a simulation share.
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

// gather waits until all processes have registered, and then starts the run.
func (w *world) gather(ctx context.Context, with *opening) error {
	for {
		if err := w.Wait(ctx); err != nil {
			return err
		}
		w.orders.registered = w.orders.since()
		if err := cmp.Or(w.inOrder(with), w.refused.checkWorld(w.Hellos())); err != nil {
			return err
		}
		err := w.Start(with)
		w.started = err == nil
		if !errors.Is(err, rendezvous.ErrMissing) { // otherwise a process has left in the meantime
			return err
		}
	}
}

// inOrder checks that the ranks of each node are consecutive, because the groups of a node's GPUs
// consist of consecutive ranks.
func (w *world) inOrder(with *opening) error {
	if with.Backend == "loopback" {
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

// describe opens the ranks of all other processes and checks that the processes fit together.
func (w *world) describe(ctx context.Context, s State, t *team, with *opening) (engine.Facts, error) {
	mine, err := guarded(ctx, with.Deadlines.Init, 1, "asking the GPUs of process 0 on "+s.Hostname(), func() (introduction, error) {
		return introduce(s, t.own, with, w.role, time.Time{})
	})
	if err != nil {
		return engine.Facts{}, err
	}
	sent := s.Now()
	others, err := introductions[introduction](w, t.Group)
	if err != nil {
		return engine.Facts{}, err
	}
	all := []engine.Hello{mine.Hello}
	t.all = []preflight.Process{mine.process(time.Time{}, s.Now())}
	for _, other := range others {
		all, t.all = append(all, other.Hello), append(t.all, other.process(sent, s.Now()))
	}
	together, err := engine.Together(all, with.World.Size(), with.World.Share())
	together.Extrapolated = t.own.facts.Extrapolated
	return together, err
}

// follow takes part in a sweep that another process leads. It prints only its own errors, because
// the leader prints data and progress.
func (o *worldRun) follow(ctx context.Context, s State, role launch.Role) error {
	c, err := o.connection(s, role)
	if err != nil {
		return o.once(role, err)
	}
	if role.Local == 0 {
		c.OnWait = func(why error) { s.note(o.quiet, "%s: %s\n", s.Hostname(), why) }
	}
	f, err := rendezvous.Join(ctx, c)
	if ended, ok := errors.AsType[*rendezvous.Ended](err); ok {
		return exit.Quiet(ended.Code) // the leader prints the reason
	} else if err != nil {
		return fmt.Errorf("%s: %w", s.Hostname(), err)
	}
	defer f.Close()
	var with opening
	if err := json.Unmarshal(f.Welcome(), &with); err != nil {
		return fmt.Errorf("%s: the leader's welcome: %w", s.Hostname(), err)
	}
	settle := func() {}
	if s.Light != nil && with.Backend == "loopback" { // the threads of a real library need the cores
		settle = s.Light()
	}
	defer context.AfterFunc(ctx, func() { _ = f.Stop() })() // if the leader is gone, the run ends anyway
	var own followed
	err = plan.FollowOpening(ctx, func(ctx context.Context) (plan.Process, json.RawMessage, error) {
		var text json.RawMessage
		var failed error
		own, text, failed = o.openFollower(ctx, s, role, &with)
		if failed != nil {
			return nil, nil, failed
		}
		return own, text, nil
	}, &settling{Follower: f, settle: settle})
	if err != nil {
		removeMeeting(s, &with)
	}
	if own != nil {
		err = cmp.Or(err, own.Close())
	}
	if err == nil {
		err = f.Wait()
	}
	if ended, ok := errors.AsType[*rendezvous.Ended](err); ok {
		return exit.Quiet(ended.Code)
	} else if err != nil {
		return o.once(role, fmt.Errorf("process %d on %s: %w", role.Rank, s.Hostname(), err))
	}
	return nil
}

// followed is what a follower has opened.
type followed interface {
	plan.Process
	Close() error
}

// settling is the connection of a follower to the leader. The follower gives up resources after it
// has opened its ranks and allocated their buffers. If followers did this earlier, a thousand
// processes on one host would delay each other.
type settling struct {
	*rendezvous.Follower
	settle   func()
	reported int
}

// settledAfter is the number of orders after which a follower gives up resources: open and
// allocate.
const settledAfter = 2

func (c *settling) Report(r plan.Report) error {
	err := c.Follower.Report(r)
	if c.reported++; c.reported == settledAfter {
		c.settle()
	}
	return err
}

// removeMeeting removes the file that the processes of a simulation share. Usually the leader has
// removed it, but a leader that was killed during the opening has not. The name belongs to one run
// only.
func removeMeeting(s State, with *opening) {
	if with.Arena != "" {
		_ = s.FS.Remove(with.Arena) // usually the file is gone already
	}
}

// `once` drops an error that all processes have, except in the first process of each node. There it
// returns the error.
func (*worldRun) once(role launch.Role, err error) error {
	if role.Local > 0 {
		return exit.Quiet(exit.CodeOf(err))
	}
	return err
}

// openFollower opens the ranks of this process, as the leader's welcome requests.
func (o *worldRun) openFollower(ctx context.Context, s State, role launch.Role, with *opening) (followed, json.RawMessage, error) {
	heard := s.Now()
	if with.Kernels != nil {
		return o.openNode(ctx, s, role, with)
	}
	if with.Arena != "" {
		if _, err := s.FS.Stat(with.Arena); err != nil {
			return nil, nil, fmt.Errorf("%w: the leader's file %s is not there: all processes of a simulation must run on one machine", native.ErrUnavailable, with.Arena)
		}
	}
	s.Stderr = Stream{Writer: io.Discard} // the leader shows its own progress
	d, err := openShare(ctx, s, o.libraries, with, role.Rank, role.Local)
	if err != nil {
		return nil, nil, err
	}
	mine, err := introduce(s, d, with, role, heard)
	var text json.RawMessage
	if err == nil {
		text, err = json.Marshal(mine)
	}
	if err != nil {
		return nil, nil, errors.Join(err, d.Close())
	}
	return d, text, nil
}
