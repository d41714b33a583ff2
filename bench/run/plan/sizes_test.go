package plan_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/hardware/collective"
	"zbench/bench/run/plan"
	"zbench/bench/run/spec"
)

// Listed sizes replace those of the range: each once, in ascending order.
func TestListedSizes(t *testing.T) {
	c, err := collective.ByName("all_reduce")
	require.NoError(t, err)
	a := plan.Axes{
		Collectives: []collective.Collective{c}, Dtypes: collective.Dtypes()[:1], Ops: collective.Ops()[:1], MinBytes: 1 << 10, MaxBytes: 1 << 30, Factor: 2,
		InPlace: []bool{false}, World: spec.World{Nodes: 1, GPUsPerNode: 2, GPUsPerProcess: 1}, Sizes: []int64{1 << 20, 1 << 12, 1 << 20},
	}
	require.NoError(t, a.Validate())
	var got []int64
	for _, c := range a.Cases() {
		got = append(got, c.Requested)
	}
	require.Equal(t, []int64{1 << 12, 1 << 20}, got)
	a.Sizes = []int64{0, 1 << 20}
	require.ErrorContains(t, a.Validate(), "--sizes")
}
