package rendezvous_test

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zbench/bench/run/plan"
	"zbench/bench/run/record"
	"zbench/internal/rendezvous"
)

// enemy attacks a leader. Each attack is refused once.
type enemy struct {
	t       *testing.T
	token   rendezvous.Token
	address string
	n       int
	// slow counts attacks that last until over is closed.
	slow *sync.WaitGroup
	over <-chan struct{}
}

func (e enemy) dial() net.Conn {
	c, err := net.Dial("tcp", e.address)
	require.NoError(e.t, err)
	return c
}

// write sends bytes without TLS and waits for the leader to close.
func (e enemy) write(text string) {
	c := e.dial()
	defer func() { _ = c.Close() }()
	_, _ = io.WriteString(c, text)
	_, _ = io.Copy(io.Discard, c)
}

// stall sends the first bytes and stays silent until the run is over.
func (e enemy) stall(text string) {
	c := e.dial()
	_, err := io.WriteString(c, text)
	require.NoError(e.t, err)
	e.slow.Go(func() {
		<-e.over
		_ = c.Close()
	})
}

// handshake makes a TLS connection and waits for the leader to close it.
func (e enemy) handshake(c *tls.Config, then string) {
	conn := tls.Client(e.dial(), c)
	defer func() { _ = conn.Close() }()
	if conn.Handshake() == nil {
		_, _ = io.WriteString(conn, then)
		_, _ = io.Copy(io.Discard, conn)
	}
}

// post sends a text as a process with the token; it must be refused.
func (e enemy) post(text io.Reader) {
	c := tls.Client(e.dial(), rendezvous.ClientConfig(e.token))
	defer func() { _ = c.Close() }()
	require.NoError(e.t, c.Handshake())
	refusedAfter(e.t, c, text)
}

// refusedAfter sends a text with the token and reads the refusal, if the leader does not close before.
func refusedAfter(t *testing.T, c net.Conn, text io.Reader) {
	if _, err := io.Copy(c, text); err != nil {
		return
	}
	answer, _ := io.ReadAll(c)
	require.Regexp(t, `^({"refused":{"reason":"[a-z ]+","text":".+"}}\n)?$`, string(answer))
}

// hello registers as process 3, changed.
func (e enemy) hello(change func(m map[string]any)) {
	text, err := json.Marshal(self(3, e.n))
	require.NoError(e.t, err)
	m := map[string]any{}
	require.NoError(e.t, json.Unmarshal(text, &m))
	m["protocol"], m["session"] = rendezvous.Protocol, "enemy"
	change(m)
	text, err = json.Marshal(m)
	require.NoError(e.t, err)
	e.post(bytes.NewReader(append(text, '\n')))
}

// set changes one field.
func set(key string, value any) func(map[string]any) {
	return func(m map[string]any) { m[key] = value }
}

// join is Join with something wrong; it must fail at once.
func (e enemy) join(change func(o *rendezvous.Member)) {
	o := patient(rendezvous.Member{Token: e.token, Address: e.address, Self: self(3, e.n)})
	change(&o)
	_, err := rendezvous.Join(e.t.Context(), o)
	require.Error(e.t, err)
	require.NotContains(e.t, err.Error(), o.Token.Reveal())
}

