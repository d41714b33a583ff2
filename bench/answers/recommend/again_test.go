package recommend_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/answers/recommend"
)

func TestAgain(t *testing.T) {
	swept := recommend.Again{Flags: [][]string{{"--nodes", "16"}, {"--place", "out"}, {"--fault", "late_gpu:node=1, gpu=2"}}}
	require.Equal(t, "sweep them on the same ranks, `zbench collectives reduce_scatter all_gather --nodes 16 --place out --fault 'late_gpu:node=1, gpu=2'`, and give that folder too",
		swept.Sweep([]string{"reduce_scatter", "all_gather"}))
	require.Equal(t, "sweep it on the same ranks, `zbench collectives all_reduce --nodes 16 --fault 'late_gpu:node=1, gpu=2' --place in`, and give that folder too", swept.Place("all_reduce", "in"))
	imported := recommend.Again{Imported: true}
	require.Equal(t, "run all_reduce_perf with -d bfloat16 on the same ranks, and give those logs too", imported.Sweep([]string{"all_reduce"}, []string{"-d", "bfloat16"}))
	require.Equal(t, "run all_reduce_perf with -b 64K -e 8G -f 2 on the same ranks, and give those logs too", imported.Wider([]string{"all_reduce"}))
	require.Equal(t, "give a log with the columns of both placements", imported.Place("all_reduce", "in"))
}

// Libraries that were named for a sweep are named for what follows it.
func TestLibrariesFollow(t *testing.T) {
	s := recommend.Source{Fault: &recommend.Fault{Command: "zbench rails"}}
	s.With([][]string{{"--rccl-lib", "/opt/a b/librccl.so"}})
	require.Contains(t, s.Again.Sweep([]string{"all_gather"}), "`zbench collectives all_gather --rccl-lib '/opt/a b/librccl.so'`")
	require.Equal(t, "zbench rails --rccl-lib '/opt/a b/librccl.so'", s.Fault.Command)
}
