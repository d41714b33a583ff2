package rendezvous

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"time"
)

// Join registers this process with the leader and waits until the run starts. It tries
// again, at growing intervals, until Options.Register has passed. Its error is *Refused
// if the leader does not accept this process. The end of ctx ends Join, but not the
// Follower.
func Join(ctx context.Context, o Options) (*Follower, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	if o.Self.Process == 0 {
		return nil, errors.New("process 0 leads: it serves")
	}
	config, err := o.Token.config(following)
	if err != nil {
		return nil, err
	}
	session := rand.Text()
	late, stop := context.WithTimeout(ctx, o.Register)
	defer stop()
	for try := 0; ; try++ {
		f := newFollower(o, config, session)
		err := f.connect(late)
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

// The least and the greatest time between two attempts to join. An attempt at this node's
// first process costs no other host anything; many processes may wait for that one in turn.
const (
	minBackOff   = 50 * time.Millisecond
	maxBackOff   = 2 * time.Second
	maxLocalWait = 500 * time.Millisecond
)

// backOff doubles with each attempt. Processes that start together try at different
// times: their numbers spread them evenly.
func (o Options) backOff(try int) time.Duration {
	most := maxBackOff
	if o.relayed() {
		most = maxLocalWait
	}
	_, spread := math.Modf(float64(o.Self.Process) * math.Phi)
	return time.Duration(float64(min(most, minBackOff<<min(try, 16))) * (0.5 + spread))
}

// permanent reports that another attempt would fail as well.
func permanent(err error) bool {
	no, refused := errors.AsType[*Refused](err)
	return refused && no.Reason != NotRegistered || errors.Is(err, errKey) || errors.Is(err, ErrEnded) || errors.Is(err, errRelay)
}

// relayed reports whether this process connects through its node's first one.
func (o Options) relayed() bool { return o.Relay != "" && o.Self.LocalProcess > 0 }

// gate is the address that this process connects to.
func (o Options) gate() string {
	if o.relayed() {
		return o.Relay + " (this node's first process)"
	}
	return o.Address
}

// transport is an HTTP/2 client with one connection, to the gate.
func (o Options) transport(config *tls.Config) *http.Transport {
	var only http.Protocols
	only.SetHTTP2(true)
	return &http.Transport{
		TLSClientConfig: config, TLSHandshakeTimeout: o.Handshake, Protocols: &only, HTTP2: pings(o.Heartbeat),
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			if o.relayed() {
				return o.Dial(ctx, "unix", o.Relay)
			}
			return o.Dial(ctx, "tcp", o.Address)
		},
	}
}

// post sends a request to the gate. The error of a refusal is *Refused.
func (f *Follower) post(ctx context.Context, path string, body io.Reader) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://zbench"+path, body)
	if err != nil {
		return nil, err
	}
	answer, err := f.transport.RoundTrip(request)
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	if err != nil {
		return nil, err
	}
	if answer.StatusCode == http.StatusOK {
		return answer, nil
	}
	defer func() { _ = answer.Body.Close() }() // what counts has been read
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxHello))
	no := refuse("", "")
	if err = errors.Join(err, json.Unmarshal(text, no)); err != nil || no.Reason == "" {
		return nil, fmt.Errorf("status %q: another program answers there", answer.Status)
	}
	no.Text = refuse("", "%s", no.Text).Text // made safe to print
	return nil, no
}

// register sends a registration, this process's or that of one that it gathers.
func (f *Follower) register(ctx context.Context, in registration) error {
	text, err := json.Marshal(in)
	if err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(ctx, f.options.Handshake+f.options.Heartbeat)
	defer stop()
	answer, err := f.post(ctx, "/hello", bytes.NewReader(text))
	if err != nil {
		return err
	}
	return answer.Body.Close()
}
