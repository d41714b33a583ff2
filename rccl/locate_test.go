package rccl_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/hardware/collective"
	"zbench/bench/run/plan"
	"zbench/bench/run/spec"
	"zbench/bench/work/fabric"
	"zbench/rccl"
	"zbench/test/longtest"
)

// soaked opens a world of two nodes with a fault, and its cases of 64 KiB in sums of int32: of all ranks, and of the
// GPUs with one number.
func soaked(t *testing.T, fault string, way plan.Way, names ...string) (*rccl.Driver, []plan.Case) {
	t.Helper()
	w := spec.World{Nodes: 2, GPUsPerNode: 2, GPUsPerProcess: 1}
	o := fabric.Conditions{Strides: []int{2}}
	if fault != "" {
		o.Faults = []string{fault}
	}
	d, _ := open(t, w, o, quiet)
	a, err := plan.Axes{Sizes: []int64{1 << 16}, MinBytes: 1, MaxBytes: 1, Factor: 2, InPlace: []bool{false}, World: w, Strides: []int{2}}.Named("int32", "sum", names...)
	require.NoError(t, err)
	cases := a.Cases()
	for i := range cases {
		cases[i].Way = way
	}
	allocate(t, d, cases)
	return d, cases
}

// attempt joins fresh communicators and verifies so many launches on them.
func attempt(t *testing.T, d *rccl.Driver, c plan.Case, number, launches int) (all []plan.Verification) {
	t.Helper()
	ids, err := d.IDs(c.Comms())
	require.NoError(t, err)
	require.NoError(t, d.Join(context.Background(), c.Comms(), ids))
	require.NoError(t, d.Begin(c, number))
	for i := range launches {
		v, err := d.Verify(context.Background(), c, number*launches+i)
		require.NoError(t, err)
		all = append(all, v)
	}
	return all
}

// The ways in which a kernel writes the data of a launch.
var own, other = plan.Way{AtOnce: true}, plan.Way{AtOnce: true, Apart: true}

// soakNames are the collectives whose sender is one, and those that reduce.
var soakNames = []string{"all_gather", "broadcast", "all_to_all", "send_recv", "all_reduce", "reduce_scatter"}

// What a rank sends that its buffer held before is found in every launch in which it was planted, with the sender
// and the pattern, and in none else.
func TestLongStaleSendsAreLocated(t *testing.T) {
	longtest.OnlyOrDetected(t)
	for _, way := range []plan.Way{
		own, other,
		{AtOnce: true, Apart: true, Copied: true},
		{AtOnce: true, Urgent: true},
		{AtOnce: true, Captured: true, Apart: true},
		{AtOnce: true, Beside: plan.StepGemm},
		{AtOnce: true, Split: true},
		{AtOnce: true, Apart: true, Copied: true, Urgent: true, Captured: true, Beside: plan.StepGemm, Split: true},
	} {
		d, cases := soaked(t, "stale_send:node=0,gpu=0,first=1,part=0.5", way, soakNames...)
		wrong := 0
		for number := range 10 * len(cases) {
			c, before := cases[number%len(cases)], d.Fired()
			got := attempt(t, d, c, number, 2)
			fired := d.Fired() > before
			require.Equal(t, fired, got[0].Wrong > 0, "%s %+v: fired %v", c.Key, way, fired)
			require.Zero(t, got[1].Wrong, "%s: the second launch", c.Key)
			for _, p := range got[0].Located {
				wrong++
				require.Equal(t, plan.Stale, p.Pattern, "%s: %+v", c.Key, p)
				require.Equal(t, []int{0}, p.From, "%s: %+v", c.Key, p)
				require.NotEmpty(t, p.Ranges)
			}
		}
		require.Greater(t, wrong, 20)
		require.NoError(t, d.Close())
	}
}

// A fault that depends on a variable of the environment needs its value.
func TestDataFaultsOfAnEnvironment(t *testing.T) {
	for value, wrong := range map[string]bool{"": false, "Tree": false, "ring": true, "Ring": true} {
		t.Setenv("NCCL_ALGO", value)
		d, cases := soaked(t, "missing_rank:node=0,gpu=0,env=NCCL_ALGO:Ring,first=1", own, "all_gather")
		v := attempt(t, d, cases[0], 0, 2)
		require.Equal(t, wrong, v[0].Wrong > 0, value)
		require.Zero(t, v[1].Wrong)
		require.NoError(t, d.Close())
	}
}

// A fault that only data of another stream have, or only copied data, spares those of the launch's own; one that begins with the second
// launch spares the first.
func TestLongWhenDataFaultsCome(t *testing.T) {
	longtest.OnlyOrDetected(t)
	ownCopy, otherCopy, urgent := plan.Way{AtOnce: true, Copied: true}, plan.Way{AtOnce: true, Apart: true, Copied: true}, plan.Way{AtOnce: true, Urgent: true, Captured: true}
	for fault, want := range map[string]map[plan.Way][]bool{
		"stale_send:node=0,gpu=0,across=1":           {own: {false, false}, other: {true, true}, otherCopy: {true, true}, ownCopy: {false, false}, {}: {false, false}},
		"stale_send:node=0,gpu=0,copied=1":           {own: {false, false}, other: {false, false}, otherCopy: {true, true}, ownCopy: {true, true}},
		"stale_send:node=0,gpu=0,urgent=1":           {own: {false, false}, other: {false, false}, urgent: {true, true}},
		"stale_send:node=0,gpu=0,copied=1,part=0":    {otherCopy: {false, false}},
		"missing_rank:node=0,gpu=0,launch=1":         {own: {false, true}},
		"corrupt:node=0,gpu=0,index=5,first=1":       {own: {true, false}},
		"stale_buffer:node=0,gpu=0,part=0":           {own: {false, false}},
		"stale_buffer:node=0,gpu=0,launch=0,first=1": {other: {true, false}},
	} {
		for way, wrong := range want {
			d, cases := soaked(t, fault, way, "all_gather", "all_reduce")
			for i, c := range cases {
				for k, v := range attempt(t, d, c, i, 2) {
					require.Equal(t, wrong[k], v.Wrong > 0, "%s, %s, %+v, launch %d", fault, c.Key, way, k)
				}
			}
			require.NoError(t, d.Close())
		}
	}
}

// Each kind of wrong data is told by what stands there.
func TestPatternsOfWrongData(t *testing.T) {
	for fault, want := range map[string]plan.Pattern{
		"missing_rank:node=0,gpu=0": plan.Zeros, "stale_buffer:node=0,gpu=0": plan.NotWritten, "swapped_blocks:node=0,gpu=0": plan.Shifted,
		"corrupt:node=0,gpu=0,index=5": plan.OneBit, "doubled_rank:node=0,gpu=0": plan.Doubled, "stale_send:node=0,gpu=0": plan.Stale,
	} {
		d, cases := soaked(t, fault, own, soakNames...)
		for i, c := range cases {
			v := attempt(t, d, c, i, 1)[0]
			if want == plan.Doubled && !c.Collective.Reduces {
				require.Zero(t, v.Wrong)
				continue
			}
			require.Positive(t, v.Wrong, "%s: %s", fault, c.Key)
			var elements int64
			for _, p := range v.Located {
				elements += p.Elements
				require.Equal(t, want, p.Pattern, "%s: %s: %+v", fault, c.Key, p)
				of, err := collective.ByName(c.Collective.Name)
				require.NoError(t, err)
				if !of.Reduces {
					require.Len(t, p.From, 1)
				}
			}
			require.Equal(t, v.Wrong, elements, "%s: %s", fault, c.Key)
		}
		require.NoError(t, d.Close())
	}
}
