package rendezvous

import (
	"context"
	"sync"
	"time"
)

// pulse detects that this process has stood still: stopped by a signal, suspended with its job, or
// without a CPU. Deadlines in that time were missed for this reason.
type pulse struct {
	every time.Duration
	now   func() time.Time

	mu   sync.Mutex
	last time.Time // time of the last beat
	// stood is the length of the last standstill, ended its end.
	stood time.Duration
	ended time.Time
}

// newPulse beats until ctx ends. A standstill is half a heartbeat without a beat.
func newPulse(ctx context.Context, o Member) *pulse {
	p := &pulse{every: max(o.Heartbeat/ticks, time.Millisecond), now: o.Now, last: o.Now()}
	go func() {
		tick := time.NewTicker(p.every)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				p.beat()
			}
		}
	}()
	return p
}

func (p *pulse) beat() {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	if still := now.Sub(p.last); still >= ticks/2*p.every {
		p.stood, p.ended = still, now
	}
	p.last = now
}

// standstill returns the last one: its length, 0 for none, and the time since its end.
func (p *pulse) standstill() (length, ago time.Duration) {
	p.beat() // a standstill may have just ended
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stood, p.now().Sub(p.ended)
}
