package rendezvous

import (
	"fmt"
	"sync"
	"time"
)

// Times after which an order is abandoned.
const (
	// defaultGrace is the default of Member.Grace.
	defaultGrace = 10 * time.Second
	// abandonTime is how long an abandoned order may take to return. Launches are cancelled
	// at once, but a call that hangs in a library never returns.
	abandonTime = 2500 * time.Millisecond
)

// patience limits the time of an order. The order is given up when a process is lost, some time
// after a process has failed, or when its limit has passed. A little later it is abandoned.
type patience struct {
	// giveUp is called once for each order that is given up, with the reason.
	giveUp func(why string)

	mu        sync.Mutex
	why       string // reason; empty until the order is given up
	abandoned chan struct{}
	timers    []func() // functions that cancel the timers when the order is done
	failing   bool
}

// begin starts the next order. A limit of 0 means no limit.
func (p *patience) begin(limit time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopTimers()
	if p.why != "" { // no order follows in a run that was given up
		return
	}
	p.abandoned, p.failing = make(chan struct{}), false
	if limit > 0 {
		p.timers = append(p.timers, after(limit, func() { p.end(fmt.Sprintf("the limit of %s has passed", limit)) }))
	}
}

// done ends the order: all processes have reported.
func (p *patience) done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopTimers()
}

// stopTimers stops all timers. The caller holds p.mu.
func (p *patience) stopTimers() {
	for _, stop := range p.timers {
		stop()
	}
	p.timers = nil
}

// fail gives up the order after the grace. It is called when a process has failed; the other
// processes should report soon.
func (p *patience) fail(grace time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failing || p.why != "" {
		return
	}
	p.failing = true
	p.timers = append(p.timers, after(grace, func() { p.end(fmt.Sprintf("%s have passed since another process failed", grace)) }))
}

// end() gives up the run.
func (p *patience) end(why string) {
	p.mu.Lock()
	known := p.why != ""
	if !known {
		p.why = why
		if p.abandoned == nil {
			p.abandoned = make(chan struct{})
		}
		abandoned := p.abandoned
		after(abandonTime, func() { close(abandoned) })
	}
	p.mu.Unlock()
	if !known && p.giveUp != nil {
		p.giveUp(why)
	}
}

// ended() returns a channel that is closed when the calls of the current order should have returned
// long ago.
func (p *patience) ended() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.abandoned
}

// Returns reports whether a call of the current order returned in time.
func (p *patience) Returns(call func()) bool { return returns(call, p.ended()) }

// returns() reports whether a call returned before it was abandoned. An abandoned call keeps
// running.
func returns(call func(), abandoned <-chan struct{}) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		call()
	}()
	select {
	case <-done:
		return true
	case <-abandoned:
	}
	select {
	case <-done: // the call returned too, at the same time
		return true
	default:
		return false
	}
}

// reason returns the reason why the run was given up, "" if it was not.
func (p *patience) reason() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.why
}
