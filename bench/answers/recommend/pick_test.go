package recommend

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A curve that the record has of several sets of devices is no answer's: nothing
// says which of them the trainer will have. Other curves beside it do not matter.
func TestSeveralSetupsAreRefused(t *testing.T) {
	one := Curve{Collective: "all_reduce", Dtype: "float", Ranks: 16, Nodes: 2, Groups: 1, Setup: "node-a:0 node-b:0"}
	other, inPlace, groups := one, one, one
	other.Setup, inPlace.InPlace, groups.Groups = "node-a:0 node-c:0", true, 8
	require.Nil(t, severalSetups(one, []Curve{one}))
	require.Nil(t, severalSetups(one, []Curve{one, inPlace, groups}))
	refusal := severalSetups(one, []Curve{one, inPlace, other})
	require.Equal(t, "several_setups", refusal.Code)
	require.Contains(t, refusal.Message, "2 curves of all_reduce of 16 ranks")
	require.Contains(t, refusal.Message, "node-a:0 node-b:0; node-a:0 node-c:0")
}
