// Package rendezvous registers and controls the processes of a run. One of them, the leader,
// listens over TLS; the others register, receive orders and report. It implements plan.Followers
// for the leader and plan.Leader for the others; it knows nothing of sweeps.
//
// The leader calls Serve, Wait until all processes have registered, Start, and then plan.Lead.
// Every other process calls Join and then plan.Follow. All hold the same Token, from which the keys
// of both ends are derived; a certificate's dates and names are ignored.
//
// On a node, local process 0 can gather the others (Member.Relay): the leader then has one
// connection and one message per order for each node. Between processes of one user the node's Unix
// socket carries no TLS; the token is proved there as well.
//
// Either end detects the loss of the other by the end of the connection or by missed heartbeats,
// also during an order.
//
// A connection carries lines of JSON: a registration, its answer, then messages. The streams and
// flow control of HTTP/2, with TLS within a node, took a third of the leader's CPU time. gRPC is
// based on HTTP/2 and would carry the same JSON.
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
	// Address is the leader's host:port, where Serve listens and to which Join connects.
	Address string
	// Bind are the addresses at which Serve listens; if empty, only Address.
	Bind []string
	// Self describes this process.
	Self Hello
	// Relay is the Unix socket at which this node's first process gathers the others
	// (Token.LocalAddress); if empty, each process connects to the leader.
	Relay string

	// Register is the longest time until all processes have registered; 5 min if 0.
	Register time.Duration
	// Heartbeat is the time after which a silent connection counts as lost; 30 s if 0.
	Heartbeat time.Duration
	// Handshake is the time to prove the token and to send a registration; 10 s if 0.
	Handshake time.Duration

	// OnWait is called once if Join has not reached the leader for StatusEvery (10 s if 0), with a
	// description of what it waits for.
	OnWait      func(error)
	StatusEvery time.Duration

	// Grace is how long the others may take to report after one process has failed; 10 s if 0. Only
	// Serve uses this and the following fields.
	Grace time.Duration
	// OnStatus is called every StatusEvery while processes are missing.
	OnStatus func(Status)
	// OnLost is called once for each process lost after Start, OnStop when a process was asked to
	// stop. They are called immediately, also between two orders.
	OnLost func(Loss)
	OnStop func(process int)
	// OnGiveUp is called once when the run is abandoned: a process was lost, one has failed and the
	// others do not report, or an order took longer than its limit.
	OnGiveUp func(why string)

	// Now is the clock; nil means the system's.
	Now func() time.Time
	// Listen and Dial open connections; nil uses package net.
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

// orNothing returns a function, or one that does nothing in place of nil.
func orNothing[T any](tell func(T)) func(T) {
	if tell == nil {
		return func(T) {}
	}
	return tell
}

// validate refuses impossible numbers of a process.
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
