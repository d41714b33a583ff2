package rccl

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"zbench/internal/native"
)

// joint is the library under the processes of a world in this test's process: real
// drivers, each with its share of the ranks, on one loopback. What takes all processes
// of a communicator or of a launch waits for them, and is then done once for all.
type joint struct {
	t         *testing.T
	p         *native.Provider
	functions *native.Functions
	mu        sync.Mutex
	meetings  map[string]*meeting
	batch     *native.Batch
	// begins is the number of cases begun.
	begins int
	// ids counts how often each was used.
	ids map[native.UniqueID]int
}

// meeting is one call that several processes make together.
type meeting struct {
	parts []any
	done  chan struct{}
	out   any
}

// meet waits until so many processes have come to the same call; the last does it.
func (j *joint) meet(key string, processes int, part any, do func(parts []any) any) any {
	j.mu.Lock()
	m := j.meetings[key]
	if m == nil {
		m = &meeting{done: make(chan struct{})}
		j.meetings[key] = m
	}
	if m.parts = append(m.parts, part); len(m.parts) == processes {
		m.out = do(m.parts)
		delete(j.meetings, key)
		close(m.done)
	}
	j.mu.Unlock()
	select {
	case <-m.done:
		return m.out
	case <-time.After(time.Minute):
		panic("the processes made different calls: " + key)
	}
}

// party is the library of one process.
type party struct {
	*joint
	number, first, count, processes int
	batches, begun                  int
}

func (p *party) Memory(device int) (free, total int64, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.p.Memory(device)
}

func (p *party) Alloc(device int, bytes int64) (native.Buffer, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.p.Alloc(device, bytes)
}

func (p *party) AllocFine(device int, bytes int64) (native.Buffer, error) {
	return p.Alloc(device, bytes)
}

func (p *party) AllocLibrary(device int, bytes int64) (native.Buffer, error) {
	return p.Alloc(device, bytes)
}

func (p *party) Register(window bool, comms []native.Comm, buffers []native.Buffer) ([]native.Registration, float64, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.p.Register(window, comms, buffers)
}

func (p *party) Implementation(native.Comm, native.Work, native.Address, native.Address, bool) string {
	return ""
}

func (p *party) Deregister(r native.Registration) error { return p.p.Deregister(r) }

func (p *party) Free(b native.Buffer) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.p.Free(b)
}

func (p *party) FreeComm(c native.Comm) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.p.FreeComm(c)
}

func (p *party) AbortComm(c native.Comm) error { return p.FreeComm(c) }

// BeginCase begins the case once: the loopback has one clock for all these processes, and
// one without ranks in the case may be late to begin it.
func (p *party) BeginCase(key uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.begun++; p.begun > p.begins {
		p.begins = p.begun
		p.p.BeginCase(key)
	}
}

func (p *party) NewUniqueID() (native.UniqueID, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	id, err := p.p.NewUniqueID()
	p.ids[id] = 0
	return id, err
}

type piece struct {
	first   int
	devices []int
}

type joined struct {
	comms []native.Comm
	err   error
}

// SplitComms is for no test of several processes here.
func (*party) SplitComms([]native.Comm, []int, []int) ([]native.Comm, error) {
	panic("a party splits no communicators")
}

// InitComms blocks until all ranks of the communicator have joined, as RCCL does.
func (p *party) InitComms(id native.UniqueID, ranks, first int, devices []int, _ int, _ bool) ([]native.Comm, error) {
	key := fmt.Sprintf("init %x of %d", id, ranks)
	p.mu.Lock()
	m := p.meetings[key]
	if m == nil {
		m = &meeting{done: make(chan struct{})}
		p.meetings[key] = m
	}
	m.parts = append(m.parts, piece{first, devices})
	var all []int
	slices.SortFunc(m.parts, func(a, b any) int { return a.(piece).first - b.(piece).first })
	for _, one := range m.parts {
		if one.(piece).first == len(all) {
			all = append(all, one.(piece).devices...)
		}
	}
	if len(all) == ranks {
		if _, known := p.ids[id]; !known {
			panic("an id that no process made")
		}
		p.ids[id]++
		comms, err := p.p.InitComms(id, ranks, 0, all, 0, false)
		m.out = joined{comms, err}
		close(m.done)
	}
	p.mu.Unlock()
	select {
	case <-m.done:
	case <-time.After(time.Minute):
		panic("a communicator that not all of its ranks join: " + key)
	}
	out := m.out.(joined)
	if out.err != nil {
		return nil, out.err
	}
	return out.comms[first : first+len(devices)], nil
}
