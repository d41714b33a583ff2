package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/test/longtest"
	"zbench/test/project"
)

// fenced are the blocks of code of a Markdown text by their language.
func fenced(text string) map[string][]string {
	blocks := map[string][]string{}
	for _, m := range regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$").FindAllStringSubmatch(text, -1) {
		blocks[m[1]] = append(blocks[m[1]], m[2])
	}
	return blocks
}

// shorter are the flags with which a test runs a command of the README that takes minutes, or GPUs.
var shorter = map[string]string{
	"mpirun -np 8 zbench collectives --out one-host":                                    " --backend loopback -e 1M",
	"mpirun -np 16 -x ZBENCH_TOKEN --hostfile hosts zbench collectives --out two-hosts": " --backend loopback --nodes 2 -e 1M",
	"zbench collectives --out all":                                                      " -e 1M",
	"zbench bisect all_reduce --nodes 16 -b 1M -e 64M --vary NCCL_ALGO=Ring,Tree":       " -c 0",
	"zbench hbm":             " --kernels copy --size 64K --max-time 0.002",
	"zbench kernels rmsnorm": " --rows 64 --hidden 256 --dtype float32 --max-time 0.002",
}

// shows is what examples of the README, by their first words, are there to show.
var shows = map[string]string{
	"zbench bisect ": "FIRST SLOW VARIANT: after",
	"zbench report ": "✓ PASS",
	"zbench rails ":  "rail 2 of node3",
}

// Every command of the README runs, in its order, in one folder that has the project's test data; what
// it quotes is printed.
func TestLongReadme(t *testing.T) {
	longtest.Only(t)
	text, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	require.LessOrEqual(t, strings.Count(string(text), "\n"), 200)
	makefile, err := os.ReadFile("../../Makefile")
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(filepath.Join(dir, "testdata"), os.DirFS(project.File(t, "testdata"))))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "hosts"), []byte("localhost slots=16\n"), 0o600))
	blocks, exports, printed := fenced(string(text)), "", ""
	for line := range strings.Lines(strings.Join(blocks[""], "")) {
		line, _, _ = strings.Cut(line, "   #")
		line = strings.TrimPrefix(strings.TrimSpace(line), "bin/")
		answers := []int{0}
		program, rest, _ := strings.Cut(line, " ")
		switch program {
		case "":
			continue
		case "make":
			require.Regexp(t, `(?m)^`+rest+`:`, string(makefile))
			continue
		case "go":
			require.Equal(t, "install ./cmd/zbench", rest)
			continue
		case "export":
			exports += line + "; "
			continue
		case "mpirun":
			if _, err := exec.LookPath("mpirun"); err != nil {
				t.Logf("not run, there is no mpirun: %s", line)
				continue
			}
		case "zbench":
			if regexp.MustCompile(`--fail-on|--fault|rails|screen|doctor`).MatchString(rest) {
				answers = append(answers, 3) // a finding
			}
			if strings.HasPrefix(rest, "doctor") || strings.HasPrefix(rest, "topo") {
				answers = append(answers, 5) // no GPU
			}
		default:
			t.Fatalf("the README has a command that no test runs: %q", line)
		}
		if strings.HasPrefix(line, "zbench collectives all_reduce --nodes 2 --seed ") { // six, to be compared
			line += " -c 0"
		}
		cmd := exec.Command("sh", "-euc", exports+line+shorter[line])
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "OMPI_MCA_rmaps_base_oversubscribe=1", "COLUMNS=80")
		out, err := cmd.CombinedOutput()
		require.True(t, slices.Contains(answers, exitOfProcess(t, err)), "%s\n%s", line, out)
		for start, text := range shows {
			if strings.HasPrefix(line, start) {
				require.Contains(t, unfolded(string(out)), text, line)
			}
		}
		printed += string(out)
	}
	for line := range strings.Lines(strings.Join(blocks["text"], "")) {
		require.Contains(t, printed, line)
	}
	quotes := regexp.MustCompile(`(?m)(?:^> .*\n)+`).FindAllString(string(text), -1)
	require.NotEmpty(t, quotes)
	for _, q := range quotes {
		require.Contains(t, unfolded(printed), unfolded(strings.ReplaceAll(q, "> ", "")))
	}
}
