package rendezvous

import (
	"crypto/rand"
	"crypto/tls"
	"net"

	"zbench/internal/launch"
)

// NewToken makes a token of 256 random bits.
func NewToken() Token {
	text, _ := launch.NewToken(rand.Reader) // it never fails
	return Token{text}
}

// ClientConfig is that of a process that holds the token.
func ClientConfig(t Token) *tls.Config {
	c, err := t.config(following)
	if err != nil {
		panic(err)
	}
	return c
}

// Prove proves the token as a follower does.
func Prove(t Token, c net.Conn) error { return t.exchange(c, following) }

// SameUser is whether a connection is one of this user's within this host.
func SameUser(c net.Conn) bool { return sameUser(c) }

// Room sets how many connections may be in their handshake.
func Room(n int) (restore func()) {
	before := minUnproven
	minUnproven = n
	return func() { minUnproven = before }
}

// Greeting begins a proof.
func Greeting() string { return greeting }
