package native_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/internal/native"
)

// A program that calls HSA starts on the loopback: the symbols have their version. hsa_init
// fails, as on a host without GPUs, so UCX leaves ROCm out; a program that counts agents all the same gets
// the GPUs that the process sees. Nothing of HIP's is opened by that.
func TestToolchainHSA(t *testing.T) {
	native.Toolchain(t)
	t.Parallel()
	dir := t.TempDir()
	together, _ := clientMachines(t, dir)
	library, program := filepath.Join(dir, "libhsa-runtime64.so.1"), filepath.Join(dir, "user")
	compile(t, "-O1", "-Wall", "-Wextra", "-Werror", "-fPIC", "-fvisibility=hidden", "-shared", "-Wl,-soname,libhsa-runtime64.so.1", "-o", library,
		"c/shared/hsa.c", "-Wl,--version-script=c/shared/hsa.map", "-Wl,-z,defs")
	compile(t, "-o", program, "testdata/hsa_user.c", library, "-Wl,-rpath,"+dir, "-Wl,-z,now")
	for environment, want := range map[string]string{
		"":                            "0",
		"ZBENCH_LOOPBACK=/none":       "0",
		"ZBENCH_LOOPBACK=" + together: "8",
		"ZBENCH_LOOPBACK=" + together + " HIP_VISIBLE_DEVICES=2,3": "2",
		"ZBENCH_LOOPBACK=" + together + " HIP_VISIBLE_DEVICES=3,1": "0",
		"ZBENCH_LOOPBACK=" + together + " ZBENCH_LOOPBACK_GPUS=4":  "4",
		"ZBENCH_LOOPBACK=" + together + " ROCR_VISIBLE_DEVICES=7":  "1",
	} {
		cmd := exec.Command(program) //nolint:gosec // built above
		cmd.Env = append([]string{"PATH=" + os.Getenv("PATH")}, strings.Fields(environment)...)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s: %s", environment, out)
		require.Equal(t, want, string(out), environment)
	}
}
