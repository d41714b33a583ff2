package rendezvous

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"zbench/bench/run/plan"
)

// Follower is the connection of every process other than the leader. It implements plan.Leader.
type Follower struct {
	options Member
	session string
	link    *link // nil until connected
	lines   *bufio.Scanner
	relay   *relay // nil unless this process gathers the processes of its node
	pulse   *pulse

	// The context `request` lasts as long as the stream. The context `ctx` lasts until the leader
	// cancels, ends, or is lost.
	request context.Context
	stop    context.CancelFunc
	ctx     context.Context
	cancel  context.CancelCauseFunc

	welcome json.RawMessage
	ready   chan struct{} // closed when the welcome arrives
	over    chan struct{} // closed when no more lines can arrive
	last    error         // the reason, valid once over is closed
	orders  chan numbered
	// The channel `abandoned` is closed some time after ctx has ended.
	abandoned chan struct{}
	current   int // number of the last order that Next returned

	close sync.Once
}

type numbered struct {
	number int
	order  plan.Order
}

var _ plan.Leader = (*Follower)(nil)

func newFollower(o Member, session string) *Follower {
	f := &Follower{
		options: o, session: session,
		ready: make(chan struct{}), over: make(chan struct{}), orders: make(chan numbered, maxQueued),
	}
	f.request, f.stop = context.WithCancel(context.Background())
	f.abandoned = make(chan struct{})
	f.ctx, f.cancel = context.WithCancelCause(context.Background())
	context.AfterFunc(f.ctx, func() { after(abandonTime, func() { close(f.abandoned) }) })
	return f
}

// connect registers this process and opens the stream. The attempt ends when ctx ends.
func (f *Follower) connect(ctx context.Context, secure func() (*tls.Config, error)) error {
	o := f.options
	ctx, stop := context.WithTimeout(ctx, o.Handshake+o.Heartbeat)
	defer stop()
	defer context.AfterFunc(ctx, f.stop)()
	conn, err := o.open(ctx, secure)
	if err != nil {
		return err
	}
	f.link = &link{Conn: conn, within: o.Heartbeat}
	f.lines = newLines(f.link, maxDown)
	context.AfterFunc(f.request, func() { _ = f.link.Close() }) // the reader then reports the end
	if err = f.register(); err != nil {
		return err
	}
	if o.Relay != "" && o.Self.LocalProcess == 0 {
		if f.relay, err = newRelay(f); err != nil {
			return err
		}
	}
	f.pulse = newPulse(f.request, o)
	go f.link.keep(f.request)
	go f.read()
	return nil
}

