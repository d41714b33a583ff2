package main

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/exit"
	"zbench/test/longtest"
)

var flips = flag.Int("flips", 2, "how many bits of each file of a result folder are turned, one at a time")

// flipped is a result folder, and the commands that read it as DIR; OTHER is one of another run.
type flipped struct {
	dir      string
	commands [][]string
}

// answers are exit code, output and messages of a command about a folder.
func (f flipped) answers(t *testing.T, command []string) (code int, out, stderr string) {
	t.Helper()
	args := slices.Clone(command)
	for i := range args {
		args[i] = strings.NewReplacer("DIR", f.dir, "OTHER", f.dir+"-other").Replace(args[i])
	}
	s, stdout := testState(t, args...)
	var messages bytes.Buffer
	s.Stderr = Stream{Writer: &messages}
	code = Main(context.Background(), s)
	return code, stdout.String(), messages.String()
}

var saysDamage = regexp.MustCompile(`(?i)edited|damaged|checksum`)

// becomes is what a command makes of a folder with a damaged file: refused, equal, told or silent.
func (f flipped) becomes(t *testing.T, command []string, sound string) string {
	t.Helper()
	code, out, stderr := f.answers(t, command)
	switch {
	case code == exit.Usage || code == exit.Run:
		return "refused"
	case out == sound:
		return "equal"
	case saysDamage.MatchString(out + stderr):
		return "told"
	}
	return "silent"
}

// A bit that is turned in any file of a result folder changes no figure silently: the command refuses
// the file, says that it was edited, or answers as before. With -flips 250 by hand.
func TestLongFlippedBitsOfFolders(t *testing.T) {
	longtest.Only(t)
	besideScripts(t)
	root, zbench := t.TempDir(), program(t)
	folders := []flipped{
		{filepath.Join(root, "sweep"), [][]string{
			{"report", "DIR", "--format", "json"},
			{"report", "DIR/journal.jsonl", "--format", "json"},
			{"compare", "OTHER", "DIR", "--format", "json"},
			{"recommend", "DIR", "--framework", "ddp", "--preset", "llama3-8b", "--backward-ms", "80", "--format", "json"},
		}},
		{filepath.Join(root, "screen"), [][]string{
			{"screen", "--judge", "DIR", "--format", "json"}, {"collectives", "--exclude-bad", "DIR", "--nodes", "2", "--backend", "loopback", "--dry-run"},
		}},
		{filepath.Join(root, "hbm"), [][]string{
			{"report", "DIR", "--format", "json"}, {"report", "DIR/journal.jsonl", "--format", "json"}, {"compare", "OTHER", "DIR", "--format", "json"},
		}},
	}
	for i, args := range [][]string{
		{"collectives", "all_reduce", "all_gather", "--nodes", "2", "--gpus-per-node", "2", "-b", "64K", "-e", "16M", "-f", "16", "--keep-samples", "-q"},
		{"screen", "--nodes", "3", "--backend", "loopback", "--fault", "slow_hbm:node=1,gpu=2,left=0.5", "-q"},
		{"hbm", "--backend", "loopback", "--size", "64K", "--max-time", "0.005", "--kernels", "copy", "--dtype", "float32"},
	} {
		for seed, dir := range []string{folders[i].dir, folders[i].dir + "-other"} {
			require.NotContains(t, []int{exit.Run, exit.Usage, -1}, exitOfProcess(t, exec.Command(zbench, append(args, "--seed", strconv.Itoa(seed+1), "--out", dir)...).Run()))
		}
	}
	rng := rand.New(rand.NewPCG(63, 2)) //nolint:gosec // reproducible is what it is for
	count := map[string]int{}
	for _, f := range folders {
		f.flip(t, rng, count)
	}
	for _, what := range slices.Sorted(maps.Keys(count)) {
		t.Log(what, count[what])
	}
}

// flip turns bits of each file that is read, one at a time, and counts what becomes of it.
func (f flipped) flip(t *testing.T, rng *rand.Rand, count map[string]int) {
	t.Helper()
	sound := make([]string, len(f.commands))
	for i, command := range f.commands {
		var code int
		var stderr string
		code, sound[i], stderr = f.answers(t, command)
		require.NotContains(t, []int{exit.Run, exit.Usage}, code, "%s: %s", command, stderr)
		require.NotRegexp(t, saysDamage, sound[i])
	}
	require.NoError(t, filepath.WalkDir(f.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || slices.Contains([]string{".html", ".svg", ".png", ".lock"}, filepath.Ext(path)) {
			return err
		}
		whole, err := os.ReadFile(path)
		for range *flips {
			if len(whole) == 0 {
				break
			}
			text, bit := bytes.Clone(whole), rng.IntN(8*len(whole))
			text[bit/8] ^= 1 << (bit % 8)
			require.NoError(t, os.WriteFile(path, text, 0o600))
			for i, command := range f.commands {
				became := f.becomes(t, command, sound[i])
				name, _ := filepath.Rel(filepath.Dir(f.dir), path)
				require.NotEqual(t, "silent", became, "%s, bit %d: %s", name, bit, command)
				count[name+" "+command[0]+" "+filepath.Base(command[1])+": "+became]++
			}
		}
		return cmp.Or(err, os.WriteFile(path, whole, 0o600))
	}))
}
