package rccl_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/hardware/collective"
	"zbench/bench/hardware/policy"
	"zbench/bench/run/plan"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
	"zbench/bench/work/fabric"
	"zbench/test/longtest"
)

// What the driver says is served, the loopback runs so, and nothing else: it decides by the windows and the configuration
// that it was given. Kernels on windows take half as long there, copy engines a quarter.
func TestLongServedIsWhatRuns(t *testing.T) {
	longtest.OnlyOrDetected(t)
	told3 := []string{"all_reduce", "reduce_scatter", "all_gather"} // of these the library tells what runs them
	copies := policy.Policy{Register: policy.Window, CTA: policy.Zero}
	for _, x := range []struct {
		nodes, version int
	}{{1, 0}, {2, 0}, {2, 23007}, {1, 23102}} {
		w := spec.World{Nodes: x.nodes, GPUsPerNode: 8, GPUsPerProcess: 8}
		t.Setenv("NCCL_CUMEM_ENABLE", "1")
		d, m := open(t, w, fabric.Conditions{}, func(m *fabric.Machine) {
			quiet(m)
			m.CollVersion = x.version
			m.Policies = fabric.Policies{Copies: fabric.Faster{Rate: 4, Latency: 0.25}, Symmetric: fabric.Faster{Rate: 2, Latency: 0.5}, Register: 1e-3}
		})
		a := axes(t, w, collective.Names()...)
		a.MinBytes, a.MaxBytes, a.InPlace = 1<<20, 1<<20, []bool{false}
		a.Policies = []policy.Policy{{}, {Register: policy.Buffer}, {Register: policy.Window}, {CTA: policy.Zero}, copies}
		cases := a.Cases()
		for i, r := range run(t, d, cases, plan.DefaultOptions()) {
			c := cases[i]
			if x.version >= 23102 && c.Policy.CTA == policy.Zero && (c.Policy.Register == "" || r.Collective != "all_gather") && slices.Contains(told3, r.Collective) {
				require.Equal(t, record.Skipped, r.Status, r.Key)
				require.Contains(t, r.Reason, "(rcclGetCollImplInfo)")
				require.Nil(t, r.Burst, r.Key)
				continue
			}
			require.Equal(t, record.OK, r.Status, "%s: %s", r.Key, r.Reason)
			require.Equal(t, record.VerifiedOK, r.Verified.State, r.Key)
			curve := m.Curves[m.Whole()][r.Collective]
			times := 1.0
			switch {
			case c.Policy == copies && d.Unserved(c) == "":
				times = 0.25
			case c.Policy.Register == policy.Window && x.nodes == 1 && (c.Collective.Reduces && r.Collective != "reduce" || r.Collective == "all_gather"):
				times = 0.5
			}
			if told := map[float64]string{1: "RING", 0.5: "SYM", 0.25: "CE"}[times]; x.version < 23102 || c.Policy == (policy.Policy{}) || !slices.Contains(told3, r.Collective) {
				require.Empty(t, r.Ran, r.Key)
			} else {
				require.Equal(t, told, r.Ran, r.Key)
			}
			require.InEpsilon(t, times*curve.Time(float64(r.Bytes)), r.Burst.MeanOfRanks.Median, 1e-5, r.Key)
			if first := i > 0 && cases[i-1].Policy != c.Policy; first && c.Policy.Register != "" {
				require.InDelta(t, 8e-3, r.Registration, 1e-9, r.Key) // eight ranks of one host
			}
		}
		require.NoError(t, d.Close())
	}
}
