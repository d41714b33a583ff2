package rendezvous_test

import (
	"context"
	"io"
	"net"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/internal/rendezvous"
)

// Connections that stay silent take neither the places of the processes nor the leader's
// files: the oldest leave, which is counted.
func TestSilentCrowd(t *testing.T) {
	const n, room, many = 4, 8, 40
	t.Cleanup(rendezvous.Room(room))
	token := rendezvous.NewToken()
	l, address := serve(t, patient(rendezvous.Member{Token: token, Self: self(0, n)}))
	for range many {
		c, err := net.Dial("tcp", address)
		require.NoError(t, err)
		defer func() { _ = c.Close() }()
	}
	left := followers(t, n, func(process int) rendezvous.Member {
		return patient(rendezvous.Member{Token: token, Self: self(process, n), Address: address})
	})
	require.Equal(t, oracle(n), lead(t, l, &toy{ranks: 1}, n))
	allLeave(t, left, n)
	counts, last := l.Refusals()
	require.GreaterOrEqual(t, counts[rendezvous.TooMany], many-room)
	require.LessOrEqual(t, counts[rendezvous.TooMany], many)
	require.Contains(t, last[0].Text, "proved nothing")
}

// withoutFiles is a listener of a process that has no file left for a connection, unless one
// of the others has been closed.
type withoutFiles struct {
	net.Listener
	free atomic.Int32
}

func (l *withoutFiles) Accept() (net.Conn, error) {
	if l.free.Load() <= 0 {
		return nil, &net.OpError{Op: "accept", Err: syscall.EMFILE}
	}
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.free.Add(-1)
	return &counted{Conn: c, l: l}, nil
}

type counted struct {
	net.Conn
	l      *withoutFiles
	closed atomic.Bool
}

func (c *counted) Close() error {
	if c.closed.CompareAndSwap(false, true) {
		c.l.free.Add(1)
	}
	return c.Conn.Close()
}

// A leader that has no files left for connections gets them from those that stay silent.
func TestNoFilesAreLeft(t *testing.T) {
	const n, files = 4, 6
	token := rendezvous.NewToken()
	o := patient(rendezvous.Member{Token: token, Self: self(0, n)})
	o.Listen = func(ctx context.Context, network, address string) (net.Listener, error) {
		l, err := new(net.ListenConfig).Listen(ctx, network, address)
		w := &withoutFiles{Listener: l}
		w.free.Store(files)
		return w, err
	}
	l, address := serve(t, o)
	for range 2 * files {
		c, err := net.Dial("tcp", address)
		require.NoError(t, err)
		defer func() { _ = c.Close() }()
		_, err = io.WriteString(c, "\x16") // the begin of a handshake that does not go on
		require.NoError(t, err)
	}
	left := followers(t, n, func(process int) rendezvous.Member {
		return patient(rendezvous.Member{Token: token, Self: self(process, n), Address: address})
	})
	require.Equal(t, oracle(n), lead(t, l, &toy{ranks: 1}, n))
	allLeave(t, left, n)
}
