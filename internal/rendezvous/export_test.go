package rendezvous

import "crypto/tls"

// ClientConfig is that of a process that holds the token.
func ClientConfig(t Token) *tls.Config {
	c, err := t.config(following)
	if err != nil {
		panic(err)
	}
	return c
}
