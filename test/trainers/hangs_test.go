package trainers

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// Ranks whose calls do not fit together are told of: which rank is in which call, and where the other one is. Calls that
// fit are told of by nothing.
func TestHangsOfTrainersAreExplained(t *testing.T) {
	in := enter(t, "import os; os.environ['SECONDS_TO_WAIT'] = '15'")
	const two = quiet + " --real 0,2"
	run := func(flags string, args ...string) (out string, code int) {
		cmd := in.zbench(flags, append([]string{"hangs.py"}, args...)...)
		_ = cmd.Run() // its code is looked at
		return fmt.Sprint(cmd.Stdout), cmd.ProcessState.ExitCode()
	}
	fits := func(flags string) {
		out, code := run(flags, "fit")
		require.Zero(t, code, out)
		require.NotRegexp(t, `waits|different calls|planted`, out)
		require.Contains(t, out, "rank 0 is through")
	}
	fits(two)
	fits(quiet + " --fault hang:node=0,gpu=1,bytes=1,launch=1000000")

	// Both ranks have called: the program is told at once, and can go on.
	together := map[string][2]string{
		"collective": {"all_reduce SUM of 8 float32", "broadcast of rank 0 of 8 float32"},
		"count":      {"all_reduce SUM of 8 float32", "all_reduce SUM of 4 float32"},
		"dtype":      {"all_reduce SUM of 8 float32", "all_reduce SUM of 8 float64"},
		"operator":   {"all_reduce SUM of 8 float32", "all_reduce MAX of 8 float32"},
		"root":       {"broadcast of rank 0 of 8 float32", "broadcast of rank 2 of 8 float32"},
		"barrier":    {"barrier", "all_reduce SUM of 8 float32"},
		"missing":    {"all_reduce SUM of 8 float32", "all_gather of 8 float32"},
		"order":      {"all_reduce SUM of 8 float32", "all_reduce SUM of 8 float32"},
	}
	words := []string{"broken"}
	for kind := range together {
		words = append(words, kind)
	}
	out, _ := run(two, words...)
	for kind, calls := range together {
		require.Regexp(t, kind+`: rank 0: ranks make different calls. rank 0: call \d of group \d+: `+calls[0]+`; rank 2: (ended after )?call \d of group \d+: `+calls[1], out)
	}

	// One rank does not come.
	for _, x := range []struct{ flags, how, kind, says string }{
		{two, "broken", "absent", `rank 0 waits in call 1 of group \d: all_reduce SUM of 8 float32.* rank 2: no call yet`},
		{two, "broken", "group", `ranks 0-1 wait in ncclCommInitRank for ranks 2-3, which have not called it`},
		{two, "broken", "send", `rank 0 waits .*send of 8 float32 of group \d to rank 2. rank 2: ended after no call`},
		{two, "broken", "receive", `rank 2 was stopped \(receive of 8 float32 of group \d of rank 0\)`},
		{two, "broken", "length", `waits to send 32 bytes to rank 1, which has another number of bytes`},
		{two, "broken", "ended", `rank 0 waits in call 1 of group \d: all_reduce SUM of 8 float32. rank 2: ended after no call`},
		{two, "broken", "raised", `(?s)ZeroDivisionError.*rank 2 ended with exit status 1; rank 0 (was stopped \(|ended)`},
		{quiet + " --fault hang:node=0,gpu=1,bytes=1,launch=1", "fit", "missing", `for rank 1, which has called it, and stopped ahead of it: a planted hang`},
		{quiet + " --fault async_error:node=0,gpu=1,bytes=1,launch=1", "fit", "missing", `for rank 1, which has an asynchronous error`},
		{quiet + " --fault stuck_init:node=0,gpu=1", "fit", "missing", `GPU 1 does not return from ncclCommInitRank: a planted fault`},
		{quiet + " --fault stuck_gpu:node=0,gpu=1", "fit", "missing", `GPU 1 does not return from a call of the runtime: a planted fault`},
	} {
		t.Run(x.how+" "+x.kind+x.flags[len(quiet):], func(t *testing.T) {
			t.Parallel() // it waits for what does not come
			waited := in.told(t, x.flags, x.says, "hangs.py", x.how, x.kind)
			require.Regexp(t, x.says, waited)
		})
	}
}
