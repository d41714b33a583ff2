package rendezvous

import (
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// server answers the processes that connect to this one.
type server struct {
	hub     *hub
	refused *refusals
	// register checks a registration; nil accepts it.
	register func(ctx context.Context, r registration) *Refused
	http     *http.Server
	config   *tls.Config
	patience time.Duration
}

func newServer(o Options, h *hub, refused *refusals, register func(context.Context, registration) *Refused) (*server, error) {
	config, err := o.Token.config(leading)
	if err != nil {
		return nil, err
	}
	s := &server{hub: h, refused: refused, register: register, config: config, patience: o.Handshake}
	routes := http.NewServeMux()
	routes.HandleFunc("POST /hello", s.hello)
	routes.HandleFunc("POST /run/{process}/{session}", func(w http.ResponseWriter, r *http.Request) { h.serve(w, r, refused) })
	routes.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		refused.answer(w, r.RemoteAddr, refuse(UnknownPath, "the leader of a run answers /hello and /run only"))
	})
	s.http = &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if c, ok := r.Context().Value(connection{}).(*witness); ok {
				c.ask()
			}
			routes.ServeHTTP(w, r)
		}),
		ErrorLog:       slog.NewLogLogger(slog.DiscardHandler, slog.LevelError), // what matters is counted as refused
		MaxHeaderBytes: 4 << 10, IdleTimeout: o.Heartbeat,
		HTTP2: pings(o.Heartbeat),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			if t, ok := c.(*tls.Conn); ok {
				return context.WithValue(ctx, connection{}, t.NetConn())
			}
			return ctx
		},
	}
	return s, nil
}

// maxFrame is the largest frame of HTTP/2 in bytes, the least that it allows. The client
// keeps a buffer of one frame, at most 512 KiB, for as long as the run lasts.
const maxFrame = 16 << 10

// pings are HTTP/2's own heartbeats. A connection without an answer ends within the
// given time.
func pings(within time.Duration) *http.HTTP2Config {
	return &http.HTTP2Config{SendPingTimeout: within / 2, PingTimeout: within / 2, MaxReadFrameSize: maxFrame}
}

// listen serves connections to l until the server is closed.
func (s *server) listen(l net.Listener) {
	go func() { _ = s.http.Serve(newDoor(l, s.config, s.refused, s.patience)) }() // it ends with the server
}

// hello is the handler of a registration.
func (s *server) hello(w http.ResponseWriter, r *http.Request) {
	in, no := s.receive(r.Body)
	if no == nil {
		no = s.register(r.Context(), in)
	}
	if no != nil {
		s.refused.answer(w, r.RemoteAddr, no)
	}
}

// receive reads a registration within its limits of size and time. The end of the
// handler ends a read that is late.
func (s *server) receive(body io.Reader) (registration, *Refused) {
	late := time.NewTimer(s.patience)
	defer late.Stop()
	var text []byte
	read := make(chan error, 1)
	go func() {
		var err error
		text, err = io.ReadAll(io.LimitReader(body, maxHello+1))
		read <- err
	}()
	select {
	case err := <-read:
		switch {
		case len(text) > maxHello:
			return registration{}, refuse(TooLarge, "the registration has more than %d bytes", maxHello)
		case err != nil:
			return registration{}, refuse(TooSlow, "the registration ended early: %v", err)
		}
		return readRegistration(text)
	case <-late.C:
		return registration{}, refuse(TooSlow, "the registration did not arrive whole within %s", s.patience)
	}
}

// close ends the server and its connections.
func (s *server) close() { _ = s.http.Close() } // listeners may be closed already
