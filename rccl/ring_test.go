package rccl_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// An init brings the virtual clocks of all ranks together, as it does in time: what a rank
// times after it has nothing of how late another has come to it. Messages around a ring
// would pass such differences on for as many launches as there are ranks.
func TestInitBringsClocksTogether(t *testing.T) {
	const processes = 4
	file, env := compiled(t, "ring.c"), simulated(t, node(t, 1))
	var all []*exec.Cmd
	printed := make([]bytes.Buffer, processes)
	for i := range processes {
		c := exec.CommandContext(t.Context(), file)
		c.Env = append(slices.Clone(env), fmt.Sprintf("OMPI_COMM_WORLD_RANK=%d", i), fmt.Sprintf("OMPI_COMM_WORLD_LOCAL_RANK=%d", i),
			fmt.Sprintf("OMPI_COMM_WORLD_SIZE=%d", processes), fmt.Sprintf("OMPI_COMM_WORLD_LOCAL_SIZE=%d", processes))
		c.Stdout, c.Stderr = &printed[i], os.Stderr
		require.NoError(t, c.Start())
		all = append(all, c)
	}
	for i, c := range all {
		require.NoError(t, c.Wait())
		took, err := strconv.ParseFloat(strings.TrimSpace(printed[i].String()), 64)
		require.NoError(t, err)
		require.Less(t, took, 5e-4, "rank %d: ranks come to the init a millisecond apart", i)
	}
}
