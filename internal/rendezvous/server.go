package rendezvous

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// server answers the processes that connect to this one.
type server struct {
	hub     *hub
	refused *refusals
	// register checks a registration; nil accepts it.
	register func(ctx context.Context, r registration) *Refused
	http     *http.Server
	token    Token
	secure   func() (*tls.Config, error) // made when it is first needed
	patience time.Duration
	// room is how many connections may be in their handshake.
	room int
}

func newServer(o Member, h *hub, refused *refusals, register func(context.Context, registration) *Refused) (*server, error) {
	if err := o.Token.check(); err != nil {
		return nil, err
	}
	s := &server{hub: h, refused: refused, register: register, token: o.Token, patience: o.Handshake, room: max(minUnproven, o.Self.Processes)}
	s.secure = sync.OnceValues(func() (*tls.Config, error) { return o.Token.config(leading) })
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
		MaxHeaderBytes: 4 << 10, ReadHeaderTimeout: o.Handshake, IdleTimeout: o.Heartbeat,
		Protocols: new(http.Protocols),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			if t, ok := c.(*tls.Conn); ok {
				c = t.NetConn()
			}
			return context.WithValue(ctx, connection{}, c)
		},
	}
	s.http.Protocols.SetHTTP1(true)
	return s, nil
}

// connection is the key of a request's witness.
type connection struct{}

// listen serves connections to l until the server is closed.
func (s *server) listen(l net.Listener) {
	d := &door{Listener: l, token: s.token, secure: s.secure, refused: s.refused, patience: s.patience}
	go func() { _ = s.http.Serve(d.open(s.room)) }() // it ends with the server
}

// hello is the handler of a registration.
func (s *server) hello(w http.ResponseWriter, r *http.Request) {
	in, no := s.receive(w, r)
	if no == nil {
		no = s.register(r.Context(), in)
	}
	if no != nil {
		w.Header().Set("Connection", "close")
		s.refused.answer(w, r.RemoteAddr, no)
	}
}

// receive reads a registration within its limits of size and time.
func (s *server) receive(w http.ResponseWriter, r *http.Request) (registration, *Refused) {
	ctx, stop := context.WithTimeout(r.Context(), s.patience)
	defer stop()
	late, _ := ctx.Deadline()                                   // there is one
	_ = http.NewResponseController(w).SetReadDeadline(late)     // HTTP sets it anew for the next request
	text, err := io.ReadAll(io.LimitReader(r.Body, maxHello+1)) // the deadline ends it
	var waited net.Error
	switch {
	case len(text) > maxHello:
		return registration{}, refuse(TooLarge, "the registration has more than %d bytes", maxHello)
	case errors.As(err, &waited) && waited.Timeout():
		return registration{}, refuse(TooSlow, "the registration did not arrive whole within %s", s.patience)
	case err != nil:
		return registration{}, refuse(TooSlow, "the registration ended early: %v", err)
	}
	return readRegistration(text)
}

// close ends the server and its connections.
func (s *server) close() {
	_ = s.http.Close() // listeners may be closed already
	s.hub.cut()
}
