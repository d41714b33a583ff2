package rendezvous_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"zbench/internal/rendezvous"
)

// Connections that are silent, before the handshake or amid a registration, are ended
// and counted when their time is up.
func TestSlowConnectionsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := inMemory(t, 2, nil)(0)
		l, err := rendezvous.Serve(t.Context(), o)
		require.NoError(t, err)
		dial := func() net.Conn {
			c, err := o.Dial(t.Context(), "tcp", o.Address)
			require.NoError(t, err)
			return c
		}
		_, err = dial().Write([]byte("\x16\x03"))
		require.NoError(t, err)
		for _, begin := range []string{"", "{"} {
			c := tls.Client(dial(), rendezvous.ClientConfig(o.Token))
			_, err = io.WriteString(c, begin)
			require.NoError(t, errors.Join(err, c.Handshake()))
			answer, err := io.ReadAll(c)
			require.NoError(t, err)
			require.Contains(t, string(answer), `{"refused":{"reason":"request not finished in time","text":"the registration did not arrive whole within 10s"}}`)
		}
		time.Sleep(11 * time.Second)
		counts, _ := l.Refusals()
		require.Equal(t, map[rendezvous.Reason]int{rendezvous.NoHandshake: 1, rendezvous.TooSlow: 2}, counts)
		l.Close("the test is over", 0)
	})
}

// A process does not trust a server without the token.
func TestWrongLeader(t *testing.T) {
	_, address := serve(t, patient(rendezvous.Member{Token: rendezvous.NewToken(), Self: self(0, 2)}))
	o := patient(rendezvous.Member{Token: rendezvous.NewToken(), Self: self(1, 2), Address: address})
	_, err := rendezvous.Join(context.Background(), o)
	require.ErrorContains(t, err, "process 1 cannot join the run at "+address+": the other end holds another key: it was started with another ZBENCH_TOKEN")
}
