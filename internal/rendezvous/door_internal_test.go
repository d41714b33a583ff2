package rendezvous

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

// A connection that closes without a request is counted once.
func TestWitness(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(w *witness)
		want map[Reason]int
	}{
		"no request":   {func(*witness) {}, map[Reason]int{Malformed: 1}},
		"closed twice": {func(w *witness) { _ = w.Close() }, map[Reason]int{Malformed: 1}},
		"a request":    {func(w *witness) { w.ask() }, map[Reason]int{}},
	} {
		here, there := net.Pipe()
		refused := &refusals{}
		refused.add(&Refused{Reason: TooSlow, From: "another"})
		w := &witness{Conn: here, door: &door{refused: refused, closed: make(chan struct{})}}
		c.do(w)
		require.NoError(t, w.Close())
		require.NoError(t, there.Close())
		c.want[TooSlow]++
		counts, last := refused.all()
		require.Equal(t, c.want, counts, name)
		sum := 0
		for _, n := range counts {
			sum += n
		}
		require.Len(t, last, sum, name)
	}
}
