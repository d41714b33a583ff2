package cluster

import (
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// proxy passes connections on to a target, as a network does that is slow, stands still
// or breaks.
type proxy struct {
	address string
	// delay is how long each byte takes one way.
	delay time.Duration
	// still is nonzero while nothing passes.
	still atomic.Bool
	// bytes are those passed on so far.
	bytes atomic.Int64

	mutex sync.Mutex
	// open are the connections by the address that they come from.
	open map[string][]net.Conn
}

// newProxy listens on an address and passes everything on to the target. It ends with the
// test.
func newProxy(t *testing.T, address, target string, delay time.Duration) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	p := &proxy{address: listener.Addr().String(), delay: delay, open: map[string][]net.Conn{}}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			in, err := listener.Accept()
			if err != nil {
				return
			}
			all.Go(func() { p.pass(ctx, in, target) })
		}
	})
	t.Cleanup(func() {
		cancel()
		_ = listener.Close()
		p.cut("")
		all.Wait()
	})
	return p
}

// pass connects to the target and copies both ways. Without a target the connection is
// closed, as that of a host where nothing listens.
func (p *proxy) pass(ctx context.Context, in net.Conn, target string) {
	defer in.Close() //nolint:errcheck // it may be cut
	out, err := new(net.Dialer).DialContext(ctx, "tcp", target)
	if err != nil {
		return
	}
	defer out.Close() //nolint:errcheck // it may be cut
	p.mutex.Lock()
	from := in.RemoteAddr().String()
	p.open[from] = []net.Conn{in, out}
	p.mutex.Unlock()
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{in, out}, {out, in}} {
		both.Go(func() {
			p.copy(ctx, way[1], way[0])
			_ = in.Close()
			_ = out.Close()
		})
	}
	both.Wait()
	p.mutex.Lock()
	delete(p.open, from)
	p.mutex.Unlock()
}

// chunk is what was read, and when it is due at the other end.
type chunk struct {
	data []byte
	due  time.Time
}

// copy delays what it passes on, and keeps it while the proxy stands still.
func (p *proxy) copy(ctx context.Context, to io.Writer, from io.Reader) {
	queue := make(chan chunk, 1024)
	go func() {
		defer close(queue)
		for {
			data := make([]byte, 16<<10)
			n, err := from.Read(data)
			if n > 0 {
				select {
				case queue <- chunk{data[:n], time.Now().Add(p.delay)}:
				case <-ctx.Done():
					return
				}
			}
			if err != nil {
				return
			}
		}
	}()
	for c := range queue {
		for ctx.Err() == nil && (p.still.Load() || time.Now().Before(c.due)) {
			time.Sleep(time.Millisecond)
		}
		p.bytes.Add(int64(len(c.data)))
		_, _ = to.Write(c.data) // an end that is closed ends the other direction's reader, and that this one's
	}
}

// cut ends the connections from a host; an empty one ends all.
func (p *proxy) cut(host string) int {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	n := 0
	for from, conns := range p.open {
		if host != "" && !strings.HasPrefix(from, host+":") {
			continue
		}
		n++
		for _, c := range conns {
			_ = c.Close()
		}
	}
	return n
}

// The proxy does what the tests of the network rely on; without that a test of a delay
// would pass without one.
func TestProxyDelaysStallsAndCuts(t *testing.T) {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = server.Close() })
	go func() {
		for {
			c, err := server.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(c, c) }() // an echo
		}
	}()
	const delay = 40 * time.Millisecond
	p := newProxy(t, "127.0.0.1:0", server.Addr().String(), delay)
	c, err := net.Dial("tcp", p.address)
	require.NoError(t, err)
	answer := func() (time.Duration, error) {
		began := time.Now()
		if _, err := c.Write([]byte("x")); err != nil {
			return 0, err
		}
		_, err := c.Read(make([]byte, 1))
		return time.Since(began), err
	}
	took, err := answer()
	require.NoError(t, err)
	require.GreaterOrEqual(t, took, 2*delay)
	p.still.Store(true)
	time.AfterFunc(10*delay, func() { p.still.Store(false) })
	took, err = answer()
	require.NoError(t, err)
	require.GreaterOrEqual(t, took, 10*delay)
	require.EqualValues(t, 4, p.bytes.Load())
	require.Equal(t, 0, p.cut("127.0.0.9"))
	require.Equal(t, 1, p.cut("127.0.0.1"))
	_, err = answer()
	require.Error(t, err)
}
