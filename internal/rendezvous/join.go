package rendezvous

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"sync"
	"time"

	"zbench/bench/base/jsonfile"
)

// Join registers this process with the leader and waits until the run starts. It tries
// again, at growing intervals, until Member.Register has passed. The error is *Refused
// if the leader does not accept this process. If ctx ends, Join gives up. A Follower
// that Join has already returned continues.
func Join(ctx context.Context, o Member) (*Follower, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	if o.Self.Process == 0 {
		return nil, errors.New("process 0 leads: it serves")
	}
	if err := o.Token.check(); err != nil {
		return nil, err
	}
	secure := sync.OnceValues(func() (*tls.Config, error) { return o.Token.config(following) })
	session := rand.Text()
	late, stop := context.WithTimeout(ctx, o.Register)
	defer stop()
	began, said := o.Now(), false
	for try := 0; ; try++ {
		f := newFollower(o, session)
		err := f.connect(late, secure)
		if err == nil {
			err = f.started(ctx)
		}
		if err == nil {
			return f, nil
		}
		f.abandon()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if permanent(err) {
			return nil, fmt.Errorf("process %d cannot join the run at %s: %w", o.Self.Process, o.gate(), err)
		}
		if !said && o.Now().Sub(began) >= o.StatusEvery {
			said = true
			o.OnWait(fmt.Errorf("process %d waits for the leader, rank 0, at %s, up to %s: %w", o.Self.Process, o.gate(), o.Register, err))
		}
		wait := time.NewTimer(o.backOff(try))
		select {
		case <-wait.C:
		case <-late.Done():
			wait.Stop()
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			return nil, fmt.Errorf("process %d did not reach the leader at %s within %s: %w", o.Self.Process, o.gate(), o.Register, err)
		}
	}
}

// The shortest and the longest time between two attempts to join. Attempts to reach the first
// process of the node are more frequent, because they load no other host.
const (
	minBackOff   = 50 * time.Millisecond
	maxBackOff   = 2 * time.Second
	maxLocalWait = 500 * time.Millisecond
)

// backOff returns the time before the next attempt. This time doubles with each attempt. It depends
// on the process's number too, so that processes that start together spread their attempts evenly.
func (o Member) backOff(try int) time.Duration {
	most := maxBackOff
	if o.relayed() {
		most = maxLocalWait
	}
	_, spread := math.Modf(float64(o.Self.Process) * math.Phi)
	return time.Duration(float64(min(most, minBackOff<<min(try, 16))) * (0.5 + spread))
}

// permanent() reports whether another attempt would fail with the same error.
func permanent(err error) bool {
	no, refused := errors.AsType[*Refused](err)
	return refused && no.Reason != NotRegistered || errors.Is(err, errKey) || hasEnded(err) || errors.Is(err, errRelay)
}

// relayed() reports whether this process connects through the first process of its node.
func (o Member) relayed() bool { return o.Relay != "" && o.Self.LocalProcess > 0 }

// gate() names the address to which this process connects.
func (o Member) gate() string {
	if o.relayed() {
		return o.Relay + " (this node's first process)"
	}
	return o.Address
}

// open connects to the gate. On return both ends have proved that they hold the token.
func (o Member) open(ctx context.Context, secure func() (*tls.Config, error)) (net.Conn, error) {
	network, address := "tcp", o.Address
	if o.relayed() {
		network, address = "unix", o.Relay
	}
	ctx, stop := context.WithTimeout(ctx, o.Handshake)
	defer stop()
	raw, err := o.Dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	if sameUser(raw) {
		if err = o.Token.prove(ctx, raw, following); err != nil {
			_ = raw.Close()
		}
		return raw, err
	}
	config, err := secure()
	if err != nil {
		_ = raw.Close()
		return nil, err
	}
	c := tls.Client(raw, config)
	if err = c.HandshakeContext(ctx); err != nil {
		_ = raw.Close()
	}
	return c, err
}

// register registers this process with the gate. The error of a refusal is *Refused.
func (f *Follower) register() error {
	text, err := line(registration{Protocol: Protocol, Session: f.session, Hello: f.options.Self})
	if err == nil {
		_, err = f.link.Write(text)
	}
	if err != nil {
		return err
	}
	if !f.lines.Scan() {
		return cmp.Or(f.lines.Err(), io.ErrUnexpectedEOF)
	}
	var answer answerTo
	if err = jsonfile.One(f.lines.Bytes(), &answer); err != nil {
		return fmt.Errorf("the answer to the registration cannot be read: %w", err)
	}
	if no := answer.Refused; no != nil {
		return refuse(no.Reason, "%s", no.Text) // made safe for printing
	}
	return nil
}
