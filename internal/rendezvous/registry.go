package rendezvous

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"zbench/bench/base/slice"
)

// registry records which processes of the world have registered.
type registry struct {
	options Member

	mu      sync.Mutex
	entries map[int]*registration
	// The map `connected` has the processes that can receive orders.
	connected map[int]bool
	lost      map[int]bool // since the start
	// The map `dead` has the processes that ended before the start, according to their launcher.
	dead map[int]bool
	// The map `refused` has the last refusal of each process that has not registered.
	refused map[int]*Refused
	started bool
	// The channel `whole` is closed when all processes are connected. If a process is cut off
	// before Start, `whole` is replaced by an open channel.
	whole chan struct{}
}

func newRegistry(o Member) *registry {
	r := &registry{options: o, entries: map[int]*registration{}, connected: map[int]bool{0: true}, lost: map[int]bool{}, dead: map[int]bool{}, refused: map[int]*Refused{}, whole: make(chan struct{})}
	r.entries[0] = &registration{Protocol: Protocol, Hello: o.Self}
	r.settle()
	return r
}

// differs() returns how a process's world, build or backend differs from the leader's; "" if they
// are equal.
func (r *registry) differs(h *Hello) (reason Reason, how string) {
	leader := &r.options.Self
	switch {
	case h.Processes != leader.Processes:
		return OtherWorld, fmt.Sprintf("its launcher counts %d processes, the leader's %d: start all processes by one launcher", h.Processes, leader.Processes)
	case h.Process <= 0 || h.Process >= leader.Processes:
		return OtherWorld, fmt.Sprintf("processes other than the leader have the numbers 1 to %d, not %d", leader.Processes-1, h.Process)
	}
	differ := func(as Reason, what, its, leaders string) {
		if its != leaders && how == "" {
			reason, how = as, fmt.Sprintf("%s is %q there and %q in the leader: use the same in all processes", what, its, leaders)
		}
	}
	differ(OtherBuild, "zbench", h.Build, leader.Build)
	differ(OtherBackend, "the backend", h.Backend, leader.Backend)
	return reason, how
}

// add adds a process to the world or refuses it. The process is added to the hub first, before the
// world can be complete, because the start goes to all members of the hub.
func (r *registry) add(in registration, h *hub) (m *member, no *Refused) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if no = r.check(&in); no == nil && in.Via == nil {
		m = h.add(in.Process, in.Session)
	}
	if no == nil && in.Via == nil && m == nil {
		no = refuse(Duplicate, "process %d on %s is connected already", in.Process, in.Host)
	}
	if no != nil {
		no.Process, no.Host = in.Process, in.Host
		if 0 < in.Process && in.Process < r.options.Self.Processes && !r.connected[in.Process] {
			r.refused[in.Process] = no
		}
		return nil, no
	}
	r.entries[in.Process] = &in
	delete(r.refused, in.Process)
	if !r.started {
		delete(r.connected, in.Process) // until the process connects again
		r.settle()
	}
	return m, nil
}

// arrive is called when a registered process is ready for orders.
func (r *registry) arrive(process int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.entries[process] != nil {
		r.connected[process] = true
		delete(r.dead, process)
	}
	r.settle()
}

// check returns the reason to refuse a process, nil if there is none. The caller holds r.mu.
func (r *registry) check(in *registration) *Refused {
	where := fmt.Sprintf("process %d on %s", in.Process, in.Host)
	if reason, how := r.differs(&in.Hello); how != "" {
		return refuse(reason, "%s: %s", where, how)
	}
	old := r.entries[in.Process]
	switch {
	case r.lost[in.Process]:
		return refuse(NotExpected, "%s: the run has started, and the leader has lost this process since", where)
	case old != nil && old.Session == in.Session:
		return nil // the process has returned
	case old != nil && (r.connected[in.Process] || r.started):
		return refuse(Duplicate, "%s (pid %d) has the number of a process on %s (pid %d): two processes have the same number", where, in.PID, old.Host, old.PID)
	case r.started:
		return refuse(NotExpected, "%s: the run has started", where)
	case in.Via != nil && !r.connected[*in.Via]:
		return refuse(NotRegistered, "%s: process %d, through which it connects, is not registered", where, *in.Via)
	}
	return nil
}

// settle closes the channel `whole` if the registration is complete. If it no longer is, settle
// replaces the closed channel by an open one. The caller holds r.mu.
func (r *registry) settle() {
	select {
	case <-r.whole:
		if !r.complete() {
			r.whole = make(chan struct{})
		}
	default:
		if r.complete() {
			close(r.whole)
		}
	}
}

// complete reports whether all processes are connected or have ended.
func (r *registry) complete() bool {
	return len(r.connected)+len(r.dead) == r.options.Self.Processes
}

// die() notes that a process has ended before the start, whether it had registered or not. A
// process that has only lost its connection may return; a process that has ended cannot. The method
// returns false after the start.
func (r *registry) die(process int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.started {
		return false
	}
	delete(r.connected, process)
	r.dead[process] = true
	r.settle()
	return true
}

// start ends the registration. It returns false if a process is missing.
func (r *registry) start() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.started = r.started || r.complete() && len(r.dead) == 0
	return r.started
}

// leave removes a process and the processes that are reached through it. After the start they stay
// registered, as lost.
func (r *registry) leave(process int) (gone []Loss, started bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range slices.Sorted(maps.Keys(r.entries)) {
		e := r.entries[n]
		if n != process && (e.Via == nil || *e.Via != process) {
			continue
		}
		gone = append(gone, Loss{Process: n, Host: e.Host})
		if r.started {
			r.lost[n] = true
		} else {
			delete(r.connected, n) // the process may return
		}
	}
	r.settle()
	return gone, r.started
}

// reaches() reports whether a stream of one process carries the messages of another.
func (r *registry) reaches(stream, process int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.entries[process]
	return e != nil && process > 0 && (process == stream && e.Via == nil || e.Via != nil && *e.Via == stream)
}

// stream returns the process through which a process is reached: the process itself, or the first
// process of its node.
func (r *registry) stream(process int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.entries[process]; e != nil && e.Via != nil {
		return *e.Via
	}
	return process
}

// hellos returns the Hello of every registered process in order. The caller holds r.mu.
func (r *registry) hellos() []Hello {
	return slice.Map(slices.Sorted(maps.Keys(r.entries)), func(n int) Hello { return r.entries[n].Hello })
}