// started() waits until the run starts.
func (f *Follower) started(ctx context.Context) error {
	select {
	case <-f.ready:
		return nil
	case <-f.over:
		return context.Cause(f.ctx)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// abandon ends a failed attempt to connect.
func (f *Follower) abandon() {
	f.stop()
	if f.relay != nil {
		f.relay.server.close()
	}
}

// read handles the leader's lines until no more arrive.
func (f *Follower) read() {
	err := readLines(f.lines, f.take)
	_ = f.link.Close() // so that the leader notices that nothing is read
	switch {
	case f.link.silent.Load():
		err = fmt.Errorf("no heartbeat for %s", f.options.Heartbeat)
	case err == nil:
		err = io.ErrUnexpectedEOF
	}
	if !hasEnded(err) {
		err = fmt.Errorf("the connection to the leader ended: %w", err)
	}
	f.cancel(err)
	f.last = err
	select {
	case <-f.ready:
		if f.relay != nil && !hasEnded(err) {
			f.relay.lost(err)
		}
	default: // the processes of the node register again
	}
	close(f.orders)
	close(f.over)
}

// take handles a line from the leader.
func (f *Follower) take(text []byte) error {
	message, err := readDown(text)
	if err != nil {
		return fmt.Errorf("a message of the leader cannot be read: %w", err)
	}
	var order plan.Order
	own := message.own(f.options.Self.Process)
	if own != nil {
		err = order.UnmarshalJSON(own) // json.Unmarshal would scan the text once more
	}
	if f.relay != nil {
		f.relay.pass(message, order, append(slices.Clone(text), '\n'))
	}
	switch {
	case message.Start != nil:
		select {
		case <-f.ready:
			return errors.New("the leader started the run twice")
		default:
			f.welcome = slices.Clone(message.Start)
			close(f.ready)
		}
	case own != nil && err != nil:
		return f.report(message.Number, plan.Failing(plan.FailedOrder, err.Error()))
	case own != nil:
		f.orders <- numbered{message.Number, order}
	case message.Roll > 0:
		stood, ago := f.pulse.standstill()
		return f.send(up{Roll: message.Roll, Present: []presence{{f.options.Self.Process, stood.Seconds(), ago.Seconds()}}})
	case message.Cancel != "":
		f.cancel(fmt.Errorf("the leader cancelled the run: %s", message.Cancel))
	case message.End != "":
		return &Ended{message.End, message.Code}
	}
	return nil
}

// Welcome returns the argument that the leader passed to Start, as JSON.
func (f *Follower) Welcome() json.RawMessage { return f.welcome }

// Context returns a context that ends when the leader cancels the run, ends it, or is lost, even
// during an order. Its cause says which.
func (f *Follower) Context() context.Context { return f.ctx }

// Returns reports whether a call returned. A call that has not returned some time after Context has
// ended counts as hanging.
func (f *Follower) Returns(call func()) bool { return returns(call, f.abandoned) }

// Next waits for the next order.
func (f *Follower) Next() (plan.Order, error) {
	next, ok := <-f.orders
	if !ok {
		return plan.Order{}, context.Cause(f.ctx)
	}
	f.current = next.number
	return next.order, nil
}

// Wait waits, after the end order, until the leader has ended the run too, because the leader may
// have results to write. So a leader that stands still is detected. The error is Ended unless the
// leader is lost.
func (f *Follower) Wait() error {
	<-f.over
	return f.last
}

// Report answers the order that Next returned last.
func (f *Follower) Report(r plan.Report) error { return f.report(f.current, r) }

func (f *Follower) report(number int, r plan.Report) error {
	message, err := f.message(number, r)
	if err != nil {
		return err
	}
	if f.relay != nil {
		f.relay.collect(f.options.Self.Process, message)
		return nil
	}
	return f.send(message)
}

// message returns the line with which a report is sent to the leader.
func (f *Follower) message(number int, r plan.Report) (up, error) {
	if times, only := r.Joined(); only && 2*8*len(times.Seconds) <= plan.MaxReport { // base64 is certainly shorter than JSON
		return up{Number: number, Joined: []joinedOf{{[]int{f.options.Self.Process}, times}}}, nil
	}
	text, err := json.Marshal(r)
	if err == nil && len(text) > plan.MaxReport {
		r = plan.Failing(plan.FailedOrder, fmt.Sprintf("the report has %d bytes; the limit is %d", len(text), plan.MaxReport))
		text, err = json.Marshal(r)
	}
	return up{Number: number, Reports: []reportOf{{f.options.Self.Process, text}}}, err
}

// Stop tells the leader at once that this process was requested to stop.
func (f *Follower) Stop() error { return f.send(up{Stop: []int{f.options.Self.Process}}) }

func (f *Follower) send(message up) error {
	text, err := line(message)
	if err != nil {
		return err
	}
	_, err = f.link.Write(text)
	if err != nil && f.ctx.Err() != nil {
		return context.Cause(f.ctx)
	}
	return err
}

// Refusals returns the connections and messages that this process has refused while gathering
// the processes of its node: their numbers by reason, and the last refusals.
func (f *Follower) Refusals() (map[Reason]int, []Refused) {
	if f.relay == nil {
		return nil, nil
	}
	return f.relay.refused.all()
}

// Close leaves the run. Before the end order, the leader counts this process as lost. If this
// process gathers the processes of its node, Close waits for them, at most one heartbeat.
func (f *Follower) Close() {
	f.close.Do(func() {
		if f.relay != nil {
			f.relay.hub.drained(f.options.Heartbeat)
			f.relay.server.close()
		}
		go func() { _, _ = io.WriteString(f.link, farewell+"\n") }() // the write may block, because the leader may be gone
		await(f.over, f.options.Heartbeat)
		f.stop()
	})
}
