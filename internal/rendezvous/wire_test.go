package rendezvous_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"zbench/internal/rendezvous"
)

// fate is what a wire does with a chunk of bytes.
type fate struct {
	delay      time.Duration
	stall, cut bool
}

// wire is a proxy in front of a connection: it delays, stalls and cuts by the number of
// the chunk. It reads at once whatever it does, as a network with large buffers.
type wire struct {
	decide func(up bool, chunk int) fate
	over   <-chan struct{} // ends stalled goroutines
}

// join returns the near end of a wire to a connection.
func (w wire) join(far net.Conn) net.Conn {
	near, middle := net.Pipe()
	var stalled atomic.Bool
	cut := func() {
		if stalled.Load() {
			<-w.over // the end of a connection does not get through either
		}
		_ = middle.Close()
		_ = far.Close()
	}
	go w.pump(middle, far, true, &stalled, cut)
	go w.pump(far, middle, false, &stalled, cut)
	return near
}

func (w wire) pump(from, to net.Conn, up bool, stalled *atomic.Bool, cut func()) {
	chunks := make(chan []byte, 1<<14)
	go func() {
		defer close(chunks)
		for {
			b := make([]byte, 32<<10)
			n, err := from.Read(b)
			if n > 0 {
				chunks <- b[:n]
			}
			if err != nil {
				return
			}
		}
	}()
	n := 0
	for b := range chunks {
		f := w.decide(up, n)
		n++
		if f.stall {
			stalled.Store(true)
			<-w.over
			f.cut = true
		}
		time.Sleep(f.delay)
		if f.cut {
			break
		}
		if _, err := to.Write(b); err != nil {
			break
		}
	}
	cut()
	for range chunks { // let the reader end
	}
}

// memory is a network in memory: listeners by address.
type memory struct {
	mu        sync.Mutex
	listeners map[string]*memoryListener
}

type memoryListener struct {
	at     string
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (m *memory) Listen(_ context.Context, _, address string) (net.Listener, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.listeners == nil {
		m.listeners = map[string]*memoryListener{}
	}
	l := &memoryListener{at: address, conns: make(chan net.Conn, 1024), closed: make(chan struct{})}
	m.listeners[address] = l
	return l, nil
}

func (l *memoryListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *memoryListener) Close() error {
	l.once.Do(func() {
		close(l.closed)
		for {
			select {
			case c := <-l.conns:
				_ = c.Close()
			default:
				return
			}
		}
	})
	return nil
}
func (l *memoryListener) Addr() net.Addr { return &net.UnixAddr{Name: l.at, Net: "unix"} }

// dial connects over a wire.
func (m *memory) dial(w wire) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(_ context.Context, _, address string) (net.Conn, error) {
		m.mu.Lock()
		l := m.listeners[address]
		m.mu.Unlock()
		if l == nil {
			return nil, errors.New("connection refused")
		}
		select {
		case <-l.closed:
			return nil, errors.New("connection refused")
		default:
			near, far := net.Pipe()
			l.conns <- far
			return w.join(near), nil
		}
	}
}

// straight does nothing to any chunk.
func straight(bool, int) fate { return fate{} }

// inMemory are the options of a world in memory; the wires of processes are straight
// unless given. It belongs into a synctest bubble.
func inMemory(t testing.TB, n int, wires map[int]func(up bool, chunk int) fate) func(process int) rendezvous.Member {
	m := &memory{}
	token := rendezvous.NewToken()
	over := make(chan struct{})
	t.Cleanup(func() {
		close(over)
		time.Sleep(24 * time.Hour) // of the bubble: all timers fire, and a goroutine that still waits is a leak
	})
	return func(process int) rendezvous.Member {
		decide := wires[process]
		if decide == nil {
			decide = straight
		}
		return rendezvous.Member{
			Token: token, Address: "leader:1", Self: self(process, n),
			Listen: m.Listen, Dial: m.dial(wire{decide, over}),
		}
	}
}
