package rccl_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/run/plan"
	"zbench/bench/run/spec"
	"zbench/bench/work/fabric"
	"zbench/internal/native"
	"zbench/rccl"
	"zbench/test/longtest"
)

// onlyLoopback is what the rows that only the loopback has stand for in the driver's calls:
// what comes with the row there, and what the driver calls instead where a library lacks it.
// docs/ARCHITECTURE.md gives the reasons.
var onlyLoopback = map[string]struct {
	before  []string // calls that only lead to the row
	instead []string // in a burst of several processes
}{
	"nowNs":        {},
	"hostBarrier":  {instead: []string{"setDevice", "allReduce", "setDevice", "streamQuery"}},
	"moveData":     {},
	"moveBlocks":   {},
	"caseBegin":    {before: []string{"setDevice"}},
	"extrapolated": {},
}

const callsVariable = "ZBENCH_TEST_CALLS"

// callsOf is one process of the world and what it does.
type callsOf struct {
	Machine     []byte
	File        string
	First, Many int
	AsVendor    bool
}

// step is a call of the driver, and the library's calls that it made.
type step struct {
	Name  string
	Calls []string
}

// TestCallsChild is a process that TestLongDriverCallsTheSameOfEveryProvider starts.
func TestCallsChild(t *testing.T) {
	text := os.Getenv(callsVariable)
	if text == "" {
		t.Skip("a process that another test starts")
	}
	var c callsOf
	require.NoError(t, json.Unmarshal([]byte(text), &c))
	out, err := json.Marshal(c.drive(t))
	require.NoError(t, err)
	fmt.Printf("\ncalls %s\n", out)
}

// callWorld is a node with a GPU a modelled process.
var callWorld = spec.World{Nodes: 1, GPUsPerNode: 8, GPUsPerProcess: 1}

// drive opens the driver, runs cases, and notes every step.
func (c callsOf) drive(t *testing.T) (steps []step) {
	t.Helper()
	note := func(name string, err error) {
		require.NoError(t, err, name)
		steps = append(steps, step{name, native.TakeRecorded()})
	}
	cfg := rccl.Config{
		Native: native.Choice{Backend: "loopback", Machine: c.Machine, Record: &native.Recording{AsVendor: c.AsVendor}},
		Ranks:  c.Many, FirstRank: c.First, World: callWorld.Size(), VerifyBudget: budget, CacheBytes: cache,
	}
	if c.File != "" {
		cfg.Native.Share = &native.Share{File: c.File, First: c.First, Count: c.Many}
	}
	d, err := rccl.Open(cfg)
	note("open", err)
	joined := 0
	join := func(comms plan.Comms) {
		var ids []plan.CommID
		for g := range comms.Count {
			joined++
			id := make([]byte, 128)
			copy(id, fmt.Sprintf("zbl %d", 100+joined))
			ids = append(ids, plan.CommID{Group: g, ID: id})
		}
		note("join", d.Join(t.Context(), comms, ids))
	}
	join(plan.Comms{Ranks: callWorld.Size(), Count: 1})
	cases := axes(t, callWorld, "all_reduce", "all_gather", "all_to_all", "broadcast", "send_recv").Cases()
	cases = slices.DeleteFunc(cases, func(c plan.Case) bool { return c.Requested != 1<<16 })
	require.NotEmpty(t, cases)
	// The last case has every rank in every launch: where two ranks exchange, the others may be
	// done and leave the communicator first. A run has an exchange of results in between.
	slices.Reverse(cases)
	room, err := d.Budget()
	note("budget", err)
	note("allocate", d.Allocate(t.Context(), room.For(cases)))
	for _, x := range cases {
		note("begin", d.Begin(x, 0))
		v, err := d.Verify(t.Context(), x, 0)
		note("verify", err)
		require.Zero(t, v.Wrong, x.Key)
		_, err = d.WarmUp(t.Context(), 3)
		note("warm-up", err)
		_, err = d.Burst(t.Context(), plan.Bursts{Count: 3, Iterations: 4})
		note("burst", err)
		_, err = d.Burst(t.Context(), plan.Bursts{Count: 2, Iterations: 3, Replays: 2})
		note("burst", err)
		_, err = d.Isolated(t.Context(), 5)
		note("isolated", err)
	}
	join(plan.Comms{Ranks: 4, Count: 2})
	note("close", d.Close())
	return steps
}

