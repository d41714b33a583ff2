package rendezvous

import (
	"context"
	"crypto/tls"
	"errors"
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
				c.asked.Store(true)
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

// pings are HTTP/2's own heartbeats. A connection without an answer ends within the
// given time.
func pings(within time.Duration) *http.HTTP2Config {
	return &http.HTTP2Config{SendPingTimeout: within / 2, PingTimeout: within / 2}
}

// listen serves connections to l until the server is closed.
func (s *server) listen(l net.Listener) {
	go func() { _ = s.http.Serve(newDoor(l, s.config, s.refused, s.patience)) }() // it ends with the server
}

// hello is the handler of a registration.
func (s *server) hello(w http.ResponseWriter, r *http.Request) {
	late := time.AfterFunc(s.patience, func() { _ = http.NewResponseController(w).SetReadDeadline(time.Unix(1, 0)) })
	defer late.Stop()
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxHello))
	var no *Refused
	var in registration
	switch {
	case errors.As(err, new(*http.MaxBytesError)):
		no = refuse(TooLarge, "the registration has more than %d bytes", maxHello)
	case err != nil:
		no = refuse(TooSlow, "the registration did not arrive whole within %s", s.patience)
	default:
		if in, no = readRegistration(text); no == nil {
			no = s.register(r.Context(), in)
		}
	}
	if no != nil {
		s.refused.answer(w, r.RemoteAddr, no)
	}
}

// close ends the server and its connections.
func (s *server) close() { _ = s.http.Close() } // listeners may be closed already
