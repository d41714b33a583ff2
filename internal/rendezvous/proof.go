package rendezvous

import (
	"context"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"time"
)

// Between processes of one user on one node no TLS is needed. The kernel identifies the user at the
// other end of a Unix socket, and no other user can read or write its data. Both ends still prove
// that they hold the token.

// sameUser reports whether the other end of a connection is a process of this user on this host.
// Both ends get the same result. It is false if the kernel does not identify the user.
func sameUser(c net.Conn) bool {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return false
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return false
	}
	var peer *syscall.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) {
		peer, failed = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	})
	return err == nil && failed == nil && int(peer.Uid) == syscall.Geteuid()
}

// greeting is the first message of a proof. The text `hail` is how the greeting begins in every
// version of zbench that has proofs.
const hail = "zbench proof"

var greeting = fmt.Sprintf("%s %3d\n", hail, Protocol)

var errGreeting = errors.New("the client is not a process of this zbench")

// errVersion is the error for a client that runs another version of zbench and so cannot prove the
// token.
var errVersion = errors.New("the client is another version of zbench: run the same one in all processes")

// greeted() checks the first bytes from a client. Versions of zbench that have no proofs within a
// node begin a connection with TLS.
func greeted(first []byte) error {
	switch text := string(first); {
	case text == greeting:
		return nil
	case strings.HasPrefix(text, hail), strings.HasPrefix(text, "\x16\x03"):
		return errVersion
	}
	return errGreeting
}

// prove proves the token to the other end and checks the other end's proof. Each end answers the
// number that the other end sent with a code that can only be computed with the token. The follower
// sends first.
func (t Token) prove(ctx context.Context, c net.Conn, own role) error {
	late, _ := ctx.Deadline() // zero if there is no deadline
	if err := c.SetDeadline(late); err != nil {
		return err
	}
	if err := t.exchange(c, own); err != nil {
		return err
	}
	return c.SetDeadline(time.Time{})
}

func (t Token) exchange(c io.ReadWriter, own role) error {
	key, err := hkdf.Key(sha256.New, []byte(t.text), nil, "zbench rendezvous local proof", sha256.Size)
	if err != nil {
		return err
	}
	const size = 32
	numbers := make([]byte, 2*size) // the follower's number, then the leader's
	code := func(r role) []byte {
		h := hmac.New(sha256.New, key)
		_, _ = io.WriteString(h, string(r)) // cannot fail
		_, _ = h.Write(numbers)
		return h.Sum(nil)
	}
	first, second := numbers[:size], numbers[size:]
	its := make([]byte, sha256.Size)
	if own == following {
		_, _ = rand.Read(first) // cannot fail
		if _, err = c.Write(append([]byte(greeting), first...)); err == nil {
			err = readAll(c, second, its)
		}
		// Send the code before checking the leader's. A leader with another token then sees the
		// difference, and counts this end as refused.
		if err == nil {
			_, err = c.Write(code(following))
		}
		return cmpCode(its, code(leading), err)
	}
	hello := make([]byte, len(greeting))
	if err = readAll(c, hello); err == nil {
		err = greeted(hello)
	}
	if err == nil {
		err = readAll(c, first)
	}
	_, _ = rand.Read(second) // cannot fail
	if err == nil {
		_, err = c.Write(append(append([]byte(nil), second...), code(leading)...))
	}
	if err == nil {
		err = readAll(c, its)
	}
	return cmpCode(its, code(following), err)
}

func readAll(from io.Reader, all ...[]byte) error {
	for _, one := range all {
		if _, err := io.ReadFull(from, one); err != nil {
			return err
		}
	}
	return nil
}

// cmpCode compares the other end's code with the expected one. It returns an earlier error
// unchanged.
func cmpCode(its, want []byte, err error) error {
	if err == nil && !hmac.Equal(its, want) {
		return errKey
	}
	return err
}
