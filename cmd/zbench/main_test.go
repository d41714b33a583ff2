package main

import (
	"context"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"zbench/bench/run/spec"
	"zbench/bench/show/document"
	"zbench/bench/work/fabric"
	"zbench/internal/ras"
	"zbench/report"
	"zbench/test/longtest"
	"zbench/test/project"
	"zbench/test/rastest"
)

// plantedHost names the host that a script's zbench runs on.
const plantedHost = "ZBENCH_TEST_HOST"

// The scripts run this test binary as zbench, on a planted host.
// TestMain runs one script more than there are cores: some wait for a deadline.
func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", strconv.Itoa(runtime.GOMAXPROCS(0)+1)) // the command line comes after it
	writePNG = plantedPNG
	testscript.Main(m, map[string]func(){"zbench": func() {
		os.Exit(Main(context.Background(), plantTrouble(hostNamed(os.Getenv(plantedHost)).plant(osState()))))
	}})
}

// wantsPictures is the variable with which a test has pictures drawn.
const wantsPictures = "ZBENCH_TEST_PICTURES"

// plantedPNG leaves pictures out where no test looks at them.
func plantedPNG(w io.Writer, picture document.Block) error {
	if os.Getenv(wantsPictures) != "" {
		return report.WritePNG(w, picture)
	}
	_, err := io.WriteString(w, "not drawn: "+wantsPictures)
	return err
}

func TestScripts(t *testing.T) {
	t.Parallel()
	scripts := project.File(t, "scripts")
	libraries := ""
	if longtest.Enabled() {
		makePrintedFixtures(t)
	}
	if !testing.Short() {
		libraries = loopbackLibraries(t)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			steady(e)
			e.Setenv("LOOPBACK", libraries)
			e.Setenv("SCRIPTS", scripts)
			return nil
		},
		Condition: func(cond string) (bool, error) {
			return cond == "long" && longtest.Enabled() || cond == "toolchain" && os.Getenv("ZBENCH_TOOLCHAIN") != "" || cond == "loopback" && libraries != "", nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code":       exitCode,
			"damage":     damage,
			"glob":       globCount,
			"machine":    writeMachine,
			"ras":        serveRAS,
			"agrees":     agrees,
			"sameanswer": sameAnswer,
			"says":       says,
		},
	})
}

// exitCode runs zbench and checks its exit code: code 2 zbench list nothing.
// Its output is left for stdout and stderr as exec leaves it.
func exitCode(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: code N command…")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := "0"
	if err != nil {
		got = exitOf(err)
	}
	if got != args[0] {
		ts.Fatalf("exit code %s, want %s", got, args[0])
	}
	if args[1] == "zbench" {
		tryPrinted(ts, got, args[1:])
	}
}

// steady sets what a program may ask of its surroundings, whatever those of the
// tests are.
func steady(e *testscript.Env) {
	noPackages(e)
	for name, value := range map[string]string{plantedHost: hosts[0].name, "COLUMNS": "120", "GOGC": os.Getenv("GOGC"), "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "TZ": "UTC"} {
		e.Setenv(name, value)
	}
}

// says is stdout for text that is folded: where a line ends makes no difference.
func says(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: says PATTERN")
	}
	if matched := regexp.MustCompile(args[0]).MatchString(unfolded(ts.ReadFile("stdout"))); matched == neg {
		ts.Fatalf("%q matches standard output, unfolded: %t", args[0], matched)
	}
}

// unfolded is a text with one space wherever there are spaces or ends of lines.
func unfolded(text string) string { return strings.Join(strings.Fields(text), " ") }

// loopbackLibraries builds the loopback with the vendors' names; librccl prints.
func loopbackLibraries(t *testing.T) string {
	dir := t.TempDir()
	cmd := exec.Command("../../scripts/loopback.sh", dir)
	cmd.Env = append(os.Environ(), "NOISY=1")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return dir
}

// serveRAS answers as RCCL's RAS service with the text of a file, and tells zbench where:
// ras FILE.
func serveRAS(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: ras FILE")
	}
	address, end, err := rastest.Listen([]byte(ts.ReadFile(args[0])), true)
	ts.Check(err)
	ts.Defer(end)
	ts.Setenv(ras.AddressVariable, address)
}

// writeMachine writes the machine file of so many GPUs, of which pairs may be
// used, with faults: machine 2 FILE [FAULT…].
func writeMachine(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: machine GPUS FILE [FAULT…]")
	}
	gpus, err := strconv.Atoi(args[0])
	ts.Check(err)
	f, err := fabric.ByName(fabric.Default)
	ts.Check(err)
	m, err := f.Resolve(spec.World{Nodes: 1, GPUsPerNode: gpus, GPUsPerProcess: gpus}, fabric.Conditions{Seed: 1, Groups: []int{2}, Faults: args[2:]})
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), m.Text(), 0o600))
}

func matches(ts *testscript.TestScript, pattern string) []string {
	found, err := filepath.Glob(ts.MkAbs(pattern))
	ts.Check(err)
	return found
}

// globCount checks how many files there are: glob *.code 2.
func globCount(ts *testscript.TestScript, _ bool, args []string) {
	if found := matches(ts, args[0]); strconv.Itoa(len(found)) != args[1] {
		ts.Fatalf("%s: %d files, want %s", args[0], len(found), args[1])
	}
}

// damage changes the last byte of files.
func damage(ts *testscript.TestScript, _ bool, args []string) {
	for _, name := range matches(ts, args[0]) {
		data, err := os.ReadFile(name)
		ts.Check(err)
		data[len(data)-1] ^= 1
		ts.Check(os.WriteFile(name, data, 0o600))
	}
}

func TestEveryFlagDefaultParses(t *testing.T) {
	for _, row := range specFlags {
		to := spec.Spec{Sweep: &spec.Sweep{}}
		if row.Default != "" {
			require.NoError(t, row.Set(&to, []string{row.Default}), row.Name)
		}
		if !slices.Contains([]string{"string", "stringArray"}, row.Unit) { // a name is looked up later
			require.Error(t, row.Set(&to, []string{"nonsense"}), row.Name)
		}
		require.NotEmpty(t, row.Meaning)
	}
}

// loopbackFree is held by the test whose loopback is open: a process opens one.
var loopbackFree sync.Mutex

// besideScripts runs a test of some seconds, of one goroutine, while scripts run in their own processes.
func besideScripts(t *testing.T) {
	t.Helper()
	longtest.OneGoroutine(t)
	t.Parallel()
	loopbackFree.Lock()
	t.Cleanup(loopbackFree.Unlock)
}
