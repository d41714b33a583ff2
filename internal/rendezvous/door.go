package rendezvous

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"zbench/bench/plain"
)

// minUnproven is how many connections may be in their handshake at least: as many as a world
// has processes, which may all come at once, or these.
var minUnproven = 512 // a variable for tests: theirs may not have as many files

// acceptAgain is the time until connections are accepted again after an error: out of file
// descriptors, say.
const acceptAgain = 20 * time.Millisecond

// door is a listener whose connections have proved that they hold the token. HTTP sees
// no byte of any other connection.
type door struct {
	net.Listener
	token    Token
	secure   func() (*tls.Config, error)
	refused  *refusals
	patience time.Duration // of a handshake

	unproven crowd
	proven   chan net.Conn
	closed   chan struct{}
	once     sync.Once
}

// open begins to let connections in. room is how many may be in their handshake.
func (d *door) open(room int) *door {
	d.unproven.room, d.proven, d.closed = room, make(chan net.Conn), make(chan struct{})
	go d.admitAll()
	return d
}

func (d *door) admitAll() {
	for {
		c, err := d.Listener.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			d.unproven.drop() // its file is for the next one
			select {
			case <-d.closed:
				return
			case <-time.NewTimer(acceptAgain).C:
			}
		default:
			go d.admit(c, d.unproven.enter(c))
		}
	}
}

// errCrowded is the error of a connection that had to leave for a newer one.
var errCrowded = errors.New("too many connections that had proved nothing: this one was the oldest")

// admit accepts or refuses a connection of the unproven, by its number among them.
func (d *door) admit(raw net.Conn, number int) {
	ctx, stop := context.WithTimeout(context.Background(), d.patience)
	defer stop()
	w := &witness{Conn: raw, door: d, asked: true} // a failed handshake is counted here
	c, err := d.handshake(ctx, w)
	if !d.unproven.leave(number) {
		err = errCrowded
	}
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
	its := ""
	config = config.Clone()
	config.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		its = offered(hello.SupportedProtos)
		return nil, nil
	}
	c := tls.Server(w, config)
	err = c.HandshakeContext(ctx)
	if err != nil && its != "" && its != version {
		err = fmt.Errorf("%w (%q there, %q in the leader): %w", errVersion, plain.Line(its), version, err)
	}
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
	case errors.Is(err, errCrowded):
		return TooMany
	case errors.Is(err, errVersion):
		return OtherProtocol
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
