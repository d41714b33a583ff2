package rendezvous

import (
	"container/list"
	"io"
	"sync"
)

// crowd is the connections that have proved nothing yet. There is room for a number of them:
// the oldest leaves for a new one. So those that stay silent use up neither this process's
// files nor the places of those that have the token, which take milliseconds to prove it.
type crowd struct {
	room int

	mu    sync.Mutex
	order list.List // of io.Closer, the oldest first
	at    map[io.Closer]*list.Element
}

// enter takes a connection in, and has the oldest leave if there is no room.
func (c *crowd) enter(one io.Closer) {
	c.mu.Lock()
	if c.at == nil {
		c.at = map[io.Closer]*list.Element{}
	}
	c.at[one] = c.order.PushBack(one)
	full := c.order.Len() > c.room
	c.mu.Unlock()
	if full {
		c.drop()
	}
}

// drop closes the oldest connection, if there is one.
func (c *crowd) drop() {
	c.mu.Lock()
	first := c.order.Front()
	if first != nil {
		delete(c.at, c.order.Remove(first).(io.Closer)) //nolint:forcetypeassert // enter alone adds
	}
	c.mu.Unlock()
	if first != nil {
		_ = first.Value.(io.Closer).Close() //nolint:forcetypeassert // enter alone adds
	}
}

// leave lets a connection go; false if it had to leave for another one.
func (c *crowd) leave(one io.Closer) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, in := c.at[one]
	if in {
		c.order.Remove(e)
		delete(c.at, one)
	}
	return in
}
