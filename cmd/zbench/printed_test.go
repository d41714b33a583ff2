package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"zbench/test/longtest"
	"zbench/test/project"
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

// littleOf are flags that have a printed command measure less than by default: what is tried is whether
// it can be given as it is printed.
var littleOf = map[string]string{
	"collectives": " -b 1M -e 1M -c 0",
	"hbm":         " --size 64K --max-time 0.005 --dtype float32",
	"gemm --peak": " --choices 1",
}

// sized are printed commands that say themselves what they measure.
var sized = regexp.MustCompile(` (-b|-e|--sizes|--resume|--spec) `)

// launchers are variables of started processes.
var launchers = []string{"OMPI_COMM_WORLD_RANK", "RANK", "SLURM_JOB_ID", "SLURM_PROCID"}

// printedTried are the commands that were run: one of each shape.
var printedTried sync.Map

// shapeOf is a command without the values of its flags and the names of folders.
func shapeOf(line string) string {
	words := strings.Fields(line)
	for i := range words {
		if i > 1 && !strings.HasPrefix(words[i], "-") && words[i-1] != "--framework" && words[i-1] != "--backend" {
			words[i] = "*"
		}
	}
	return strings.Join(slices.Compact(words), " ")
}

// tryPrinted runs, in long tests, the commands that the zbench before printed, each in a copy of the script's folder: a
// command that is a usage error, cannot run, or lacks input must not be printed. What it finds, or that
// this machine has no GPU, is an answer.
func tryPrinted(ts *testscript.TestScript, code string, args []string) {
	// A launcher's environment is planted in some scripts; its user types elsewhere.
	if !longtest.Enabled() || slices.ContainsFunc(launchers, func(name string) bool { return ts.Getenv(name) != "" }) {
		return
	}
	stdout, stderr := ts.ReadFile("stdout"), ts.ReadFile("stderr")
	tried := false
	for _, line := range printedIn(stdout + "\n" + stderr) {
		skip := slices.ContainsFunc(unrunnable, func(u string) bool { return strings.HasPrefix(line, u) }) ||
			code == "1" && strings.Contains(line, " --resume ") // the fault is planted still
		if _, again := printedTried.LoadOrStore(shapeOf(line), true); again || skip {
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
				ts.Check(os.WriteFile(log, []byte(published), 0o600))
			}
		}
		typed := ownWords.Replace(line)
		for command, little := range littleOf {
			if strings.HasPrefix(line+" ", "zbench "+command+" ") && !sized.MatchString(line) {
				typed += little
			}
		}
		err := ts.Exec("sh", "-c", "cd "+dir+" && FIXTURES="+printedFixtures+" && "+typed)
		answers := []string{"3", "4", "5"}
		if strings.HasPrefix(line, "zbench rails ") || strings.HasPrefix(line, "zbench replay ") || strings.Contains(line, "--hiprtc-lib") {
			answers = append(answers, "6") // of two nodes it names candidates; steps may be too few; without a compiler no data are checked
		}
		if err != nil && !slices.Contains(answers, exitOf(err)) {
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
var published string

func makePrintedFixtures(t *testing.T) {
	printedFixtures = t.TempDir()
	published = project.Read(t, "testdata/all_reduce.log")
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

// Commands in sentences stand between backticks: what does not is neither found here nor set as code.
func TestCommandsInSentencesAreQuoted(t *testing.T) {
	longtest.OneGoroutine(t)
	bare := regexp.MustCompile("(?:^|[^`\\w(/-])zbench (?:collectives|hbm|kernels|import|report|compare|bisect|recommend|replay|rails|loopback|doctor|screen|topo|list|version)\\b")
	// Names of commands as the subject of a sentence, and those in help, which is a page of commands.
	subject := regexp.MustCompile(`zbench \w+ (?:opens|reads|needs|on the folder)`)
	help := []string{"Use", "Short", "Long", "Example", "railsLong", "replayLong"}
	for _, dir := range []string{"../../bench", "../../internal", "../../report", "."} {
		require.NoError(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || path == "help.go" {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			require.NoError(t, err)
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.KeyValueExpr:
					if key, is := n.Key.(*ast.Ident); is && slices.Contains(help, key.Name) {
						return false
					}
				case *ast.ValueSpec:
					if slices.Contains(help, n.Names[0].Name) {
						return false
					}
				}
				if lit, is := n.(*ast.BasicLit); is && lit.Kind == token.STRING {
					text, err := strconv.Unquote(lit.Value)
					require.NoError(t, err)
					if bare.MatchString(text) && !subject.MatchString(text) {
						t.Errorf("%s: %q has a command without backticks", path, text)
					}
				}
				return true
			})
			return nil
		}))
	}
}
