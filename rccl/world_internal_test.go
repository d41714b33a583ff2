package rccl

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/run/plan"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
	"zbench/bench/work/fabric"
	"zbench/internal/native"
	"zbench/test/longtest"
)

// trial is a sweep of a world of two nodes of four GPUs.
type trial struct {
	collective string
	axes       func(*plan.Axes)
	faults     []string
	budget     int64
	checks     int
}

// machine resolves the world of the trial, and lists two sizes of the collective, of
// which the second meets a fault of 250 kB and more.
func (x trial) machine(t *testing.T) (*fabric.Machine, []plan.Case) {
	t.Helper()
	f, err := fabric.ByName(fabric.Default)
	require.NoError(t, err)
	w := spec.World{Nodes: 2, GPUsPerNode: 4, GPUsPerProcess: 1}
	a, err := plan.Axes{MinBytes: 1 << 16, MaxBytes: 1 << 18, Factor: 4, InPlace: []bool{false}, World: w}.Named("float", "sum", x.collective)
	require.NoError(t, err)
	if x.axes != nil {
		x.axes(&a)
	}
	require.NoError(t, a.Validate())
	m, err := f.Resolve(w, fabric.Conditions{Seed: 7, Faults: x.faults, Groups: a.Groups, Strides: a.Strides, Scales: a.Scales})
	require.NoError(t, err)
	return m, a.Cases()
}

func (x trial) config(m *fabric.Machine) Config {
	return Config{
		Native: native.Choice{Backend: "loopback", Machine: m.Text()}, Ranks: 8, CacheBytes: testCache, VerifyBudget: cmp.Or(x.budget, 64<<20), Seed: 3,
	}
}

func (x trial) options() plan.Effort {
	o := plan.DefaultOptions()
	if x.checks > 0 {
		o.Checks = x.checks
	}
	return o
}

// worldOfEight opens all ranks in one process.
func worldOfEight(t *testing.T, coll string, faults ...string) (*Driver, []plan.Case) {
	t.Helper()
	x := trial{collective: coll, faults: faults}
	m, cases := x.machine(t)
	d, err := Open(x.config(m))
	require.NoError(t, err)
	return d, cases
}

// sweep is what a command does with a process, or with a group of them.
func (x trial) sweep(ctx context.Context, t *testing.T, p plan.Process, cases []plan.Case) []record.Result {
	t.Helper()
	room, err := p.Budget()
	require.NoError(t, err)
	plan.Fit(cases, room)
	require.NoError(t, p.Allocate(ctx, room.For(cases)))
	return plan.Run(ctx, cases, p, x.options(), func(record.Result) {})
}

// alone runs the cases in one process.
func (x trial) alone(t *testing.T) []record.Result {
	t.Helper()
	m, cases := x.machine(t)
	d, err := Open(x.config(m))
	require.NoError(t, err)
	defer func() { _ = d.Close() }()
	return x.sweep(t.Context(), t, d, cases)
}

// together runs them in processes that hold shares of the ranks.
func (x trial) together(t *testing.T, shares []int) []record.Result {
	t.Helper()
	m, cases := x.machine(t)
	cfg := x.config(m)
	p, err := native.Open(cfg.Native)
	require.NoError(t, err)
	defer p.Close()
	j := &joint{t: t, p: p, meetings: map[string]*meeting{}, ids: map[native.UniqueID]int{}}
	j.functions, err = p.LoadFunctions([]int{0, 1, 2, 3, 4, 5, 6, 7})
	require.NoError(t, err)
	defer j.functions.Close()
	var drivers []*Driver
	first := 0
	for i, n := range shares {
		cfg.FirstRank, cfg.Ranks, cfg.World, cfg.Devices = first, n, 8, nil
		for r := range n {
			cfg.Devices = append(cfg.Devices, first+r)
		}
		d := newDriver(cfg, p, &party{joint: j, number: i, first: first, count: n, processes: len(shares)})
		require.NoError(t, d.openRanks())
		d.functions = j.functions
		drivers, first = append(drivers, d), first+n
	}
	var results []record.Result
	led(t, drivers, func(ctx context.Context, g *plan.Group) { results = x.sweep(ctx, t, g, cases) })
	for id, used := range j.ids {
		require.LessOrEqual(t, used, 1, "%x", id)
	}
	if j.batch != nil {
		j.batch.Close()
	}
	return results
}

// layouts are ways to cut eight ranks into processes.
var layouts = [][]int{{8}, {4, 4}, {2, 2, 2, 2}, {1, 1, 1, 1, 1, 1, 1, 1}, {3, 1, 4}}

// same holds the results of all layouts against those of one process. The reason of a
// failure ends alike; before that it says which processes said what.
func (x trial) same(t *testing.T, what string) (want []record.Result) {
	t.Helper()
	want = x.alone(t)
	for i, shares := range layouts {
		if testing.Short() && i%3 != 0 {
			continue
		}
		got := x.together(t, shares)
		require.Len(t, got, len(want))
		for i := range want {
			w := want[i]
			if e := w.Evidence; e != nil {
				require.NotEmpty(t, x.faults)
				require.True(t, strings.HasSuffix(got[i].Reason, "; "+e.Text()), got[i].Reason)
				w.Reason = got[i].Reason
			}
			require.Equal(t, w, got[i], "%s in %v: %s", what, shares, x.collective)
		}
	}
	return want
}

// A world that is cut into processes leaves the same results as one process that
// holds it whole, to the last bit: the evidence of a hang or of an asynchronous
// error at any launch too. What the error adds is which process said what.
func TestLongProcessesLeaveTheRecordOfOneInBrief(t *testing.T) {
	longtest.OnlyOrDetected(t)
	processesLeaveTheRecordOfOne(t, "", "hang:node=1,gpu=1,bytes=2.5e5,launch=0", "hang:node=0,gpu=3,bytes=2.5e5,launch=3", "async_error:node=1,gpu=1,bytes=2.5e5,launch=3")
}

