package rendezvous_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
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
		in, out := io.Pipe()
		c := &http.Transport{TLSClientConfig: rendezvous.ClientConfig(o.Token)}
		c.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { return o.Dial(ctx, "tcp", o.Address) }
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://x/hello", in)
		require.NoError(t, err)
		answer, err := c.RoundTrip(r)
		require.NoError(t, err)
		require.Equal(t, http.StatusRequestTimeout, answer.StatusCode)
		require.NoError(t, errors.Join(answer.Body.Close(), out.Close()))
		c.CloseIdleConnections()
		time.Sleep(11 * time.Second)
		counts, _ := l.Refusals()
		require.Equal(t, map[rendezvous.Reason]int{rendezvous.NoHandshake: 1, rendezvous.TooSlow: 1}, counts)
		l.Close("the test is over")
	})
}

// A process does not trust a server without the token.
func TestWrongLeader(t *testing.T) {
	_, address := serve(t, patient(rendezvous.Member{Token: rendezvous.NewToken(), Self: self(0, 2)}))
	o := patient(rendezvous.Member{Token: rendezvous.NewToken(), Self: self(1, 2), Address: address})
	_, err := rendezvous.Join(context.Background(), o)
	require.ErrorContains(t, err, "process 1 cannot join the run at "+address+": the other end holds another key: it was started with another ZBENCH_TOKEN")
}
