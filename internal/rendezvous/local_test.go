package rendezvous_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zbench/bench/run/plan"
	"zbench/internal/rendezvous"
)

// neighbour attacks the Unix socket at which a process gathers those of its node.
type neighbour struct {
	t     *testing.T
	token rendezvous.Token
	at    string
	n     int
	other int // a process that is connected there
}

func (e neighbour) dial() net.Conn {
	c, err := net.Dial("unix", e.at)
	require.NoError(e.t, err)
	require.True(e.t, rendezvous.SameUser(c), "this host's kernel tells whose the other end is")
	return c
}

// write sends bytes without a proof and waits for the end of the connection.
func (e neighbour) write(text string) {
	c := e.dial()
	defer func() { _ = c.Close() }()
	_, _ = io.WriteString(c, text)
	_ = c.(*net.UnixConn).CloseWrite()
	_, _ = io.Copy(io.Discard, c)
}

// proven is a connection with the token.
func (e neighbour) proven() net.Conn {
	c := e.dial()
	require.NoError(e.t, rendezvous.Prove(e.token, c))
	return c
}

// post sends a text with the token; it must be refused.
func (e neighbour) post(text string) {
	c := e.proven()
	defer func() { _ = c.Close() }()
	refusedAfter(e.t, c, strings.NewReader(text))
}

// hello registers as another process, changed.
func (e neighbour) hello(key string, value any) {
	text, err := json.Marshal(self(e.other, e.n))
	require.NoError(e.t, err)
	m := map[string]any{}
	require.NoError(e.t, json.Unmarshal(text, &m))
	m["protocol"], m["session"], m[key] = rendezvous.Protocol, "enemy", value
	text, err = json.Marshal(m)
	require.NoError(e.t, err)
	e.post(string(text) + "\n")
}