var attacks = []struct {
	name   string
	reason rendezvous.Reason
	attack func(e enemy)
}{
	{"plain HTTP", rendezvous.NoTLS, func(e enemy) { e.write("GET /hello HTTP/1.1\r\nHost: x\r\n\r\n") }},
	{"noise", rendezvous.NoTLS, func(e enemy) { e.write(strings.Repeat("\x00\xff{}", 1000)) }},
	{"port scan", rendezvous.ClosedEarly, func(e enemy) { _ = e.dial().Close() }},
	{"silence", rendezvous.ClosedEarly, func(e enemy) { e.stall("") }},
	{"part of a record", rendezvous.ClosedEarly, func(e enemy) { e.stall("\x16\x03\x01\x02\x00\x01") }},
	{"wrong token", rendezvous.WrongKey, func(e enemy) {
		e.join(func(o *rendezvous.Member) { o.Token = rendezvous.NewToken() })
	}},
	{"wrong token that trusts anyone", rendezvous.WrongToken, func(e enemy) {
		c := rendezvous.ClientConfig(rendezvous.NewToken())
		c.VerifyConnection = nil
		e.handshake(c, "")
	}},
	{"another zbench, with other keys", rendezvous.OtherProtocol, func(e enemy) {
		c := rendezvous.ClientConfig(rendezvous.NewToken())
		c.NextProtos = []string{"zbench", "zbench/2"}
		e.handshake(c, "")
	}},
	{"an older zbench, over HTTP", rendezvous.OtherProtocol, func(e enemy) {
		c := rendezvous.ClientConfig(e.token)
		c.NextProtos = []string{"http/1.1", "zbench/5"}
		e.handshake(c, "")
	}},
	{"another zbench that trusts anyone", rendezvous.OtherProtocol, func(e enemy) {
		c := rendezvous.ClientConfig(rendezvous.NewToken())
		c.VerifyConnection, c.NextProtos = nil, []string{fmt.Sprint("zbench/", rendezvous.Protocol+1), "zbench"}
		e.handshake(c, "")
	}},
	{"no certificate", rendezvous.WrongToken, func(e enemy) {
		e.handshake(&tls.Config{InsecureSkipVerify: true, NextProtos: []string{"zbench"}}, "")
	}},
	{"HTTP/2", rendezvous.BadHandshake, func(e enemy) {
		c := rendezvous.ClientConfig(e.token)
		c.NextProtos = []string{"h2"}
		e.handshake(c, "GET / HTTP/1.1\r\n\r\n")
	}},
	{"no protocol", rendezvous.BadHandshake, func(e enemy) {
		c := rendezvous.ClientConfig(e.token)
		c.NextProtos = nil
		e.handshake(c, "GET / HTTP/1.1\r\n\r\n")
	}},
	{"noise with the token", rendezvous.Malformed, func(e enemy) {
		e.handshake(rendezvous.ClientConfig(e.token), strings.Repeat("noise\r\n", 100))
	}},
	{"HTTP with the token", rendezvous.Malformed, func(e enemy) { e.post(strings.NewReader("POST /hello HTTP/1.1\r\nHost: x\r\n\r\n")) }},
	{"no request", rendezvous.Malformed, func(e enemy) {
		c := tls.Client(e.dial(), rendezvous.ClientConfig(e.token))
		_ = c.Handshake()
		_ = c.Close()
	}},
	{"oversized", rendezvous.TooLarge, func(e enemy) { e.post(strings.NewReader(strings.Repeat(" ", 1<<20))) }},
	{"slow body", rendezvous.TooSlow, func(e enemy) {
		in, out := io.Pipe()
		e.slow.Go(func() { e.post(in) })
		_, _ = io.WriteString(out, "{")
		e.slow.Go(func() {
			<-e.over
			_ = out.CloseWithError(errors.New("gives up"))
		})
	}},
	{"not JSON", rendezvous.Malformed, func(e enemy) { e.post(strings.NewReader("hello\n")) }},
	{"unknown field", rendezvous.Malformed, func(e enemy) { e.hello(set("admin", true)) }},
	{"endless name", rendezvous.Malformed, func(e enemy) { e.hello(set("host", strings.Repeat("x", 1000))) }},
	{"an unknown number", rendezvous.Malformed, func(e enemy) { e.hello(set("ranks", 1<<20)) }},
	{"other protocol", rendezvous.OtherProtocol, func(e enemy) { e.hello(set("protocol", 99)) }},
	{"other world", rendezvous.OtherWorld, func(e enemy) { e.hello(set("processes", 99)) }},
	{"the leader's number", rendezvous.OtherWorld, func(e enemy) { e.hello(set("process", 0)) }},
	{"negative number", rendezvous.OtherWorld, func(e enemy) { e.hello(set("process", -4)) }},
	{"duplicate", rendezvous.Duplicate, func(e enemy) {
		e.join(func(*rendezvous.Member) {})
	}},
	{"other build", rendezvous.OtherBuild, func(e enemy) {
		e.join(func(o *rendezvous.Member) { o.Self.Build = "0.9" })
	}},
	{"other backend", rendezvous.OtherBackend, func(e enemy) { e.hello(set("backend", "rocm")) }},
	{"another's place", rendezvous.Duplicate, func(e enemy) { e.hello(set("session", "enemy")) }},
	{"no session", rendezvous.Malformed, func(e enemy) { e.hello(set("session", "")) }},
	{"no process", rendezvous.Malformed, func(e enemy) { e.hello(set("process", "x")) }},
	{"behind another", rendezvous.Malformed, func(e enemy) { e.hello(set("via", 2)) }},
}