// inCallProcesses runs the world in so many processes and returns the steps of each.
func inCallProcesses(t *testing.T, processes int, asVendor bool) [][]step {
	t.Helper()
	f, err := fabric.ByName(fabric.Default)
	require.NoError(t, err)
	m, err := f.Resolve(callWorld, fabric.Conditions{Seed: 3, Groups: []int{4}})
	require.NoError(t, err)
	out, failed := make([][]step, processes), make([]error, processes)
	file := filepath.Join(t.TempDir(), "world")
	var all sync.WaitGroup
	for i := range processes {
		c := callsOf{Machine: m.Text(), Many: callWorld.Size() / processes, First: i * callWorld.Size() / processes, AsVendor: asVendor}
		if processes > 1 {
			c.File = file
		}
		text, err := json.Marshal(c)
		require.NoError(t, err)
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestCallsChild$", "-test.timeout=2m", "-test.v") //nolint:gosec // this test's own program
		child.Env = append(os.Environ(), callsVariable+"="+string(text))
		all.Go(func() {
			said, err := child.CombinedOutput()
			_, found, _ := strings.Cut(string(said), "\ncalls ")
			line, _, _ := strings.Cut(found, "\n")
			if err == nil {
				err = json.Unmarshal([]byte(line), &out[i])
			}
			if err != nil {
				failed[i] = fmt.Errorf("process %d of %d, as a vendor's library %t: %w: %s", i, processes, asVendor, err, said)
			}
		})
	}
	all.Wait()
	require.NoError(t, errors.Join(failed...))
	return out
}

// withoutOwn are a step's calls as a vendor's library would get them, by onlyLoopback.
func withoutOwn(s step, several bool) (calls []string) {
	for _, call := range s.Calls {
		row, own := onlyLoopback[call]
		switch {
		case !own:
			calls = append(calls, call)
			continue
		case len(row.before) > 0 && slices.Equal(calls[max(0, len(calls)-len(row.before)):], row.before):
			calls = calls[:len(calls)-len(row.before)]
		}
		if several && s.Name == "burst" {
			calls = append(calls, row.instead...)
		}
	}
	return calls
}

// steady joins calls of setDevice in a row: a poll that finds work unfinished leaves one.
func steady(calls []string) []string {
	return slices.CompactFunc(slices.Clone(calls), func(a, b string) bool { return a == "setDevice" && b == "setDevice" })
}

// The driver makes the same calls, in the same order, on the loopback and on a library that
// has no more than a vendor's, but for what onlyLoopback lists: alone, and with a process a
// rank.
func TestLongDriverCallsTheSameOfEveryProvider(t *testing.T) {
	longtest.OnlyOrDetected(t)
	for _, processes := range []int{1, 8} {
		ours, theirs := inCallProcesses(t, processes, false), inCallProcesses(t, processes, true)
		seen := map[string]bool{}
		for i := range processes {
			require.Len(t, theirs[i], len(ours[i]))
			for k, s := range ours[i] {
				want := steady(withoutOwn(s, processes > 1))
				require.Equal(t, want, steady(theirs[i][k].Calls), "process %d of %d, step %d: %s", i, processes, k, s.Name)
				for _, call := range s.Calls {
					seen[call] = true
				}
			}
		}
		require.True(t, seen["hostBarrier"] && seen["caseBegin"] && seen["moveData"] && seen["nowNs"])
	}
}

// The rows that only the loopback has are those of the list, and stand in the documents.
func TestOnlyTheLoopbackHas(t *testing.T) {
	text, err := os.ReadFile("../docs/ARCHITECTURE.md")
	require.NoError(t, err)
	rows := native.LoopbackRows()
	require.Len(t, rows, len(onlyLoopback))
	for _, name := range rows {
		require.Contains(t, onlyLoopback, name)
		require.Contains(t, string(text), "| `"+name+"` |")
	}
}
