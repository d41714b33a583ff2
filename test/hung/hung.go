// Package hung has the ways in which internal/native/testdata/hung_test.c hangs, and what the loopback must print.
package hung

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Way is one way to hang: the program's kind, and the fault if one is planted.
type Way struct {
	Kind, Fault string
	// Told is in the explanation. A way without it does not hang.
	Told []string
}

func ways() []Way {
	const missing = "rank 3, which has not called it"
	const send = "rank 3 waits to send 256 bytes to rank 1, which has "
	return []Way{
		{"a fault that does not come", "hang:node=0,gpu=3,bytes=1e9,launch=1000", nil},
		{"late init", "", nil},
		{"missing call", "", []string{"call 2, all_reduce of 256 bytes", "ranks 0-2 wait", missing}},
		{"another collective", "", []string{"ranks 0-3 wait", "all_gather of 256 bytes", "all_reduce of 256 bytes"}},
		{"another count", "", []string{"count 64", "count 32", "ranks 0-3 wait"}},
		{"another type", "", []string{"type 7", "type 2"}},
		{"another root", "", []string{"broadcast of 256 bytes", "root 0", "root 3"}},
		{"missing init", "", []string{"ranks 0-2 wait in ncclCommInitRank for " + missing}},
		{"receive without send", "", []string{"rank 1 waits to receive 256 bytes from rank 3, which has not called ncclSend"}},
		{"send without receive", "", []string{send + "not called ncclRecv"}},
		{"another length", "", []string{send + "another number of bytes"}},
		{"other order", "", []string{"ranks 0-2 wait", "rank 3, which has called it, but other work is before it", "rank 3 waits"}},
		{"planted hang", "hang:node=0,gpu=3,bytes=16,launch=1", []string{"call 2, all_reduce", "ranks 0-2 wait", "rank 3, which has called it, and stopped ahead of it: a planted hang"}},
		{"planted error", "async_error:node=0,gpu=3,bytes=16,launch=1", []string{"rank 3, which has an asynchronous error"}},
		{"stuck", "stuck_gpu:node=0,gpu=3", []string{"GPU 3 does not return from a call of the runtime", missing}},
		{"stuck", "stuck_init:node=0,gpu=3", []string{"GPU 3 does not return from ncclCommInitRank", missing}},
	}
}

// Explained runs the program in each way, by threads and by processes, with the fault and without it. Command makes the
// command of a run with these arguments and a planted fault, if fault is not empty; folder is a new folder that the
// program can write to.
func Explained(t *testing.T, folder func() string, command func(fault string, args ...string) *exec.Cmd) {
	places := make(chan struct{}, 12) // they wait
	var looks []func()
	for _, way := range ways() {
		for _, how := range []string{"threads", "processes"} {
			for _, side := range []string{"wrong", "right"} {
				fault, told := way.Fault, way.Told
				if side == "right" {
					fault, told = "", nil
				} else if told == nil {
					side = "right" // this fault does not come
				}
				cmd := command(fault, how, way.Kind, side, filepath.Join(folder(), "id"))
				said := make(chan string)
				places <- struct{}{}
				go func() {
					out, err := cmd.CombinedOutput()
					<-places
					said <- fmt.Sprint(string(out), err)
				}()
				looks = append(looks, func() {
					out := <-said
					what := fmt.Sprintf("%s %s, %s: %s", way.Kind, fault, how, out)
					require.True(t, strings.HasSuffix(out, "<nil>"), what)
					for _, want := range told {
						require.Contains(t, out, want, what)
					}
					require.Equal(t, told != nil, strings.Contains(out, " wait"), what)
					require.LessOrEqual(t, strings.Count(out, "call 2, "), 2, "told once: %s", what)
				})
			}
		}
	}
	for _, look := range looks {
		look()
	}
}
