// Package rendezvous registers and controls the processes of a run. One of them, the leader,
// listens over TLS; the others register, receive orders and report. The package implements
// plan.Followers for the leader and plan.Leader for the other processes. It knows nothing of
// sweeps.
//
// The leader calls Serve, Wait until all processes have registered, Start, and then plan.Lead.
// Every other process calls Join and then plan.Follow. All processes hold the same Token, from
// which the keys of both ends are derived. The dates and names of certificates are ignored.
//
// The first process of a node can gather the node's other processes (Member.Relay). The leader then
// has one connection per node, and sends one message per order and node. Within a node the
// processes of one user use a Unix socket without TLS, over which they also prove the token.
//
// Each end detects the loss of the other by the end of the connection or by missed heartbeats, even
// during an order.
//
// A connection carries lines of JSON: a registration, the answer to it, then messages. HTTP/2 with
// its streams and flow control, and with TLS within a node, took a third of the leader's CPU time.
// gRPC is based on HTTP/2 and would carry the same JSON.
package rendezvous

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"time"
)

// Member describes a process of the world for Serve and Join.
type Member struct {
	Token Token
	// Address is the host:port at which the leader listens and to which Join connects.
	Address string
	// Bind lists the addresses at which Serve listens. If it is empty, Serve listens only at
	// Address.
	Bind []string
	// Self describes this process.
	Self Hello
	// Relay is the Unix socket at which the first process of the node gathers
	// the node's other processes (Token.LocalAddress). If it is empty, each
	// process connects to the leader.
	Relay string

	// Register is the time limit for the registration of all processes; 0 means 5 min.
	Register time.Duration
	// Heartbeat is how long a connection may be silent before it counts as lost; 0 means 30 s.
	Heartbeat time.Duration
	// Handshake is the time limit for proving the token and sending a registration; 0 means 10 s.
	Handshake time.Duration

	// OnWait is called once if Join has not reached the leader within StatusEvery. The error
	// describes what Join waits for. If StatusEvery is 0, it is 10 s.
	OnWait      func(error)
	StatusEvery time.Duration

	// Grace is how long the other processes may take to report after a process has failed; 0
	// means 10 s. Only Serve uses this field and the following ones.
	Grace time.Duration
	// OnStatus is called every StatusEvery as long as processes are missing.
	OnStatus func(Status)
	// OnLost is called once for each process that is lost after Start. OnStop is called when a
	// process was requested to stop. Both are called immediately, even between two orders.
	OnLost func(Loss)
	OnStop func(process int)
	// OnGiveUp is called once when the run is given up: a process was lost, a process has
	// failed and other processes do not report, or an order took longer than its limit.
	OnGiveUp func(why string)

	// Now returns the time; nil means the system's clock.
	Now func() time.Time
	// Listen and Dial make listeners and connections; nil means the functions of package net.
	Listen func(ctx context.Context, network, address string) (net.Listener, error)
	Dial   func(ctx context.Context, network, address string) (net.Conn, error)
}

func (o Member) withDefaults() Member {
	o.Register = cmp.Or(o.Register, 5*time.Minute)
	o.Heartbeat = cmp.Or(o.Heartbeat, 30*time.Second)
	o.Handshake = cmp.Or(o.Handshake, 10*time.Second)
	o.Grace = cmp.Or(o.Grace, defaultGrace)
	o.StatusEvery = cmp.Or(o.StatusEvery, 10*time.Second)
	if o.Now == nil {
		o.Now = time.Now //nolint:forbidigo // the default of a field
	}
	if o.Listen == nil {
		o.Listen = new(net.ListenConfig).Listen
	}
	if o.Dial == nil {
		o.Dial = new(net.Dialer).DialContext
	}
	o.OnWait = orNothing(o.OnWait)
	o.OnStatus, o.OnLost = orNothing(o.OnStatus), orNothing(o.OnLost)
	o.OnGiveUp, o.OnStop = orNothing(o.OnGiveUp), orNothing(o.OnStop)
	return o
}

// orNothing returns the function, or an empty function if it is nil.
func orNothing[T any](tell func(T)) func(T) {
	if tell == nil {
		return func(T) {}
	}
	return tell
}

// validate refuses invalid numbers of a process.
func (o Member) validate() error {
	h := o.Self
	switch {
	case h.Processes < 1 || h.Processes > MaxProcesses:
		return fmt.Errorf("the number of processes must be 1 to %d, not %d", MaxProcesses, h.Processes)
	case h.Process < 0 || h.Process >= h.Processes:
		return fmt.Errorf("the number of this process must be 0 to %d, not %d", h.Processes-1, h.Process)
	}
	return nil
}
