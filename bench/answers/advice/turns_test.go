package advice

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/run/spec"
)

// The calls of timed steps name the ranks that send them: all data-parallel ranks, those that hold the same experts, an
// optimizer instance, or the ranks with the same share in all instances; tensor-parallel ranks lie between them.
func TestTurnsNameTheirRanks(t *testing.T) {
	for name, x := range map[string]struct {
		want  spec.Advice
		world int
		ranks [][]int
	}{
		"all":              {spec.Advice{Preset: "llama3-8b"}, 4, [][]int{{0, 1, 2, 3}}},
		"experts":          {spec.Advice{Preset: "moonlight-16b", EP: 2}, 8, [][]int{{0, 2, 4, 6}, {0, 1, 2, 3, 4, 5, 6, 7}}},
		"experts of parts": {spec.Advice{Preset: "moonlight-16b", EP: 2, TP: 2}, 8, [][]int{{0, 4}, {0, 2, 4, 6}}},
		"instances":        {spec.Advice{Preset: "llama3-8b", Instances: 2}, 8, [][]int{{0, 1, 2, 3}, {0, 4}}},
		"as many":          {spec.Advice{Preset: "llama3-8b", Instances: 2}, 4, [][]int{{0, 1}, {0, 2}}},
		"parts of them":    {spec.Advice{Preset: "llama3-8b", Instances: 2, TP: 2}, 8, [][]int{{0, 2}, {0, 4}}},
		"experts of them":  {spec.Advice{Preset: "moonlight-16b", Instances: 2, EP: 2}, 8, [][]int{{0, 1, 2, 3}, {0, 2}, {0, 4}}},
		"a stage":          {spec.Advice{Preset: "llama3-8b", PP: 2}, 8, [][]int{{0, 1, 2, 3}}},
	} {
		x.want.Framework, x.want.Step = "megatron", 0.3
		q, err := Prepare(&x.want)
		require.NoError(t, err, name)
		require.Equal(t, max(1, x.want.PP), q.Stages())
		_, turns, err := q.Planned(x.world, nil)
		require.NoError(t, err, name)
		require.Greater(t, len(turns), 2)
		for _, turn := range turns {
			var ranks [][]int
			for i, g := range turn.Groups {
				require.Len(t, g.Ranks, g.Size, "group %d", i)
				ranks = append(ranks, g.Ranks)
			}
			require.ElementsMatch(t, x.ranks, ranks, name)
			used := map[int]bool{}
			for _, n := range turn.Nodes {
				if n.Call != nil {
					used[n.Call.Group] = true
				}
			}
			require.Len(t, used, len(turn.Groups))
		}
	}
}