var localAttacks = map[string]struct {
	reason rendezvous.Reason
	attack func(e neighbour)
}{
	"plain HTTP":      {rendezvous.BadHandshake, func(e neighbour) { e.write("POST /hello HTTP/1.1\r\nHost: x\r\n\r\n") }},
	"TLS":             {rendezvous.OtherProtocol, func(e neighbour) { e.write("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + strings.Repeat("x", 64)) }},
	"silence":         {rendezvous.ClosedEarly, func(e neighbour) { _ = e.dial().Close() }},
	"a proof's begin": {rendezvous.ClosedEarly, func(e neighbour) { e.write(rendezvous.Greeting() + "and no number") }},
	"a proof's noise": {rendezvous.WrongToken, func(e neighbour) { e.write(rendezvous.Greeting() + strings.Repeat("x", 64)) }},
	"an older proof":  {rendezvous.OtherProtocol, func(e neighbour) { e.write("zbench proof\n" + strings.Repeat("x", 64)) }},
	"an echo":         {rendezvous.WrongToken, func(e neighbour) { e.echo() }},
	"wrong token":     {rendezvous.WrongToken, func(e neighbour) { e.wrong() }},
	"with the token":  {rendezvous.Malformed, func(e neighbour) { e.noise() }},
	"no request":      {rendezvous.Malformed, func(e neighbour) { _ = e.proven().Close() }},
	"oversized":       {rendezvous.TooLarge, func(e neighbour) { e.post(strings.Repeat(" ", 1<<20)) }},
	"not JSON":        {rendezvous.Malformed, func(e neighbour) { e.post("hello\n") }},
	"unknown field":   {rendezvous.Malformed, func(e neighbour) { e.hello("via", 4) }},
	"other protocol":  {rendezvous.OtherProtocol, func(e neighbour) { e.hello("protocol", 99) }},
	"duplicate":       {rendezvous.Duplicate, func(e neighbour) { e.hello("pid", 1) }},
	"no session":      {rendezvous.Malformed, func(e neighbour) { e.hello("session", "") }},
	"no process":      {rendezvous.Malformed, func(e neighbour) { e.hello("process", "x") }},
}

// wrong is a process of this user with another token: it does not trust the socket either.
func (e neighbour) wrong() {
	c := e.dial()
	require.ErrorContains(e.t, rendezvous.Prove(rendezvous.NewToken(), c), "another key")
	_, _ = io.Copy(io.Discard, c)
	_ = c.Close()
}

// echo answers with the code of the other end.
func (e neighbour) echo() {
	c := e.dial()
	number := bytes.Repeat([]byte{1}, 32)
	_, err := c.Write(append([]byte(rendezvous.Greeting()), number...))
	require.NoError(e.t, err)
	answer := make([]byte, 64)
	_, err = io.ReadFull(c, answer)
	require.NoError(e.t, err)
	_, _ = c.Write(answer[32:])
	_, _ = io.Copy(io.Discard, c)
	_ = c.Close()
}

// noise has the token, and sends no registration.
func (e neighbour) noise() {
	c := e.proven()
	_, _ = io.WriteString(c, strings.Repeat("noise\r\n", 100))
	_, _ = io.Copy(io.Discard, c)
	_ = c.Close()
}

// gathered leads a world whose nodes' first processes gather the others, and gives the
// options of its processes.
func gathered(t *testing.T, token rendezvous.Token, n int) (*rendezvous.Leader, func(process int) rendezvous.Member) {
	t.Helper()
	address := ""
	options := func(process int) rendezvous.Member {
		o := patient(rendezvous.Member{Token: token, Self: self(process, n), Address: address})
		o.Relay = token.LocalAddress(o.Self.Host)
		return o
	}
	l, at := serve(t, options(0))
	address = at
	return l, options
}

// What a process of the same user sends to the sockets of a node is refused, counted under
// its reason, and changes no figure: to the leader's, and to that of another node.
func TestHostileNeighbours(t *testing.T) {
	const n = 8
	token := rendezvous.NewToken()
	l, options := gathered(t, token, n)
	left := make(chan error, n)
	first := make(chan *rendezvous.Follower, 1) // of the second node
	for process := 1; process < n; process++ {
		go func() {
			f, err := rendezvous.Join(t.Context(), options(process))
			if err == nil {
				if process == 4 {
					first <- f
				}
				err = plan.Follow(t.Context(), &toy{first: process, ranks: 1}, f)
				f.Close()
			}
			left <- err
		}()
	}
	want := map[rendezvous.Reason]int{}
	for _, a := range localAttacks {
		want[a.reason] += 3
	}
	own := &toy{ranks: 1, before: func(call int) {
		if call != 6 {
			return
		}
		for _, node := range []int{0, 4} {
			e := neighbour{t, token, options(node).Relay, n, node + 2}
			for range 3 {
				for _, a := range localAttacks {
					a.attack(e)
				}
			}
		}
		// An attacker is gone before its connection is judged, and what is not judged at the end is not counted.
		for _, node := range []interface {
			Refusals() (map[rendezvous.Reason]int, []rendezvous.Refused)
		}{l, <-first} {
			require.Eventually(t, func() bool {
				counts, last := node.Refusals()
				return maps.Equal(want, counts) && !slices.ContainsFunc(last, func(one rendezvous.Refused) bool { return one.From == "" })
			}, time.Minute, time.Millisecond)
		}
	}}
	require.Equal(t, oracle(n), lead(t, l, own, n))
	allLeave(t, left, n)
}

// The leader refuses, counts and names a process that connects to its node's first one; the
// others of the node are not disturbed.
func TestRefusedBehindARelay(t *testing.T) {
	const n = 8
	l, options := gathered(t, rendezvous.NewToken(), n)
	first := joined(t, options(4))
	o := options(6)
	o.Self.Build = "0.9"
	_, err := rendezvous.Join(t.Context(), o)
	require.ErrorContains(t, err, "process 6 cannot join the run at "+o.Relay+" (this node's first process): refused (other build): "+
		`process 6 on node1: zbench is "0.9" there and "1.0" in the leader`)
	counts, last := l.Refusals()
	require.Equal(t, map[rendezvous.Reason]int{rendezvous.OtherBuild: 1}, counts)
	require.Equal(t, "process 4, which gathers its node", last[0].From)
	require.Contains(t, l.Status().Text(), "refused (other build): process 6 on node1")
	left := make(chan error, n)
	for process := 1; process < n; process++ {
		if process != 4 {
			go func() { left <- follow(context.Background(), options(process), &toy{first: process, ranks: 1}) }()
		}
	}
	go func() {
		f := <-first
		err := plan.Follow(context.Background(), &toy{first: 4, ranks: 1}, f)
		f.Close()
		left <- err
	}()
	require.Equal(t, oracle(n), lead(t, l, &toy{ranks: 1}, n))
	allLeave(t, left, n)
}

// Only a Unix socket tells whose process the other end is; all else takes TLS.
func TestWhoseConnection(t *testing.T) {
	here, there := net.Pipe()
	defer func() { _, _ = here.Close(), there.Close() }()
	require.False(t, rendezvous.SameUser(here))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	c, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	defer func() { _ = c.Close() }()
	require.False(t, rendezvous.SameUser(c))
}
