package native_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/run/spec"
	"zbench/bench/work/fabric"
	"zbench/internal/native"
	"zbench/test/longtest"
)

// A world of so many ranks is driven by one driver, by one in each of several threads
// of this process, or by one in each of several processes.
const (
	sharedRanks = 16
	sharedBytes = 1 << 16
)

// sharedMachine is two nodes of eight GPUs, one GPU a modelled process, with noise, exit
// jitter and the given faults.
func sharedMachine(t testing.TB, faults ...string) []byte {
	t.Helper()
	f, err := fabric.ByName(fabric.Default)
	require.NoError(t, err)
	m, err := f.Resolve(spec.World{Nodes: 2, GPUsPerNode: 8, GPUsPerProcess: 1}, fabric.Conditions{Seed: 3, Faults: faults, Groups: []int{4}})
	require.NoError(t, err)
	return m.Text()
}

// sharedIDs are the ids of all communicators of a run. The loopback's are a number.
func sharedIDs(p *native.Provider) (ids []native.UniqueID, err error) {
	for range 1 + sharedRanks/4 {
		id, err := p.NewUniqueID()
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// inOne is what all ranks tell if one driver has them.
func inOne(t *testing.T, machine []byte) []told {
	t.Helper()
	d, err := drive(native.Choice{Backend: "loopback", Machine: machine}, 0, sharedRanks)
	require.NoError(t, err)
	defer d.close()
	ids, err := sharedIDs(d.p)
	require.NoError(t, err)
	all, err := d.run(ids, func(string) {})
	require.NoError(t, err)
	return all
}

// onLocalRank is how a driver tells of an asynchronous error.
const onLocalRank = "asynchronous error on local rank %d"

// part is what ranks first to first+count tell of a run of all.
func part(all []told, first, count int) (out []told) {
	for _, one := range all {
		var rank int
		if _, err := fmt.Sscanf(one.Run[strings.Index(one.Run, ":")+1:], " rank %d:", &rank); err == nil && (rank < first || rank >= first+count) {
			continue
		}
		var rows [][]string
		for _, row := range one.Seconds {
			rows = append(rows, row[first:first+count])
		}
		one.Seconds = rows
		if one.Failed != "" {
			one.Ranks = one.Ranks[first : first+count]
		}
		if _, err := fmt.Sscanf(one.Failed, onLocalRank, &rank); err == nil { // its handle alone tells
			one.Failed = "deadline"
			if first <= rank && rank < first+count {
				one.Failed = fmt.Sprintf(onLocalRank, rank-first)
			}
		}
		out = append(out, one)
	}
	return out
}

// meeting brings n goroutines together.
type meeting struct {
	mu      sync.Mutex
	n, here int
	open    chan struct{}
}

func (m *meeting) meet(string) {
	m.mu.Lock()
	if m.here++; m.here == m.n {
		close(m.open)
		m.here, m.open = 0, make(chan struct{})
		m.mu.Unlock()
		return
	}
	open := m.open
	m.mu.Unlock()
	<-open
}

// inThreads is what the ranks of each of n drivers in this process tell.
func inThreads(t *testing.T, n int, machine []byte) [][]told {
	t.Helper()
	out, errs := make([][]told, n), make([]error, n)
	m := &meeting{n: n, open: make(chan struct{})}
	count := sharedRanks / n
	first, err := native.Open(native.Choice{Backend: "loopback", Machine: machine, Share: &native.Share{}})
	require.NoError(t, err)
	defer first.Close()
	ids, err := sharedIDs(first)
	require.NoError(t, err)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			var d *driven
			if d, errs[i] = drive(native.Choice{Backend: "loopback", Machine: machine, Share: &native.Share{}}, i*count, count); errs[i] != nil {
				return
			}
			defer d.close()
			out[i], errs[i] = d.run(ids, m.meet)
		})
	}
	all.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	return out
}

// The figures, and what verification finds, are the same to the last bit whoever drives
// the ranks: one driver, threads, or processes; without faults and with those that
// change times, data, or the outcome.
func TestLongSharedWorldLeavesTheFiguresOfOne(t *testing.T) {
	longtest.OnlyOrDetected(t)
	processes := []int{4, 16}
	if testing.Short() {
		processes = processes[:1] // a detector sees as much of four
	}
	for _, fault := range []string{
		"",
		"corrupt:node=1,gpu=1,index=7",
		"late_gpu:node=0,gpu=5,seconds=3e-5",
		"hang:node=1,gpu=2,bytes=1e3,launch=3",
		"async_error:node=0,gpu=3,bytes=1e3,launch=2",
	} {
		var faults []string
		if fault != "" {
			faults = append(faults, fault)
		}
		machine := sharedMachine(t, faults...)
		want := inOne(t, machine)
		require.NotEmpty(t, want)
		same := func(t *testing.T, got [][]told) {
			for i, g := range got {
				count := sharedRanks / len(got)
				require.Equal(t, part(want, i*count, count), g, "%s: %d of %d", fault, i, len(got))
			}
		}
		same(t, inThreads(t, 8, machine))
		for _, n := range processes {
			t.Run(fmt.Sprint(fault, " in ", n, " processes"), func(t *testing.T) {
				t.Parallel() // what never ends takes seconds to be told from what is late
				same(t, inProcesses(t, n, machine))
			})
		}
	}
}
