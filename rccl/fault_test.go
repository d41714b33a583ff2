package rccl_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/hardware/collective"
	"zbench/bench/run/plan"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
	"zbench/bench/work/fabric"
	"zbench/rccl"
)

// few is as little timing as there can be, for tests that look at data.
func few() plan.Effort {
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
		got := c.Result(0, 4, 0)
		return !r.InPlace || got.Reduced || got.Blocks > 1 || got.From != 0
	}
	return true
}

// openWith is a driver with a planted fault, or without one, and the kind of the fault.
func openWith(t *testing.T, w spec.World, fault string) (kind string, d *rccl.Driver) {
	kind, _, _ = strings.Cut(fault, ":")
	var faults []string
	if fault != "" {
		faults = []string{fault}
	}
	d, _ = open(t, w, fabric.Conditions{Faults: faults}, quiet)
	return kind, d
}

// Every planted data fault is found and located, in every collective and type;
// without it nothing is.
func TestDataFaultsAreFound(t *testing.T) {
	w := spec.World{Nodes: 1, GPUsPerNode: 4, GPUsPerProcess: 1}
	for _, fault := range dataFaults {
		kind, d := openWith(t, w, fault)
		var cases []plan.Case
		for _, dtype := range collective.Dtypes() {
			for _, c := range collective.All() {
				if c.Reduces && dtype.MovedOnly {
					continue
				}
				a := axes(t, w, c.Name)
				a.Dtypes, a.MinBytes, a.MaxBytes = []collective.Dtype{dtype}, 1<<14, 1<<14
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
				wrong := int64(1)
				if c, err := collective.ByName(r.Collective); err == nil && c.Uneven {
					wrong = int64(r.Ranks) // one in each message
				}
				require.Equal(t, wrong, *r.Verified.Wrong, r.Key)
				require.Contains(t, r.Reason, "first on rank 0 at element 77 ")
			}
		}
		require.NoError(t, d.Close())
	}
}
