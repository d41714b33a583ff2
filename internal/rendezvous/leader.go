package rendezvous

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"zbench/bench/base/exit"
	"zbench/bench/base/slice"
	"zbench/bench/run/plan"
)

// Leader is the leader's side of the connections. It implements plan.Followers.
type Leader struct {
	options  Member
	registry *registry
	hub      *hub
	server   *server
	address  string
	refused  refusals
	answers
	patience
	pulse *pulse
	still context.CancelFunc // stops the pulse
	close sync.Once
	// The channel `early` receives the first process that ended before the start.
	early chan Loss
}

var (
	_ plan.Followers  = (*Leader)(nil)
	_ plan.Addressed  = (*Leader)(nil)
	_ plan.Abandoning = (*Leader)(nil)
	_ plan.Standing   = (*Leader)(nil)
)

// Serve listens at its addresses, and at the relay's socket if there is one. Processes can register
// until Close. The error means invalid options, or an address at which it cannot listen. ctx limits
// only this call.
func Serve(ctx context.Context, o Member) (*Leader, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	if o.Self.Process != 0 {
		return nil, fmt.Errorf("process 0 leads, not process %d", o.Self.Process)
	}
	l := &Leader{options: o, registry: newRegistry(o), early: make(chan Loss, 1)}
	l.giveUp = func(why string) {
		l.Cancel(why)
		o.OnGiveUp(why)
	}
	l.prepare(o.Self.Processes, o.Now)
	l.hub = &hub{heard: l.heard, arrived: l.registry.arrive, left: l.leave, heartbeat: o.Heartbeat, limit: maxUp}
	var err error
	l.server, err = newServer(o, l.hub, &l.refused, func(_ context.Context, in registration) (*member, *Refused) {
		return l.registry.add(in, l.hub)
	})
	if err != nil {
		return nil, err
	}
	beating, stop := context.WithCancel(context.Background())
	l.pulse, l.still = newPulse(beating, o), stop
	at := slice.Map(o.Bind, func(address string) [2]string { return [2]string{"tcp", address} })
	if len(at) == 0 && o.Address != "" {
		at = append(at, [2]string{"tcp", o.Address})
	}
	if o.Relay != "" {
		at = append(at, [2]string{"unix", o.Relay})
	}
	for _, at := range at {
		listener, err := o.Listen(ctx, at[0], at[1])
		if err != nil {
			l.Close("the leader cannot listen", exit.Run)
			return nil, fmt.Errorf("the leader cannot listen at %s: %w", at[1], err)
		}
		if at[0] == "tcp" && l.address == "" {
			l.address = listener.Addr().String()
		}
		l.server.listen(listener)
	}
	return l, nil
}

// Address returns the leader's address. It is Member.Address, with the chosen port if
// Member.Address has port 0.
func (l *Leader) Address() string { return l.address }

// Ended tells the leader that a process has ended, according to its launcher. Without this call,
// only the time limit would reveal a process that ended before the start: a process may connect
// again after its connection has ended.
func (l *Leader) Ended(process int, how string) {
	if process < 1 || process >= l.options.Self.Processes {
		return
	}
	if !l.registry.die(process) { // after the start, the connection's end shows the loss
		return
	}
	select {
	case l.early <- Loss{Process: process, Host: l.host(process), Why: how}:
	default: // only the first loss is reported
	}
}

// Wait waits until all processes have registered. After the time limit the error names the missing
// processes.
func (l *Leader) Wait(ctx context.Context) error {
	late := time.NewTimer(l.options.Register)
	defer late.Stop()
	every := time.NewTicker(l.options.StatusEvery)
	defer every.Stop()
	for {
		select {
		case loss := <-l.early:
			return fmt.Errorf("%w, before all had registered; %s", loss, l.Status().Text())
		default:
		}
		l.registry.mu.Lock()
		whole := l.registry.whole
		l.registry.mu.Unlock()
		select {
		case <-whole:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-late.C:
			return fmt.Errorf("after %s %s", l.options.Register, l.Status().Text())
		case loss := <-l.early:
			return fmt.Errorf("%w, before all had registered; %s", loss, l.Status().Text())
		case <-every.C:
			l.options.OnStatus(l.Status())
		}
	}
}

// ErrMissing is the error of Start if a process has left since Wait.
var ErrMissing = errors.New("not all processes have registered")

