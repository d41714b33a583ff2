package rendezvous

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A process finds out that it has stood still, for how long and when; a late beat is none. The
// leader takes what ended after its order.
func TestStandstill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPulse(t.Context(), Member{Heartbeat: 30 * time.Second, Now: time.Now})
		time.Sleep(time.Minute)
		stood, _ := p.standstill()
		require.Zero(t, stood)
		p.mu.Lock() // as if the process had been stopped
		p.last = p.last.Add(-20 * time.Second)
		p.mu.Unlock()
		time.Sleep(7 * time.Second)
		stood, ago := p.standstill()
		require.InDelta(t, 20, stood.Seconds(), 5)
		require.InDelta(t, 7, ago.Seconds(), 5)
		var a answers
		a.prepare(4, time.Now)
		time.Sleep(10 * time.Second)
		for order, want := range []string{"processes 0, 2 stood still for up to 20s", ""} {
			a.begin()
			if order == 0 {
				time.Sleep(time.Minute)
			}
			roll, present := a.call()
			a.answer(roll, presence{0, 15, 30})
			a.answer(roll, presence{1, 0, 1e6})
			a.answer(roll+1, presence{3, 17, 1})
			a.answer(roll, presence{2, 20, 40})
			require.Equal(t, map[int]bool{3: false}, a.silent())
			a.answer(roll, presence{3, 90, 61})
			<-present
			require.Equal(t, want, a.Stood())
		}
	})
}
