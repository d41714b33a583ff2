package rendezvous

import (
	"context"
	"sync"
	"time"
)

// pulse detects that this process stood still: it was stopped by a signal, suspended with its job,
// or had no CPU. Deadlines that passed meanwhile were missed for that reason.
type pulse struct {
	every time.Duration
	now   func() time.Time

	mu   sync.Mutex
	last time.Time // when the pulse last beat
	// `stood` is how long the process last stood still; `ended` is when that standstill ended.
	stood time.Duration
	ended time.Time
}

// newPulse starts a pulse that beats until ctx ends. Half a heartbeat without a beat means that the
// process stood still.
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

// standstill returns how long the process last stood still (0 for never), and how long ago that
// ended.
func (p *pulse) standstill() (length, ago time.Duration) {
	p.beat() // because a standstill may have just ended
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stood, p.now().Sub(p.ended)
}
