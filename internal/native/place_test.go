package native_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/internal/native"
)

// Which GPUs a process sees in a world of 16, by its environment: the first and how many.
// The launchers' variables have their sources in internal/launch/table.go.
func TestToolchainPlace(t *testing.T) {
	native.Toolchain(t)
	t.Parallel()
	program := filepath.Join(t.TempDir(), "place")
	compile(t, "-O1", "-Wall", "-Wextra", "-Wno-unused", "-Werror", "-o", program, "testdata/place_test.c", "testdata/no_kernels.c", "-ldl", "-lm", "-lpthread")
	for name, c := range map[string]struct{ env, want string }{
		"no launcher":                {"", "all"},
		"empty variables":            {"RANK= WORLD_SIZE= HIP_VISIBLE_DEVICES=", "all"},
		"torchrun, 2 nodes of 8":     {"RANK=9 WORLD_SIZE=16 LOCAL_RANK=1 LOCAL_WORLD_SIZE=8", "8 8"},
		"torchrun, 1 node":           {"RANK=9 WORLD_SIZE=16 LOCAL_RANK=9 LOCAL_WORLD_SIZE=16", "all"},
		"Open MPI, 2 GPUs a process": {"OMPI_COMM_WORLD_RANK=5 OMPI_COMM_WORLD_SIZE=8 OMPI_COMM_WORLD_LOCAL_RANK=1 OMPI_COMM_WORLD_LOCAL_SIZE=4", "8 8"},
		"MPICH":                      {"PMI_RANK=3 PMI_SIZE=16 MPI_LOCALRANKID=3 MPI_LOCALNRANKS=8", "0 8"},
		"Slurm, 8(x2)":               {"SLURM_PROCID=8 SLURM_STEP_NUM_TASKS=16 SLURM_LOCALID=0 SLURM_STEP_TASKS_PER_NODE=8(x2)", "8 8"},
		"Slurm's PMI-2":              {"PMI_RANK=8 PMI_SIZE=16 SLURM_PROCID=8 SLURM_STEP_NUM_TASKS=16 SLURM_LOCALID=0 SLURM_STEP_TASKS_PER_NODE=8(x2)", "8 8"},
		"more processes than ranks":  {"RANK=9 WORLD_SIZE=32 LOCAL_RANK=1 LOCAL_WORLD_SIZE=8", "all"},
		"a local rank above the own": {"RANK=0 WORLD_SIZE=16 LOCAL_RANK=3 LOCAL_WORLD_SIZE=8", "all"},
		"the innermost launcher":     {"RANK=8 WORLD_SIZE=16 LOCAL_RANK=0 LOCAL_WORLD_SIZE=8 SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=2 SLURM_LOCALID=0 SLURM_STEP_TASKS_PER_NODE=1", "8 8"},
		"a launcher without a size":  {"RANK=9 LOCAL_RANK=1 LOCAL_WORLD_SIZE=8 SLURM_PROCID=8 SLURM_STEP_NUM_TASKS=16 SLURM_LOCALID=0 SLURM_STEP_TASKS_PER_NODE=8", "8 8"},
		"half a launcher":            {"RANK=8 SLURM_PROCID=8 SLURM_STEP_NUM_TASKS=16 SLURM_LOCALID=0 SLURM_STEP_TASKS_PER_NODE=8", "8 8"},
		// docs/LOOPBACK.md, Threads and processes
		"own GPUs":                     {"ZBENCH_LOOPBACK_GPUS=2 RANK=3 WORLD_SIZE=8", "6 2"},
		"own GPUs without a launcher":  {"ZBENCH_LOOPBACK_GPUS=4", "0 4"},
		"own GPUs, HIP's do not count": {"ZBENCH_LOOPBACK_GPUS=4 HIP_VISIBLE_DEVICES=1", "0 4"},
		"named":                        {"ZBENCH_LOOPBACK_FIRST=3 ZBENCH_LOOPBACK_COUNT=2 RANK=3 WORLD_SIZE=8", "3 2"},
		"named, the rest":              {"ZBENCH_LOOPBACK_FIRST=3", "3 13"},
		"named, how many":              {"ZBENCH_LOOPBACK_COUNT=5", "0 5"},
		// ROCm/clr, rocclr/device/rocm/rocdevice.cpp, Device::init: HIP's numbers are of
		// what ROCr's leave; what stands behind a number that is none does not count
		"HIP's":                  {"HIP_VISIBLE_DEVICES=2,3", "2 2"},
		"CUDA's name":            {"CUDA_VISIBLE_DEVICES=5", "5 1"},
		"HIP's before CUDA's":    {"HIP_VISIBLE_DEVICES=2 CUDA_VISIBLE_DEVICES=5", "2 1"},
		"ROCr's":                 {"ROCR_VISIBLE_DEVICES=4,5,6,7", "4 4"},
		"HIP's among ROCr's":     {"ROCR_VISIBLE_DEVICES=4,5,6,7 HIP_VISIBLE_DEVICES=1,2", "5 2"},
		"HIP's beyond ROCr's":    {"ROCR_VISIBLE_DEVICES=4,5 HIP_VISIBLE_DEVICES=2", "refused: leaves"},
		"an end":                 {"HIP_VISIBLE_DEVICES=0,1,-1,2", "0 2"},
		"a number twice":         {"HIP_VISIBLE_DEVICES=1,2,1", "1 2"},
		"beyond the last":        {"HIP_VISIBLE_DEVICES=15,16", "15 1"},
		"none":                   {"HIP_VISIBLE_DEVICES=-1", "refused: leaves"},
		"no number":              {"HIP_VISIBLE_DEVICES=GPU-0", "refused: leaves"},
		"a gap":                  {"HIP_VISIBLE_DEVICES=0,2", "refused: consecutive"},
		"downwards":              {"HIP_VISIBLE_DEVICES=3,2", "refused: consecutive"},
		"of the launcher's node": {"RANK=9 WORLD_SIZE=16 LOCAL_RANK=1 LOCAL_WORLD_SIZE=8 HIP_VISIBLE_DEVICES=1,2", "9 2"},
	} {
		cmd := exec.Command(program, "16") //nolint:gosec // built above
		cmd.Env = append([]string{}, strings.Fields(c.env)...)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, name)
		if reason, refused := strings.CutPrefix(c.want, "refused: "); refused {
			require.Regexp(t, "^refused: .*"+reason, string(out), name)
			continue
		}
		require.Equal(t, c.want+"\n", string(out), name)
	}
}
