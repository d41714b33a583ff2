package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/exit"
	"zbench/test/longtest"
)

// starter is a command that starts processes which take part in no sweep together, and what its answer must be again after
// one of them was killed.
type starter struct {
	args []string
	// again resumes what is in DIR; without it the command is given once more, with another folder.
	again []string
	// journal is what can be resumed.
	journal string
	// takes is the time of an idle run.
	takes time.Duration
	// answer is what the folder says; named tells that it names a part as left out, without which the answer may be another.
	answer func(t *testing.T, dir string) (answer string, named bool)
}

func starters() []starter {
	lists := func(t *testing.T, dir string) (string, bool) {
		return readBytes(t, dir, "fail.txt") + "/" + readBytes(t, dir, "pass.txt"), false
	}
	return []starter{
		{
			args:  []string{"screen", "--backend", "loopback", "--nodes", "3", "--launch", "local", "--fault", "slow_hbm:node=1,gpu=2,left=0.5", "-q", "--out"},
			takes: 600 * time.Millisecond, answer: lists,
		},
		{
			args: []string{
				"bisect", "all_reduce", "--backend", "loopback", "-g", "2", "-b", "64K", "-e", "1M", "--place", "out", "-c", "0", "--max-time", "0.002", "-q",
				"--variant", "7.0=", "--variant", "7.1=", "--variant", "7.2=--fault dip:from=16e3,to=17e6,times=2", "--out",
			},
			again: []string{"bisect", "-q", "--resume"}, journal: "bisect.jsonl",
			takes: 2 * time.Second,
			answer: func(t *testing.T, dir string) (string, bool) { // a variant whose process was killed is left out
				type variant struct {
					LeftOut bool `json:"left_out"`
				}
				var found struct {
					Verdict  string
					Variants []variant
				}
				require.NoError(t, json.Unmarshal([]byte(readBytes(t, dir, "bisect.json")), &found))
				return found.Verdict, slices.ContainsFunc(found.Variants, func(v variant) bool { return v.LeftOut })
			},
		},
		{ // resumed, worlds whose processes were killed come to their end
			args: append(deadlined("soak"), []string{
				"--backend", "loopback", "--launch", "local", "--nodes", "2", "--gpus-per-node", "2", "--sizes", "16K", "--attempts", "40", "-q",
				"--vary", "NCCL_ALGO", "--fault", "stale_send:node=1,gpu=0,part=0.5,env=NCCL_ALGO:Tree", "--out",
			}...),
			again: append(deadlined("soak"), "-q", "--launch", "local", "--resume"), journal: "soak.jsonl",
			takes:  6 * time.Second,
			answer: func(t *testing.T, dir string) (string, bool) { return readBytes(t, dir, "soak.json"), false },
		},
		{ // a row whose process was killed runs again
			args: []string{"suite", "testdata/suite.yaml", "--backend", "loopback", "--nodes", "2", "-q", "--out"}, again: []string{"suite", "-q", "--resume"},
			journal: "suite.jsonl", takes: 2 * time.Second,
			answer: func(t *testing.T, dir string) (string, bool) { return readBytes(t, dir, "report.html"), false },
		},
	}
}

// deadlined is a command with deadlines that a loaded host keeps, and that end what nobody leads any more.
func deadlined(command string) []string { return append([]string{command}, deadlinesOf("20s")...) }

// killChild kills one of the processes of a command, its parent among them, and holds that all end, and that the answer can be had again.
func killChild(t *testing.T, zbench string, seed int, want []string) (found bool) {
	t.Helper()
	s := starters()[seed%len(starters())]
	rng := rand.New(rand.NewPCG(uint64(seed), 34)) //nolint:gosec // reproducible is what it is for
	dir, what := filepath.Join(t.TempDir(), "run"), fmt.Sprintf("seed %d, %s", seed, s.args[0])
	r := startMarked(t, zbench, dir, disturbance{what: what}, "", append(s.args, dir)...)
	u := rng.Float64()
	time.Sleep(time.Duration(u * u * float64(s.takes)))
	all := slices.Sorted(maps.Keys(r.left()))
	if found = len(all) > 0; found {
		_ = syscall.Kill(all[rng.IntN(len(all))], syscall.SIGKILL) // it may have ended
	}
	r.ends(t, 2*time.Minute)
	if s.again == nil {
		dir += "-again"
	}
	args := slices.Concat(s.args, []string{dir})
	if _, err := os.Stat(filepath.Join(dir, s.journal)); s.journal != "" && err == nil {
		args = slices.Concat(s.again, []string{dir})
	} else if s.again != nil {
		dir += "-again"
		args[len(args)-1] = dir
	}
	next := startMarked(t, zbench, dir, disturbance{what: what}, "", args...)
	next.ends(t, 2*time.Minute)
	require.NotContains(t, []int{exit.Usage, exit.Run, -1}, next.code, "%s: %s", what, readBytes(t, next.stderr))
	if answer, named := s.answer(t, dir); !named {
		require.Equal(t, want[seed%len(want)], answer, what)
	}
	return found
}

func killChildren(t *testing.T, seeds []int) {
	zbench := program(t)
	var want []string
	for i, s := range starters() {
		dir := filepath.Join(t.TempDir(), fmt.Sprint(i))
		r := startMarked(t, zbench, dir, disturbance{what: s.args[0]}, "", append(s.args, dir)...)
		r.ends(t, 2*time.Minute)
		answer, named := s.answer(t, dir)
		require.False(t, named)
		want = append(want, answer)
	}
	killed := make([]bool, len(seeds))
	t.Run("seeds", func(t *testing.T) {
		for i, seed := range seeds {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				killed[i] = killChild(t, zbench, seed, want)
			})
		}
	})
	n := 0
	for _, k := range killed {
		if k {
			n++
		}
	}
	t.Logf("%d runs of screen, bisect, soak and suite, %d with a process that was killed: all ended, and gave their answer when they were repeated, or named what they left out", len(seeds), n)
}

// A process of screen, bisect, soak or suite that is killed, or the command itself, leaves none behind, and the command can be given again.
func TestLongKilledChildren(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	killChildren(t, seedsFrom(0, 8))
}

// The same with more seeds: a fifth of make soak-kills' schedules.
func TestSoakDisturbedChildren(t *testing.T) {
	if *schedulesOf == 0 {
		t.Skip("make soak-kills runs it")
	}
	killChildren(t, seedsFrom(*firstSchedule, *schedulesOf/5))
}
