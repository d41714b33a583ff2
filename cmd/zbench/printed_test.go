package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"
)

// printedCommand is a command that zbench prints for its user: between backticks in a sentence, or
// after a colon to the end of the line, where a backslash goes on.
var printedCommand = regexp.MustCompile("`(zbench [^`\n]+)`|(?m:^[A-Z][^:\n`]*: (zbench (?:\\\\\n|[^\n`])*)$)")

// printedIn are the commands in a text, a line each.
func printedIn(text string) []string {
	var all []string
	for _, m := range printedCommand.FindAllStringSubmatch(text, -1) {
		all = append(all, unfolded(strings.ReplaceAll(m[1]+m[2], "\\\n", " ")))
	}
	return all
}

// A user's own words, which stand in a printed command as capitals, and what the tests give for them.
var ownWords = strings.NewReplacer(
	"--params FILE", "--params $FIXTURES/params.csv", "--backward-ms MS", "--backward-ms 80",
	"--out DIR", "--out new-folder", "DIR", "$FIXTURES/base/1", "BASE… -- NEW…", "$FIXTURES/base/1 -- $FIXTURES/new",
	"BASE NEW", "$FIXTURES/base $FIXTURES/new", "> NODE.json", "> node.json",
)

// unrunnable are printed commands that need what no test has.
var unrunnable = []string{
	"zbench topo --xml FILE",       // RCCL's dump of a machine's topology
	"zbench topo --host NAME",      // a node's name
	"zbench topo --outputs DIR",    // outputs of rdma, nicctl or lldpctl
	"zbench rails --logs DIR",      // logs of pairs
	"zbench loopback --no-data --", // rccl-tests
}

// launchers are variables of started processes.
var launchers = []string{"OMPI_COMM_WORLD_RANK", "RANK", "SLURM_JOB_ID", "SLURM_PROCID"}

// printedTried are the commands that were run, by script.
var printedTried sync.Map

// tryPrinted runs the commands that the zbench before printed, each in a copy of the script's folder: a
// command that is a usage error, cannot run, or lacks input must not be printed. What it finds, or that
// this machine has no GPU, is an answer.
func tryPrinted(ts *testscript.TestScript, args []string) {
	// A launcher's environment is planted in some scripts; its user types elsewhere.
	if testing.Short() || slices.ContainsFunc(launchers, func(name string) bool { return ts.Getenv(name) != "" }) {
		return
	}
	stdout, stderr := ts.ReadFile("stdout"), ts.ReadFile("stderr")
	tried := false
	for _, line := range printedIn(stdout + "\n" + stderr) {
		skip := slices.ContainsFunc(unrunnable, func(u string) bool { return strings.HasPrefix(line, u) })
		if _, again := printedTried.LoadOrStore(ts.Name()+line, true); again || skip {
			continue
		}
		tried = true
		dir := filepath.Join(printedFixtures, "of-"+ts.Name())
		ts.Check(os.RemoveAll(dir))
		if out, err := exec.Command("cp", "-a", ts.MkAbs("."), dir).CombinedOutput(); err != nil {
			ts.Fatalf("%s: %s", err, out)
		}
		if log := filepath.Join(dir, "all_reduce.log"); strings.Contains(line, " all_reduce.log") {
			if _, err := os.Stat(log); err != nil {
				ts.Check(os.WriteFile(log, published, 0o600))
			}
		}
		err := ts.Exec("sh", "-c", "cd "+dir+" && FIXTURES="+printedFixtures+" && "+ownWords.Replace(line))
		if err != nil && !slices.Contains([]string{"3", "4", "5"}, exitOf(err)) {
			ts.Fatalf("%s\nprinted the command\n%s\nwhich ends with exit code %s:\n%s", strings.Join(args, " "), line, exitOf(err), ts.ReadFile("stderr"))
		}
	}
	if tried { // the script goes on with its own output
		at := filepath.Join(printedFixtures, "of-"+ts.Name())
		ts.Check(os.WriteFile(at+".out", []byte(stdout), 0o600))
		ts.Check(os.WriteFile(at+".err", []byte(stderr), 0o600))
		ts.Check(ts.Exec("sh", "-c", "cat "+at+".out; cat "+at+".err >&2"))
	}
}

// printedFixtures is a folder with what a user has: records, a log, a list of tensors.
var printedFixtures string

// published is the log that the README reads.
var published []byte

func makePrintedFixtures(t *testing.T) {
	printedFixtures = t.TempDir()
	var err error
	published, err = os.ReadFile("../../testdata/all_reduce.log")
	require.NoError(t, err)
	var tensors strings.Builder
	for i := range 32 {
		fmt.Fprintf(&tensors, "layers.%d.weight,218112000\n", i)
	}
	require.NoError(t, os.WriteFile(filepath.Join(printedFixtures, "params.csv"), []byte(tensors.String()), 0o600))
	for i, run := range []string{"base/1", "base/2", "base/3", "new/1", "new/2", "new/3"} {
		out, err := exec.Command("zbench", "collectives", "--gpus-per-node", "2", "-b", "64K", "-f", "8", "-e", "256M", "-c", "0", "--max-time", "0.002", "--seed", fmt.Sprint(i), "--out", filepath.Join(printedFixtures, run)).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
}
