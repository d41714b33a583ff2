package rccl_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/collective"
	"zbench/bench/fabric"
	"zbench/bench/plan"
	"zbench/bench/record"
)

// few is as little timing as there can be, for tests that look at data.
func few() plan.Options {
	o := plan.DefaultOptions()
	o.Warmup, o.Iterations, o.Burst.MinSamples, o.Isolated.MinSamples = 0, 1, 1, 1
	o.Burst.MaxSamples, o.Isolated.MaxSamples = 2, 2
	return o
}

// dataFaults are planted on rank 0, which is the root: there each touches every
// collective, but that what is not reduced cannot be in the result twice.
var dataFaults = []string{"", "missing_rank:node=0,gpu=0", "doubled_rank:node=0,gpu=0", "swapped_blocks:node=0,gpu=0", "stale_buffer:node=0,gpu=0", "corrupt:node=0,gpu=0,index=77"}

// visible tells whether a data fault on the root changes anything at all: what is
// not reduced cannot be in the result twice, and in place a root that sends has
// its own part already.
func visible(t *testing.T, kind string, r record.Result) bool {
	t.Helper()
	c, err := collective.ByName(r.Collective)
	require.NoError(t, err)
	switch kind {
	case "doubled_rank":
		return c.Reduces
	case "stale_buffer":
		return !r.InPlace || (c.Name != "broadcast" && c.Name != "scatter")
	}
	return true
}

// Every planted data fault is found and located, in every collective and type;
// without it nothing is.
func TestDataFaultsAreFound(t *testing.T) {
	w := fabric.World{Nodes: 1, GPUsPerNode: 4, GPUsPerProcess: 1}
	for _, fault := range dataFaults {
		kind, _, _ := strings.Cut(fault, ":")
		var faults []string
		if fault != "" {
			faults = []string{fault}
		}
		d, _ := open(t, w, fabric.Options{Faults: faults}, quiet)
		var cases []plan.Case
		for _, dtype := range collective.Dtypes() {
			for _, c := range collective.All() {
				if c.Reduces && dtype.MovedOnly {
					continue
				}
				a := axes(t, w, c.Name)
				a.Dtype, a.MinBytes, a.MaxBytes = dtype, 1<<14, 1<<14
				cases = append(cases, a.Cases()...)
			}
		}
		for _, r := range run(t, d, cases, few()) {
			want := record.OK
			if kind != "" && visible(t, kind, r) {
				want = record.WrongData
			}
			require.Equal(t, want, r.Status, "%s in %s: %s", fault, r.Key, r.Reason)
			if want == record.OK {
				continue
			}
			switch kind {
			case "swapped_blocks", "stale_buffer":
				require.Contains(t, r.Reason, "first on rank 0 at element ")
			case "corrupt":
				require.Equal(t, int64(1), *r.Verified.Wrong, r.Key)
				require.Contains(t, r.Reason, "first on rank 0 at element 77 ")
			}
		}
		require.NoError(t, d.Close())
	}
}

// A hang ends at the deadline of the virtual clock, with evidence; the cases
// before it are kept.
func TestHangAndAsyncError(t *testing.T) {
	for fault, says := range map[string]string{
		"hang:node=0,gpu=5,bytes=4e6,launch=3":        "not finished at the deadline of 180 s; 5 of 5 launches made; ranks finished 0, not finished 8",
		"async_error:node=0,gpu=5,bytes=4e6,launch=3": "asynchronous error on rank 0: asynchronous error on device 0: remote process exited",
	} {
		w := fabric.World{Nodes: 1, GPUsPerNode: 8, GPUsPerProcess: 1}
		d, _ := open(t, w, fabric.Options{Faults: []string{fault}}, quiet)
		a := axes(t, w, "all_reduce")
		a.MinBytes, a.MaxBytes, a.InPlace = 1<<20, 1<<23, []bool{false}
		results := run(t, d, a.Cases(), plan.DefaultOptions())
		require.Equal(t, record.Failed, results[2].Status, "4 MiB is the first of at least 4e6 bytes")
		require.Contains(t, results[2].Reason, says)
		require.Equal(t, record.Skipped, results[3].Status)
		require.NotNil(t, results[0].Burst, "what was measured before is kept")
		_ = d.Close()
	}
}
