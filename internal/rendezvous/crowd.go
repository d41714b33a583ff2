package rendezvous

import (
	"io"
	"sync"
)

// crowd holds the connections that have not proved the token yet, at most `room` of them. If
// another connection comes, the oldest is closed. So silent connections take neither this process's
// files nor the places of processes with the token. Those processes prove the token within
// milliseconds.
type crowd struct {
	room int

	mu           sync.Mutex
	in           map[int]io.Closer // by number, in order of arrival
	oldest, next int               // oldest: all smaller numbers have left; next: the number of the next connection
}

// enter adds a connection and returns its number. If there is no room, the oldest connection is
// closed.
func (c *crowd) enter(one io.Closer) (number int) {
	c.mu.Lock()
	if c.in == nil {
		c.in = map[int]io.Closer{}
	}
	number = c.next
	c.next++
	c.in[number] = one
	full := len(c.in) > c.room
	c.mu.Unlock()
	if full {
		c.drop()
	}
	return number
}

// drop closes the oldest connection if there is one.
func (c *crowd) drop() {
	c.mu.Lock()
	for c.oldest < c.next && c.in[c.oldest] == nil {
		c.oldest++
	}
	first := c.in[c.oldest]
	delete(c.in, c.oldest)
	c.mu.Unlock()
	if first != nil {
		_ = first.Close()
	}
}

// leave removes a connection. It returns false if the connection was already closed to make room.
func (c *crowd) leave(number int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, in := c.in[number]
	delete(c.in, number)
	return in
}