// A thousand attacks while a sweep runs leave its record as it is. Each is refused, and
// counted under its reason.
func TestHostile(t *testing.T) {
	const n, many = 16, 1000
	token := rendezvous.NewToken()
	o := patient(rendezvous.Member{Token: token, Self: self(0, n)})
	l, address := serve(t, o)
	left := followers(t, n, func(process int) rendezvous.Member {
		return patient(rendezvous.Member{Token: token, Self: self(process, n), Address: address})
	})
	require.NoError(t, l.Wait(t.Context()))
	require.NoError(t, l.Start("go"))

	want := map[rendezvous.Reason]int{}
	attack := make(chan int)
	var all, slow sync.WaitGroup
	over := make(chan struct{})
	for range 16 {
		all.Go(func() {
			for i := range attack {
				attacks[i%len(attacks)].attack(enemy{t: t, token: token, address: address, n: n, slow: &slow, over: over})
			}
		})
	}
	half := make(chan struct{})
	go func() {
		for i := range many {
			want[attacks[i%len(attacks)].reason]++
			attack <- i
			if i == many/2 {
				close(half)
			}
		}
		close(attack)
	}()
	// The first calls are at the start of the attack, the last ones amid it.
	own := &toy{ranks: 1, before: func(call int) {
		if call == 6 {
			<-half
		}
	}}
	g, ctx := plan.Lead(t.Context(), own, l, l.Members(1))
	results := plan.Run(ctx, sweep(n), g, runOptions(), func(record.Result) {})
	all.Wait()
	close(over)
	slow.Wait()
	g.End()
	allLeave(t, left, n)
	require.Equal(t, oracle(n), results)
	t.Cleanup(func() {
		if t.Failed() {
			counts, _ := l.Refusals()
			t.Logf("want %v\ngot  %v", want, counts)
		}
	})
	require.Eventually(t, func() bool {
		counts, _ := l.Refusals()
		return maps.Equal(want, counts)
	}, time.Minute, 10*time.Millisecond)
	_, last := l.Refusals()
	require.Len(t, last, 64)
	for _, one := range last {
		require.NotEmpty(t, one.From)
		require.NotContains(t, fmt.Sprint(one), token.Reveal())
	}
}

// Attacks while processes still register neither delay nor shift one of them.
func TestHostileRegistration(t *testing.T) {
	const n = 4
	token := rendezvous.NewToken()
	o := patient(rendezvous.Member{Token: token, Self: self(0, n)})
	l, address := serve(t, o)
	e := enemy{t: t, token: token, address: address, n: n}
	e.hello(set("backend", "rocm"))
	e.hello(set("build", "0.9"))
	require.Equal(t, "1 of 4 processes have registered; missing: processes 1–3; refused (other build): process 3 on node0: "+
		`zbench is "0.9" there and "1.0" in the leader: use the same in all processes`, l.Status().Text())
	left := followers(t, n, func(process int) rendezvous.Member {
		return patient(rendezvous.Member{Token: token, Self: self(process, n), Address: address})
	})
	require.Equal(t, oracle(n), lead(t, l, &toy{ranks: 1}, n))
	allLeave(t, left, n)
	require.Equal(t, "4 of 4 processes have registered", l.Status().Text())
}
