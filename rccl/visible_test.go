package rccl_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A program sees the GPUs that ROCm's variables leave it, as launchers and their wrappers set
// them.
func TestVisibleGPUsOfPrograms(t *testing.T) {
	file, env := compiled(t, "visible.c"), simulated(t, node(t, 1))
	ofNode := []string{"OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_SIZE=2", "OMPI_COMM_WORLD_LOCAL_RANK=0", "OMPI_COMM_WORLD_LOCAL_SIZE=1"}
	for _, c := range []struct {
		set   []string
		shown string
	}{
		{nil, "8 0000:00:00.0 0000:07:00.0"},
		{[]string{"HIP_VISIBLE_DEVICES="}, "8 0000:00:00.0 0000:07:00.0"},
		{[]string{"HIP_VISIBLE_DEVICES=5"}, "1 0000:05:00.0 0000:05:00.0"},
		{[]string{"CUDA_VISIBLE_DEVICES=2,3,4"}, "3 0000:02:00.0 0000:04:00.0"},
		{[]string{"CUDA_VISIBLE_DEVICES=0", "HIP_VISIBLE_DEVICES=6,7"}, "2 0000:06:00.0 0000:07:00.0"},
		{[]string{"ROCR_VISIBLE_DEVICES=4,5,6", "HIP_VISIBLE_DEVICES=1,2"}, "2 0000:05:00.0 0000:06:00.0"},
		{[]string{"HIP_VISIBLE_DEVICES=0,1,1,2,9,3"}, "3 0000:00:00.0 0000:02:00.0"}, // 9 is none: 3 does not count
		{append(ofNode, "HIP_VISIBLE_DEVICES=3"), "1 0000:07:00.0 0000:07:00.0"},
		{[]string{"HIP_VISIBLE_DEVICES=3", "ZBENCH_LOOPBACK_FIRST=1", "ZBENCH_LOOPBACK_COUNT=2"}, "2 0000:01:00.0 0000:02:00.0"},
		{[]string{"HIP_VISIBLE_DEVICES=-1"}, "none"},
		{[]string{"HIP_VISIBLE_DEVICES=3,1"}, "none"},
		{[]string{"HIP_VISIBLE_DEVICES=1,3"}, "none"},
	} {
		run := exec.CommandContext(t.Context(), file)
		run.Env = slices.Concat(env, c.set)
		var said strings.Builder
		run.Stderr = &said
		out, err := run.Output()
		require.NoError(t, err, c.set)
		require.Equal(t, c.shown, strings.TrimSpace(string(out)), "%v: %s", c.set, said.String())
		require.Equal(t, c.shown == "none", strings.Contains(said.String(), "HIP_VISIBLE_DEVICES"), "%v: %s", c.set, said.String())
	}
}
