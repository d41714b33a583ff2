package native_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/internal/native"
)

// A HIP program that hangs is told who waits for whom in which call, by threads and by processes;
// one that does not hang is told nothing.
func TestToolchainHangsAreExplained(t *testing.T) {
	native.Toolchain(t)
	t.Parallel()
	dir := t.TempDir()
	program := filepath.Join(dir, "hung")
	compile(t, "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-o", program,
		"testdata/hung_test.c", "testdata/no_kernels.c", "-ldl", "-lm", "-lpthread")
	places := make(chan struct{}, 12) // they wait
	var looks []func()
	for _, c := range []struct {
		name, kind, fault string
		want              []string
	}{
		{"none", "none", "", nil},
		{"a fault that does not come", "none", "hang:node=0,gpu=3,bytes=1e9,launch=1000", nil},
		{"late init", "late init", "", nil},
		{"missing call", "missing call", "", []string{"call 2, all_reduce of 256 bytes", "ranks 0-2 wait", "rank 3, which has not called it"}},
		{"another collective", "another collective", "", []string{"ranks 0-3 wait", "all_gather of 256 bytes", "all_reduce of 256 bytes"}},
		{"another count", "another count", "", []string{"count 64", "count 32", "ranks 0-3 wait"}},
		{"another type", "another type", "", []string{"type 7", "type 2"}},
		{"another root", "another root", "", []string{"broadcast of 256 bytes", "root 0", "root 1"}},
		{"missing init", "missing init", "", []string{"ranks 0-2 wait in ncclCommInitRank for rank 3, which has not called it"}},
		{"receive without send", "receive without send", "", []string{"rank 3 waits to receive 256 bytes from rank 1, which has not called ncclSend"}},
		{"send without receive", "send without receive", "", []string{"rank 3 waits to send 256 bytes to rank 1, which has not called ncclRecv"}},
		{"another length", "another length", "", []string{"rank 3 waits to send 256 bytes to rank 1, which has another number of bytes"}},
		{"other order", "other order", "", []string{"ranks 0-2 wait", "rank 3, which has called it, but other work is before it", "rank 3 waits"}},
		{"planted hang", "none", "hang:node=0,gpu=3,bytes=16,launch=1", []string{"call 2, all_reduce", "ranks 0-2 wait", "rank 3, which has called it, and stopped ahead of it: a planted hang"}},
		{"planted error", "none", "async_error:node=0,gpu=3,bytes=16,launch=1", []string{"rank 3, which has an asynchronous error"}},
		{"stuck GPU", "stuck", "stuck_gpu:node=0,gpu=3", []string{"GPU 3 does not return from a call of the runtime", "rank 3, which has not called it"}},
		{"stuck init", "stuck", "stuck_init:node=0,gpu=3", []string{"GPU 3 does not return from ncclCommInitRank", "rank 3, which has not called it"}},
	} {
		for _, how := range []string{"threads", "processes"} {
			dir, faults := t.TempDir(), []string(nil)
			if c.fault != "" {
				faults = []string{c.fault}
			}
			together, apart := clientMachines(t, dir, faults...)
			env := "ZBENCH_LOOPBACK=" + map[string]string{"threads": together, "processes": apart}[how]
			cmd := clientCommand(program, []string{env, "NCCL_DEBUG=WARN"}, how, c.kind, filepath.Join(dir, "world"))
			said := make(chan string)
			places <- struct{}{}
			go func() {
				out, err := cmd.CombinedOutput()
				<-places
				said <- fmt.Sprint(string(out), err)
			}()
			looks = append(looks, func() {
				out := <-said
				require.True(t, strings.HasSuffix(out, "<nil>"), "%s in %s: %s", c.name, how, out)
				for _, want := range c.want {
					require.Contains(t, out, want, "%s in %s", c.name, how)
				}
				require.Equal(t, len(c.want) > 0, strings.Contains(out, " wait"), "%s in %s: %s", c.name, how, out)
				require.LessOrEqual(t, strings.Count(out, "call 2, "), 2, "%s in %s is told once: %s", c.name, how, out)
			})
		}
	}
	for _, look := range looks {
		look()
	}
}
