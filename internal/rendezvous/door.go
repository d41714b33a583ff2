package rendezvous

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"strings"
	"time"

	"zbench/bench/base/plain"
)

// minUnproven is how many connections may be in their handshake at the same time. If the world has
// more processes, that number is used, because all may connect at once.
var minUnproven = 512 // a variable, because tests may have fewer files

// acceptAgain is how long the listener pauses after an error, such as too many open files.
const acceptAgain = 20 * time.Millisecond

// door admits the connections of a listener that prove the token and register.
type door struct {
	*server
	listener net.Listener
	unproven crowd
}

func (d *door) admitAll() {
	for {
		c, err := d.listener.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			d.unproven.drop() // frees a file for the next connection
			select {
			case <-d.open.Done():
				return
			case <-time.NewTimer(acceptAgain).C:
			}
		default:
			go d.admit(c, d.unproven.enter(c))
		}
	}
}

// errCrowded is the error of a connection that was closed to make room for a newer one.
var errCrowded = errors.New("too many connections that had proved nothing: this one was the oldest")

// admit accepts or refuses a connection and serves it. `number` is the connection's number in the
// crowd.
func (d *door) admit(raw net.Conn, number int) {
	stop := context.AfterFunc(d.open, func() { _ = raw.Close() })
	defer stop()
	c, err := d.handshake(raw)
	if !d.unproven.leave(number) {
		err = errCrowded
	}
	if err != nil {
		_ = raw.Close()
		d.count(raw, refuse(handshakeReason(err), "%v", err))
		return
	}
	l := &link{Conn: c, within: d.hub.heartbeat}
	defer func() { _ = l.Close() }() // the other end may have closed the link already
	in, lines, no := d.receive(l)
	var m *member
	if no == nil {
		m, no = d.register(d.open, in)
	}
	if no != nil {
		d.count(raw, no)
	}
	answer, _ := line(answerTo{Refused: no}) // encoding text cannot fail
	_, err = l.Write(answer)
	stop()
	switch {
	case no != nil:
	case err != nil:
		d.hub.drop(m, "its connection failed: "+err.Error())
	default:
		d.hub.serve(m, l, lines)
	}
}

// receive reads a registration within its limits of size and time. It returns the reader for the
// lines that follow.
func (d *door) receive(l *link) (registration, *bufio.Scanner, *Refused) {
	ctx, stop := context.WithTimeout(d.open, d.patience)
	defer stop()
	late, _ := ctx.Deadline() // the context has a deadline
	_ = l.SetReadDeadline(late)
	first := &io.LimitedReader{R: l, N: maxHello + 1}
	lines := newLines(first, d.hub.limit)
	whole, err := lines.Scan(), lines.Err()
	var waited net.Error
	switch {
	case whole:
		_ = l.SetReadDeadline(time.Time{})
		first.N = math.MaxInt64
		in, no := readRegistration(lines.Bytes())
		return in, lines, no
	case first.N <= 0:
		return registration{}, nil, refuse(TooLarge, "the registration has more than %d bytes", maxHello)
	case errors.As(err, &waited) && waited.Timeout():
		return registration{}, nil, refuse(TooSlow, "the registration did not arrive whole within %s", d.patience)
	case first.N == maxHello+1:
		return registration{}, nil, refuse(Malformed, "the connection ended without a request")
	}
	return registration{}, nil, refuse(TooSlow, "the registration ended early: %v", cmp.Or(err, io.ErrUnexpectedEOF))
}

// handshake makes the client prove the token.
func (d *door) handshake(raw net.Conn) (net.Conn, error) {
	ctx, stop := context.WithTimeout(d.open, d.patience)
	defer stop()
	if sameUser(raw) {
		return raw, d.token.prove(ctx, raw, leading)
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
	c := tls.Server(raw, config)
	err = c.HandshakeContext(ctx)
	if err != nil && its != "" && its != version {
		err = fmt.Errorf("%w (%q there, %q in the leader): %w", errVersion, plain.Line(its), version, err)
	}
	if err == nil && c.ConnectionState().NegotiatedProtocol != application {
		err = errNotOffered // crypto/tls also accepts clients that offer no protocol
	}
	return c, err
}

var errNotOffered = errors.New("the client does not offer " + application)

// count counts a refused connection, unless this end closed it.
func (d *door) count(c net.Conn, no *Refused) {
	if d.open.Err() != nil {
		return
	}
	no.From = c.RemoteAddr().String()
	if no.From == "" || no.From == "@" {
		no.From = "a process of this node" // the client's end of a Unix socket usually has no name
	}
	d.refused.add(no)
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