// Start ends the registration and sends the welcome to every process, where Join then returns. From
// now on a process whose connection ends is lost. ErrMissing means that a process has left since
// Wait; call Wait again.
func (l *Leader) Start(welcome any) error {
	text, err := json.Marshal(welcome)
	if err != nil {
		return err
	}
	if !l.registry.start() {
		return ErrMissing
	}
	l.hub.start(down{Start: text}.line())
	return nil
}

// Status returns the progress of the registration.
func (l *Leader) Status() Status { return l.registry.status() }

// Hellos returns the Hello of every process, ordered by number.
func (l *Leader) Hellos() []Hello {
	l.registry.mu.Lock()
	defer l.registry.mu.Unlock()
	return l.registry.hellos()
}

// Members returns all processes for plan.Lead, each with the given number of ranks.
func (l *Leader) Members(ranks int) []plan.Member {
	return slice.Map(l.Hellos(), func(h Hello) plan.Member { return plan.Member{Host: h.Host, Ranks: ranks} })
}

// Refusals returns the refused connections and messages: their numbers by reason, and the last
// refusals.
func (l *Leader) Refusals() (map[Reason]int, []Refused) { return l.refused.all() }

// Send sends an order to all processes.
func (l *Leader) Send(o plan.Order) {
	text, err := json.Marshal(o)
	number := l.answers.begin()
	l.patience.begin(seconds(o.Limit))
	text = down{Number: number, Order: text}.line()
	switch {
	case err != nil:
		l.failAll(plan.Failing(plan.FailedOrder, "the order cannot be sent: "+err.Error()))
	case o.Ends():
		l.hub.end(text)
	default:
		l.hub.broadcast(text)
	}
}

// SendEach sends each process its own order. Orders for the processes of a node go in one
// message to the process through which they are reached.
func (l *Leader) SendEach(orders []plan.Order) {
	number := l.answers.begin()
	limit := 0.0
	streams := map[int][]orderOf{}
	for i, o := range orders {
		limit = max(limit, o.Limit)
		text, err := json.Marshal(o)
		if err != nil {
			l.unreadable(i+1, fmt.Errorf("the order cannot be sent: %w", err))
			continue
		}
		at := l.registry.stream(i + 1)
		streams[at] = append(streams[at], orderOf{i + 1, text})
	}
	l.patience.begin(seconds(limit))
	for at, each := range streams {
		l.hub.send(at, down{Number: number, Each: each}.line())
	}
}

// Reports waits for the reports on the last order. If one reports a failure, or the order was
// abandoned, a roll call follows. A process that does not answer the roll call is lost,
// whatever it has reported. A process that answers the roll call, but has not reported, counts
// as hanging.
func (l *Leader) Reports(own plan.Report) []plan.Report {
	if own.Failure != nil {
		l.fail(l.options.Grace)
	}
	select {
	case <-l.all():
	case <-l.ended():
		l.callRoll()
		for _, process := range l.missing() {
			l.loseAs(process, "no report: "+l.reason(), plan.FailedHanging)
		}
	}
	<-l.all()
	if own.Failure != nil || l.failed() {
		l.callRoll()
	}
	l.done()
	return l.collected()
}

// callRoll finds out which processes are present. If a process is already lost, the cause is
// known and no roll call is needed.
func (l *Leader) callRoll() {
	if l.afterLoss() {
		return
	}
	limit := min(l.options.Grace, l.options.Heartbeat)
	roll, present := l.call()
	stood, ago := l.pulse.standstill()
	l.answer(roll, presence{0, stood.Seconds(), ago.Seconds()})
	l.hub.broadcast(down{Roll: roll}.line())
	await(present, limit)
	for process, reported := range l.silent() {
		why := fmt.Sprintf("no answer for %s after another process had failed", limit)
		if !reported {
			why = "no report: " + l.reason()
		}
		l.lose(process, why)
	}
}

// seconds() converts seconds to a duration of at most a year.
func seconds(s float64) time.Duration {
	return time.Duration(min(s, 365*24*3600) * float64(time.Second))
}

// Cancel tells all processes to abandon their current work. Their Context ends with the reason.
func (l *Leader) Cancel(reason string) {
	l.hub.broadcast(down{Cancel: reason}.line())
}

// Close ends the run. Processes that have not received the end order leave with the reason and the
// leader's exit code. Close waits until all have disconnected, at most one heartbeat.
func (l *Leader) Close(reason string, code int) {
	l.close.Do(func() {
		l.hub.end(down{End: cmp.Or(reason, "no reason given"), Code: code}.line())
		l.hub.drained(l.options.Heartbeat)
		l.server.close()
		l.still()
	})
}
