package rendezvous

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A process that waits for its node's first one tries at least every 750 ms, one that
// waits for the leader every 3 s; the first attempts are closer together.
func TestBackOff(t *testing.T) {
	for process := range 1024 {
		direct := Member{Self: Hello{Process: process, LocalProcess: process % 8}}
		gathered := direct
		gathered.Relay = "@relay"
		for try, wait := range map[int]time.Duration{0: minBackOff, 2: 4 * minBackOff, 99: maxBackOff} {
			got := direct.backOff(try)
			require.GreaterOrEqual(t, got, wait/2)
			require.Less(t, got, wait*3/2)
			if process%8 > 0 {
				require.Less(t, gathered.backOff(try), 750*time.Millisecond)
			} else {
				require.Equal(t, got, gathered.backOff(try))
			}
		}
	}
}
