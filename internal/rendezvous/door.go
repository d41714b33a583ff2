package rendezvous

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"zbench/bench/plain"
)

// maxUnproven is the most connections that have not finished the handshake.
const maxUnproven = 4096

// door is a listener whose connections have proved that they hold the token. HTTP sees
// no byte of any other connection.
type door struct {
	net.Listener
	config   *tls.Config
	refused  *refusals
	patience time.Duration // of a handshake

	proven   chan net.Conn
	unproven chan struct{} // a token for each connection in its handshake
	closed   chan struct{}
	once     sync.Once
}

func newDoor(l net.Listener, config *tls.Config, refused *refusals, patience time.Duration) *door {
	d := &door{
		Listener: l, config: config, refused: refused, patience: patience,
		proven: make(chan net.Conn), unproven: make(chan struct{}, maxUnproven), closed: make(chan struct{}),
	}
	go d.open()
	return d
}

func (d *door) open() {
	for {
		c, err := d.Listener.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil: // out of file descriptors, say
			select {
			case <-d.closed:
				return
			case <-time.NewTimer(100 * time.Millisecond).C:
				continue
			}
		}
		select {
		case d.unproven <- struct{}{}:
			go d.admit(c)
		default:
			_ = c.Close()
			_ = d.count(c, TooMany, "")
		}
	}
}

func (d *door) admit(raw net.Conn) {
	defer func() { <-d.unproven }()
	ctx, stop := context.WithTimeout(context.Background(), d.patience)
	defer stop()
	w := &witness{Conn: raw, door: d, asked: true} // a failed handshake is counted here
	c := tls.Server(w, d.config)
	err := c.HandshakeContext(ctx)
	if err == nil && c.ConnectionState().NegotiatedProtocol != "h2" {
		err = errNotHTTP2 // crypto/tls lets clients of HTTP/1.1 pass
	}
	if err != nil {
		_ = raw.Close()
		_ = d.count(raw, handshakeReason(err), err.Error())
		return
	}
	w.admitted()
	select {
	case d.proven <- c:
	case <-d.closed:
		_ = c.Close()
	}
}

var errNotHTTP2 = errors.New("the client does not offer HTTP/2")

// count counts a connection that was refused, unless this end closed it: then it
// returns nil.
func (d *door) count(c net.Conn, reason Reason, text string) *Refused {
	select {
	case <-d.closed:
		return nil
	default:
		one := &Refused{Reason: reason, Text: plain.Line(text), Process: -1, From: c.RemoteAddr().String()}
		d.refused.add(one)
		return one
	}
}

// Accept waits for the next connection that has proved itself.
func (d *door) Accept() (net.Conn, error) {
	select {
	case c := <-d.proven:
		return c, nil
	case <-d.closed:
		return nil, net.ErrClosed
	}
}

func (d *door) Close() error {
	d.once.Do(func() { close(d.closed) })
	return d.Listener.Close()
}

func handshakeReason(err error) Reason {
	var alert tls.AlertError
	var remote *net.OpError
	var waited net.Error
	switch {
	case errors.Is(err, errKey):
		return WrongToken
	case errors.As(err, new(tls.RecordHeaderError)):
		return NoTLS
	case errors.As(err, &waited) && waited.Timeout():
		return NoHandshake
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), strings.Contains(err.Error(), "reset by peer"):
		return ClosedEarly
	case errors.As(err, &alert), errors.As(err, &remote) && remote.Op == "remote error":
		return WrongKey
	case strings.Contains(err.Error(), "didn't provide a certificate"):
		return WrongToken
	}
	return BadHandshake
}

// witness remembers how the other end closed a connection. HTTP's own errors do not
// tell that from a missed heartbeat.
type witness struct {
	net.Conn
	door  *door
	ended atomic.Pointer[string]

	mu     sync.Mutex
	asked  bool     // a request of it is, or was, handled
	closed bool     // Close was called
	early  *Refused // what Close counted
}

// admitted begins to look for a request.
func (w *witness) admitted() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = false
}

// ask says that a request is handled. HTTP/2 starts handlers in goroutines of their own,
// so a connection can close before its first one runs; then it is not counted as one
// without a request.
func (w *witness) ask() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.early != nil {
		w.door.refused.remove(w.early)
	}
	w.asked, w.early = true, nil
}

// Close counts a connection that ends without a request.
func (w *witness) Close() error {
	w.mu.Lock()
	if !w.asked && !w.closed {
		w.early = w.door.count(w.Conn, Malformed, "the connection ended without a request")
	}
	w.closed = true
	w.mu.Unlock()
	return w.Conn.Close()
}

func (w *witness) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	var waited net.Error
	own := errors.Is(err, net.ErrClosed) || errors.Is(err, io.ErrClosedPipe) || errors.As(err, &waited) && waited.Timeout()
	if err != nil && !own {
		text := "its connection failed: " + err.Error()
		if errors.Is(err, io.EOF) {
			text = "its connection ended"
		}
		w.ended.Store(&text)
	}
	return n, err
}