func TestLongProcessesLeaveTheRecordOfOne(t *testing.T) {
	longtest.Only(t)
	var faults []string
	for launch := range 8 {
		faults = append(faults, fmt.Sprintf("hang:node=1,gpu=1,bytes=2.5e5,launch=%d", launch))
	}
	processesLeaveTheRecordOfOne(t, append(faults, "hang:node=0,gpu=3,bytes=2.5e5,launch=5", "hang:node=0,gpu=0,bytes=2.5e5,launch=7")...)
}

func processesLeaveTheRecordOfOne(t *testing.T, faults ...string) {
	t.Helper()
	for _, coll := range []string{"all_reduce", "send_recv"} {
		for _, fault := range faults {
			planted := slices.DeleteFunc([]string{fault}, func(s string) bool { return s == "" })
			want := trial{collective: coll, faults: planted}.same(t, fault)
			if coll == "all_reduce" { // messages of send_recv meet no asynchronous error
				failed := slices.ContainsFunc(want, func(r record.Result) bool { return r.Evidence != nil })
				require.Equal(t, len(planted) > 0, failed, fault)
			}
		}
	}
}

// So do groups, strides and the first nodes, in which some processes have no ranks, each
// with their verification, and what is wrong in them.
func TestLongProcessesOfGroupsLeaveTheRecordOfOne(t *testing.T) {
	longtest.OnlyOrDetected(t)
	parted := func(a *plan.Axes) {
		a.MinBytes, a.MaxBytes = 1<<16, 1<<16
		a.Groups, a.Strides, a.Scales, a.InPlace = []int{2, 4}, []int{2, 4}, []int{1}, []bool{true}
	}
	corrupt := func(gpu string) string { return "corrupt:" + gpu + ",index=7" }
	for _, one := range []struct{ collective, fault string }{
		{"all_reduce", ""},
		{"reduce_scatter", ""},
		{"scatter", ""},
		{"all_reduce", "slow_link:node=1,a=2,b=3,left=0.5"},
		{"all_reduce", corrupt("node=1,gpu=1")},
		{"all_reduce", corrupt("node=0,gpu=3")},
	} {
		x := trial{collective: one.collective, axes: parted, checks: 2}
		if one.fault != "" {
			x.faults = []string{one.fault}
		}
		states := map[record.Status]int{}
		for _, r := range x.same(t, one.fault) {
			states[r.Status]++
			if r.Status == record.OK {
				require.Equal(t, record.VerifiedOK, r.Verified.State, "%s: %s", r.Key, r.Verified.Reason)
			}
		}
		require.Equal(t, strings.HasPrefix(one.fault, "corrupt"), states[record.WrongData] > 0, one.fault)
		require.Equal(t, one.fault == "corrupt:node=0,gpu=3,index=7", states[record.OK] == 0, "the other one is not on the first node")
	}
}

// A hang in one of the groups is that of one process too.
func TestHangsOfGroupsLeaveTheRecordOfOne(t *testing.T) {
	for _, only := range []func(a *plan.Axes){
		func(a *plan.Axes) { a.Groups = []int{2} },
		func(a *plan.Axes) { a.Strides = []int{4} },
	} {
		x := trial{collective: "all_reduce", faults: []string{"hang:node=1,gpu=1,bytes=2.5e5,launch=6"}}
		x.axes = func(a *plan.Axes) { only(a) }
		require.True(t, slices.ContainsFunc(x.same(t, "hang"), func(r record.Result) bool { return r.Evidence != nil }))
	}
}

// The cases that are verified are those of one process: what memory allows is computed
// for all ranks.
func TestVerificationBudgetIsOfTheWorld(t *testing.T) {
	x := trial{collective: "all_reduce", budget: 2 << 20}
	x.axes = func(a *plan.Axes) { a.MinBytes, a.MaxBytes, a.Scales = 1<<14, 1<<18, []int{1} }
	states := map[string]int{}
	for _, r := range x.same(t, "") {
		states[r.Verified.State]++
	}
	require.Equal(t, map[string]int{record.VerifiedOK: 5, record.VerifiedBlocks: 1}, states)
}

// What a process says of its own ranks is in the numbers of the world.
func TestRanksAreNumberedInTheWorld(t *testing.T) {
	d, cases := worldOfEight(t, "all_reduce", "async_error:node=1,gpu=1,bytes=2.5e5,launch=3")
	defer func() { _ = d.Close() }()
	d.cfg.FirstRank = 16
	require.NoError(t, d.Allocate(t.Context(), plan.Room{Cache: testCache}.For(cases)))
	r := plan.Run(t.Context(), cases, d, plan.DefaultOptions(), func(record.Result) {})[1]
	require.Equal(t, "21", r.Evidence.Ranks[0].Ranks)
	require.Equal(t, "16-20,22-23", r.Evidence.Ranks[1].Ranks)
	require.Contains(t, r.Reason, "asynchronous error on rank 21: ")
}

// Wrong elements too.
func TestWrongElementsAreNumberedInTheWorld(t *testing.T) {
	d, cases := worldOfEight(t, "all_reduce", "corrupt:node=1,gpu=1,index=7")
	defer func() { _ = d.Close() }()
	d.cfg.FirstRank = 16
	require.NoError(t, d.Allocate(t.Context(), plan.Room{Cache: testCache}.For(cases)))
	r := plan.Run(t.Context(), cases, d, plan.DefaultOptions(), func(record.Result) {})[0]
	require.Equal(t, record.WrongData, r.Status, r.Reason)
	require.Contains(t, r.Reason, "first on rank 21 at element 7 ")
}
