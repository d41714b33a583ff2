package rccl_test

import (
	"fmt"
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

// reaches tells which collectives a data fault of rank 1 can touch at all: the
// ranks that contribute nothing, or get nothing, cannot show it.
func reaches(kind string, c collective.Collective) bool {
	switch kind {
	case "missing_rank", "doubled_rank":
		return c.Name != "broadcast" && c.Name != "scatter" && !(kind == "doubled_rank" && !c.Reduces) && c.Name != "send_recv"
	}
	return c.Name != "reduce" && c.Name != "gather" && c.Name != "send_recv"
}

// Every planted data fault is found and located, in every collective and type;
// without it nothing is.
func TestDataFaultsAreFound(t *testing.T) {
	w := fabric.World{Nodes: 1, GPUsPerNode: 4, GPUsPerProcess: 1}
	kinds := []string{"", "missing_rank:node=0,gpu=1", "doubled_rank:node=0,gpu=1", "swapped_blocks:node=0,gpu=1", "stale_buffer:node=0,gpu=1", "corrupt:node=0,gpu=1,index=77"}
	for _, fault := range kinds {
		var faults []string
		kind := ""
		if fault != "" {
			faults = []string{fault}
			_, _ = fmt.Sscanf(fault, "%[^:]", &kind)
			kind = fault[:len(fault)-len(fault[indexOf(fault, ':'):])]
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
			c, err := collective.ByName(r.Collective)
			require.NoError(t, err)
			want := record.OK
			if kind != "" && reaches(kind, c) {
				want = record.WrongData
			}
			require.Equal(t, want, r.Status, "%s in %s: %s", fault, r.Key, r.Reason)
			if want == record.WrongData && (kind == "swapped_blocks" || kind == "stale_buffer" || kind == "corrupt") {
				require.Contains(t, r.Reason, "first on rank 1 at element ")
			}
			if kind == "corrupt" && want == record.WrongData {
				require.Equal(t, int64(1), *r.Verified.Wrong, r.Key)
				require.Contains(t, r.Reason, "at element 77 ")
			}
		}
		require.NoError(t, d.Close())
	}
}

func indexOf(s string, b byte) int {
	for i := range len(s) {
		if s[i] == b {
			return i
		}
	}
	return len(s)
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
