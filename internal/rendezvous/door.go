package rendezvous

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"zbench/bench/plain"
)

// maxUnproven is the most connections that have not finished the handshake.
const maxUnproven = 4096

// door is a listener whose connections have proved that they hold the token. HTTP sees
// no byte of any other connection.
type door struct {
	net.Listener
	token    Token
	secure   func() (*tls.Config, error)
	refused  *refusals
	patience time.Duration // of a handshake

	proven   chan net.Conn
	unproven chan struct{} // a token for each connection in its handshake
	closed   chan struct{}
	once     sync.Once
}

func newDoor(l net.Listener, token Token, secure func() (*tls.Config, error), refused *refusals, patience time.Duration) *door {
	d := &door{
		Listener: l, token: token, secure: secure, refused: refused, patience: patience,
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
			d.count(c, TooMany, "")
		}
	}
}

func (d *door) admit(raw net.Conn) {
	defer func() { <-d.unproven }()
	ctx, stop := context.WithTimeout(context.Background(), d.patience)
	defer stop()
	w := &witness{Conn: raw, door: d, asked: true} // a failed handshake is counted here
	c, err := d.handshake(ctx, w)
	if err != nil {
		_ = raw.Close()
		d.count(raw, handshakeReason(err), err.Error())
		return
	}
	w.mu.Lock()
	w.asked = false
	w.mu.Unlock()
	select {
	case d.proven <- c:
	case <-d.closed:
		_ = c.Close()
	}
}

// handshake has the client prove that it holds the token.
func (d *door) handshake(ctx context.Context, w *witness) (net.Conn, error) {
	if sameUser(w.Conn) {
		return w, d.token.prove(ctx, w, leading)
	}
	config, err := d.secure()
	if err != nil {
		return nil, err
	}
	c := tls.Server(w, config)
	err = c.HandshakeContext(ctx)
	if err == nil && c.ConnectionState().NegotiatedProtocol != application {
		err = errNotHTTP // crypto/tls lets clients pass that offer nothing
	}
	return c, err
}

var errNotHTTP = errors.New("the client does not offer " + application)

// count counts a connection that was refused, unless this end closed it.
func (d *door) count(c net.Conn, reason Reason, text string) {
	select {
	case <-d.closed:
	default:
		from := c.RemoteAddr().String()
		if from == "" || from == "@" {
			from = "a process of this node" // most ends of Unix sockets have no name
		}
		d.refused.add(&Refused{Reason: reason, Text: plain.Line(text), Process: -1, From: from})
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

// witness counts a connection that closes without a request.
type witness struct {
	net.Conn
	door *door

	mu     sync.Mutex
	asked  bool // a request of it is, or was, handled
	closed bool // Close was called
}

// ask says that a request is handled.
func (w *witness) ask() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = true
}

// Close counts a connection that ends without a request.
func (w *witness) Close() error {
	w.mu.Lock()
	if !w.asked && !w.closed {
		w.door.count(w.Conn, Malformed, "the connection ended without a request")
	}
	w.closed = true
	w.mu.Unlock()
	return w.Conn.Close()
}
