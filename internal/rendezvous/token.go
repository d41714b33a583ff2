package rendezvous

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strconv"
	"strings"

	"zbench/internal/launch"
)

// TokenVariable is the environment variable that passes the token to all processes.
const TokenVariable = launch.TokenVariable

// Token is the only secret of a run. The keys of both ends are derived from it, so that each end
// knows the other's key. Every formatting verb prints a placeholder instead of the token.
type Token struct{ text string }

// ParseToken reads the value of TokenVariable. Its errors do not quote the value.
func ParseToken(text string) (Token, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return Token{}, fmt.Errorf("%s is not set: set it to the same value for all processes (export %s=$(zbench token))", TokenVariable, TokenVariable)
	}
	if err := launch.CheckToken(text); err != nil {
		return Token{}, fmt.Errorf("%w; make one with zbench token", err)
	}
	return Token{text}, nil
}

// Reveal returns the text of the token, for TokenVariable of another process.
func (t Token) Reveal() string { return t.text }

// Format writes a placeholder, because a token must not get into a log or an error.
func (t Token) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "["+TokenVariable+"]") }

// LocalAddress returns the abstract Unix socket at which the first process of a node gathers the
// node's other processes. It differs between runs, and between nodes, which may share a host. It
// does not reveal the token.
func (t Token) LocalAddress(node string) string {
	name, _ := hkdf.Key(sha256.New, []byte(t.text), nil, "zbench rendezvous local address "+node, 16) // fails only beyond 8,160 bytes
	return "@zbench-" + hex.EncodeToString(name)
}

// check returns an error if there is no token.
func (t Token) check() error {
	if t.text == "" {
		return errors.New("no token was given")
	}
	return nil
}

// role is one end of a connection, the leader or a follower.
type role string

const (
	leading   role = "leader"
	following role = "follower"
)

// key derives the key of an end. The curve is P-256, because its tables are in the binary. For
// Ed25519 every process would have to compute tables, which takes longer than the rest of its
// registration.
func (t Token) key(r role) (*ecdsa.PrivateKey, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	for try := 0; ; try++ {
		seed, err := hkdf.Key(sha256.New, []byte(t.text), nil, fmt.Sprintf("zbench rendezvous key %d of the %s", try, r), 32)
		if err != nil {
			return nil, err
		}
		if key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), seed); err == nil {
			return key, nil
		} // otherwise the number is not below the order of the curve, which happens once in 2³²
	}
}

// certificate returns a self-signed certificate. Only its key is checked, because the clocks of
// hosts differ.
func (t Token) certificate(r role) (tls.Certificate, error) {
	key, err := t.key(r)
	if err != nil {
		return tls.Certificate{}, err
	}
	form := &x509.Certificate{SerialNumber: big.NewInt(1)}
	der, err := x509.CreateCertificate(rand.Reader, form, form, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

// application is the protocol over TLS. A client also offers the version of its messages, so that
// the leader recognises another version of zbench, whose keys it cannot check.
const (
	application = "zbench"
	versions    = "zbench/"
)

var version = versions + strconv.Itoa(Protocol)

// offered() returns the version that a client offers; "" if it offers none.
func offered(protocols []string) string {
	for _, p := range protocols {
		if strings.HasPrefix(p, versions) {
			return p
		}
	}
	return ""
}

// errKey is the error for an end that has another key.
var errKey = errors.New("the other end holds another key: it was started with another " + TokenVariable + ", or leads another run at this port")

// config returns a TLS configuration that authenticates both ends by the keys derived from the
// token.
func (t Token) config(own role) (*tls.Config, error) {
	other := leading
	if own == leading {
		other = following
	}
	certificate, err := t.certificate(own)
	if err != nil {
		return nil, err
	}
	pinned, err := t.key(other)
	if err != nil {
		return nil, err
	}
	pin := &pinned.PublicKey
	return &tls.Config{
		MinVersion:             tls.VersionTLS13,
		NextProtos:             []string{application, version},
		Certificates:           []tls.Certificate{certificate},
		ClientAuth:             tls.RequireAnyClientCert,
		InsecureSkipVerify:     true, // skips names, dates and authorities; the key is checked below
		SessionTicketsDisabled: true,
		CurvePreferences:       []tls.CurveID{tls.CurveP256},
		VerifyConnection: func(c tls.ConnectionState) error {
			if len(c.PeerCertificates) == 0 {
				return errKey
			}
			key, ok := c.PeerCertificates[0].PublicKey.(*ecdsa.PublicKey)
			if !ok || !pin.Equal(key) {
				return errKey
			}
			return nil
		},
	}, nil
}
