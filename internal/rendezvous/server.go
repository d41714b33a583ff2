package rendezvous

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
	"time"
)

// server lets processes connect to this one.
type server struct {
	hub     *hub
	refused *refusals
	// register adds a process to the hub or refuses it.
	register func(ctx context.Context, in registration) (*member, *Refused)
	token    Token
	secure   func() (*tls.Config, error) // made on first use
	patience time.Duration               // time limit of a handshake, and of a registration
	// `room` is the largest number of connections of a listener that may be in
	// their handshake.
	room      int
	listeners []net.Listener
	open      context.Context // ends with the server
	shut      context.CancelFunc
}

func newServer(o Member, h *hub, refused *refusals, register func(context.Context, registration) (*member, *Refused)) (*server, error) {
	if err := o.Token.check(); err != nil {
		return nil, err
	}
	s := &server{hub: h, refused: refused, register: register, token: o.Token, patience: o.Handshake, room: max(minUnproven, o.Self.Processes)}
	s.secure = sync.OnceValues(func() (*tls.Config, error) { return o.Token.config(leading) })
	s.open, s.shut = context.WithCancel(context.Background())
	return s, nil
}

// listen serves connections to l until the server is closed.
func (s *server) listen(l net.Listener) {
	s.listeners = append(s.listeners, l)
	go (&door{server: s, listener: l, unproven: crowd{room: s.room}}).admitAll()
}

// close ends the server and its connections.
func (s *server) close() {
	s.shut()
	for _, l := range s.listeners {
		_ = l.Close()
	}
	s.hub.cut()
}
