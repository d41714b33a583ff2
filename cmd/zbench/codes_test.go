package main

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/exit"
	"zbench/test/longtest"
)

// README and --help have the table of exit codes, in its order.
func TestExitCodesAreOneTable(t *testing.T) {
	readme := "|---|---|\n"
	help := ""
	for _, r := range exit.Table() {
		readme += fmt.Sprintf("| %d | %s |\n", r.Code, r.Meaning)
		help += fmt.Sprintf("  %-4d %s\n", r.Code, r.Meaning)
	}
	require.Contains(t, readBytes(t, "../../README.md"), readme)
	require.Contains(t, helpOf(newRoot(State{}), 80, false), help)
}

// codeInputs are files that the commands of TestLongEveryCommandEndsWithItsCode read.
var codeInputs = map[string]string{
	"slow.csv": "a,b,46\na,c,46\na,d,46\na,e,20\nb,c,46\nb,d,46\nb,e,20\nc,d,46\nc,e,20\nd,e,20\n",
	"even.csv": "a,b,46\na,c,46\na,d,46\nb,c,46\nb,d,46\nc,d,46\n", "few.csv": "a,b,46\n",
	"silent.json":             `{"schemaVersion": 1, "traceEvents": [{"ph": "X", "cat": "kernel", "name": "gemm", "ts": 1, "dur": 2}]}`,
	"screened/nodes/note.txt": "no report\n", "sys/empty": "",
}

// codeRow is a command with its exit code.
type codeRow struct {
	code int
	line string
}

// codeRows have a command and its exit code, in the order in which they run: later ones read what earlier ones have
// left. One with --progress is interrupted at its third case.
var codeRows = []codeRow{
	{exit.OK, "collectives all_reduce --gpus-per-node 2 -b 64K -e 64K --place out -q --max-time 0.002 --out ok"},
	{exit.OK, "collectives all_reduce --gpus-per-node 2 -b 64K -e 64K --place out -q --max-time 0.002 --seed 2 --out ok2"},
	{exit.Regression, "collectives all_reduce --gpus-per-node 4 -b 16M -e 16M --place out -q -c 0 --max-time 0.002 --out slow --fault slow_link:node=0,a=0,b=1,left=0.5"},
	{exit.Regression, "collectives all_reduce --gpus-per-node 2 -b 64K -e 64K --place out -q --max-time 0.002 --out gate --threshold all_reduce\x00busbw>=9000GB/s"},
	{exit.OK, "collectives all_reduce --gpus-per-node 2 -b 64K -e 64K --place out -q --max-time 0.002 --out near --fail-on below-reference:15%"},
	{exit.WrongData, "collectives all_reduce --gpus-per-node 4 -b 64K -e 64K --place out -q --max-time 0.002 --out wrong --fault slow_link:node=0,a=0,b=1,left=0.5 --fault missing_rank:node=0,gpu=1"},
	{exit.Run, "collectives reduce_scatter --gpus-per-node 8 -b 8 -e 8 --place out -q --out failed"},
	{exit.Interrupted, "collectives all_reduce --nodes 4 -b 64K -e 16M --progress --out stopped --fault missing_rank:node=0,gpu=1"},
	{exit.Usage, "collectives all_reduce --fail-on slower:5%"},
	{exit.Unavailable, "collectives all_reduce --backend rocm --rccl-lib few.csv --out none"},
	{exit.OK, "hbm --backend loopback --size 64K --max-time 0.001 --kernels copy --dtype float32 -q --out memory"},
	{exit.WrongData, "hbm --backend loopback --size 64K --max-time 0.001 --kernels copy --dtype float32 -q --out bad --fault store\x000\x00100"},
	{exit.Unavailable, "hbm --backend rocm --hip-lib few.csv --out none"},
	{exit.OK, "gemm --backend loopback --mnk 300x200x100 --choices 2 -q --out products"},
	{exit.OK, "kernels rmsnorm --backend loopback --rows 2 --hidden 64 -q --out norm"},
	{exit.Usage, "kernels rmsnorm --backend loopback --rows 0"},
	{exit.Want, "screen --judge screened"},
	{exit.Usage, "screen --judge absent"},
	{exit.Usage, "watch --as cron"},
	{exit.Usage, "suite nothing"},
	{exit.OK, "rails --matrix even.csv"},
	{exit.Regression, "rails --matrix slow.csv"},
	{exit.Want, "rails --matrix few.csv"},
	{exit.OK, "soak --nodes 2 --gpus-per-node 1 --sizes 16K --attempts 3 -q --out clean"},
	{exit.WrongData, "soak --nodes 2 --gpus-per-node 1 --sizes 16K --attempts 3 -q --out soaked --fault corrupt:node=1,gpu=0,index=3"},
	{exit.Usage, "soak --nodes 2 --launches 0"},
	{exit.Usage, "bisect all_reduce"},
	{exit.OK, "import wrong.log --out imported"},
	{exit.WrongData, "import wrong.log --out imported2 --fail"},
	{exit.OK, "trace rank0.json"},
	{exit.Want, "trace silent.json"},
	{exit.OK, "report slow"},
	{exit.Regression, "report slow --fail"},
	{exit.Regression, "report ok --threshold all_reduce\x00busbw>=9000GB/s"},
	{exit.Regression, "report slow --fail-on below-reference"},
	{exit.OK, "report wrong"},
	{exit.WrongData, "report wrong --fail"},
	{exit.Run, "report failed --fail"},
	{exit.OK, "compare ok ok2"},
	{exit.Usage, "compare ok memory"},
	{exit.Want, "recommend ok"},
	{exit.Usage, "replay"},
	{exit.Want, "replay ok"},
	{exit.OK, "doctor --backend loopback"},
	{exit.Unavailable, "topo --root sys"},
	{exit.Usage, "loopback"},
	{exit.OK, "list collectives"},
	{exit.Usage, "list nothing"},
	{exit.OK, "token"},
	{exit.OK, "version"},
}

// Every command ends with the code that the table gives for what it found: of several the first.
func TestLongEveryCommandEndsWithItsCode(t *testing.T) {
	longtest.Only(t)
	dir := t.TempDir()
	for name, text := range codeInputs {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	for from, to := range map[string]string{"testdata/rank0.json": "rank0.json", "../../testdata/logs/wrong.log": "wrong.log"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, to), []byte(readBytes(t, from)), 0o600))
	}
	t.Chdir(dir)
	for _, x := range codeRows {
		args := strings.Fields(x.line)
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], "\x00", " ")
		}
		s, out := testState(t, args...)
		s.Random = rand.Reader
		signals := make(chan string, 2)
		s.Signals, s.Stderr = signals, Stream{Writer: &signalling{signals: signals}}
		require.Equal(t, x.code, Main(t.Context(), s), "%s\n%s%s", x.line, out, s.Stderr.Writer)
	}
	for _, c := range commands {
		require.True(t, slices.ContainsFunc(codeRows, func(x codeRow) bool { return strings.Fields(x.line)[0] == c.name }), "%s has no row: add one for each code that it can end with", c.name)
	}
}
