package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zbench/bench/answers/judge"
	"zbench/bench/base/exit"
	"zbench/bench/base/folder"
	"zbench/bench/engine"
	"zbench/bench/run/record"
	"zbench/test/longtest"
	"zbench/test/seal"
)

// small is a sweep of twelve passes.
func small(out string, more ...string) []string {
	return append([]string{"collectives", "all_reduce", "-b", "1K", "-e", "4K", "-n", "5", "--out", out}, more...)
}

// finished counts the cases of which the progress says that they are.
func finished(stderr string) int {
	return len(regexp.MustCompile(`(?m)^\[\d+/\d+(, about [^]]+ left)?\] all_reduce.* busbw `).FindAllString(stderr, -1))
}

// zbench runs a command in this process and returns its exit code and what it
// wrote on standard error.
func zbench(t *testing.T, files FS, args ...string) (code int, stderr string) {
	t.Helper()
	s, _ := testState(t, args...)
	var b bytes.Buffer
	s.Stderr = Stream{Writer: &b}
	s.FS = files
	s = hosts[0].plant(s)
	s.Getenv = func(name string) string { return map[string]string{"SOURCE_DATE_EPOCH": "1795219200"}[name] }
	code = Main(context.Background(), s)
	return code, b.String()
}

// fullDisk takes so many lines behind a journal's header, and half of the next.
type fullDisk struct {
	FS
	left *int
}

type fullFile struct {
	folder.AppendFile
	left *int
}

func (d fullDisk) Append(name string) (folder.AppendFile, error) {
	f, err := d.FS.Append(name)
	return fullFile{f, d.left}, err
}

func (d fullDisk) WriteFile(name string, data []byte) error {
	if *d.left < 0 {
		return errors.New("no space left on device")
	}
	return d.FS.WriteFile(name, data)
}

func (f fullFile) Write(p []byte) (int, error) {
	if *f.left--; *f.left >= 0 {
		return f.AppendFile.Write(p)
	}
	n, _ := f.AppendFile.Write(p[:len(p)/2])
	return n, errors.New("no space left on device")
}

// sameFolder compares two folders but for run.json.
func sameFolder(t *testing.T, want, got string) {
	t.Helper()
	list := func(dir string) map[string]string {
		files := map[string]string{}
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		for _, e := range entries {
			text, err := os.ReadFile(filepath.Join(dir, e.Name()))
			require.NoError(t, err)
			files[e.Name()] = string(text)
		}
		delete(files, "run.json")
		// The page's command reads its own folder.
		files["report.html"] = strings.ReplaceAll(files["report.html"], "zbench recommend "+filepath.Base(dir)+" ", "zbench recommend DIR ")
		return files
	}
	a, b := list(want), list(got)
	for name := range a {
		require.True(t, a[name] == b[name], "%s differs", name) //nolint:testifylint // pictures would be printed
	}
	require.Len(t, b, len(a))
}

func readBytes(t *testing.T, parts ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(parts...))
	require.NoError(t, err)
	return string(text)
}

// Wherever the disk fills up the run ends with an error that says what to do,
// the journal alone is a record, and resumed it becomes the folder of a run that
// was never stopped. Nothing finished runs again.
func TestDiskFullThenResume(t *testing.T) {
	longtest.OneGoroutine(t)
	diskFullThenResume(t, 1, 8) // in the first pass, and in the second
}

func TestLongDiskFullAtEveryLineThenResume(t *testing.T) {
	longtest.Only(t)
	besideScripts(t)
	diskFullThenResume(t, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
}

func diskFullThenResume(t *testing.T, lines ...int) {
	t.Helper()
	whole := filepath.Join(t.TempDir(), "whole")
	code, _ := zbench(t, osFS{}, small(whole)...)
	require.Zero(t, code)
	require.Equal(t, 13, strings.Count(readBytes(t, whole, engine.JournalFile), "\n"))
	for _, n := range lines {
		dir := filepath.Join(t.TempDir(), "cut")
		left := n
		code, stderr := zbench(t, fullDisk{osFS{}, &left}, small(dir)...)
		require.Equal(t, exit.Run, code)
		require.Contains(t, stderr, "no space left on device")
		require.Contains(t, stderr, "collectives --resume "+dir)
		before := readBytes(t, dir, engine.JournalFile)
		require.NoFileExists(t, filepath.Join(dir, "results.json"))
		code, _ = zbench(t, osFS{}, "report", dir)
		require.Zero(t, code)
		require.Contains(t, readBytes(t, dir, "results.csv"), "interrupted")
		require.Contains(t, readBytes(t, dir, "report.html"), "is incomplete")
		code, stderr = zbench(t, osFS{}, "collectives", "--progress", "--resume", dir)
		require.Zero(t, code, stderr)
		require.True(t, strings.HasPrefix(readBytes(t, dir, engine.JournalFile), before[:strings.LastIndex(before, "\n")+1]), "nothing finished is written again")
		require.Equal(t, 6-max(0, n-6), finished(stderr), "nothing finished runs again")
		sameFolder(t, whole, dir)
	}
}

// Killed with SIGKILL, a sweep continues where it was.
func TestKillThenResume(t *testing.T) {
	longtest.OneGoroutine(t)
	args := []string{"collectives", "all_gather", "all_reduce", "-b", "1K", "-e", "4M", "--max-time", "0.05"}
	whole, dir := filepath.Join(t.TempDir(), "whole"), filepath.Join(t.TempDir(), "killed")
	code, _ := zbench(t, osFS{}, append(args, "--out", whole)...)
	require.Zero(t, code)
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self)
	cmd.Args = append([]string{"zbench"}, append(args, "--out", dir)...) // TestMain goes by the name
	cmd.Env = append(os.Environ(), "SOURCE_DATE_EPOCH=1795219200")
	require.NoError(t, cmd.Start())
	killed := func() bool {
		text, _ := os.ReadFile(filepath.Join(dir, engine.JournalFile))
		return bytes.Count(text, []byte("\n")) > 40
	}
	require.Eventually(t, killed, 30*time.Second, time.Millisecond)
	require.NoError(t, cmd.Process.Signal(syscall.SIGSTOP)) // else it may end before it is looked at
	for _, other := range [][]string{{"--resume", dir}, {"--out", dir, "--force"}, {"--out", dir}} {
		code, stderr := zbench(t, osFS{}, append([]string{"collectives"}, other...)...)
		require.Equal(t, exit.Usage, code, stderr)
		require.Contains(t, stderr, fmt.Sprintf("%s is in use by process %d on ", dir, cmd.Process.Pid))
	}
	code, stderr := zbench(t, osFS{}, "report", dir)
	require.Equal(t, exit.Usage, code, stderr)
	code, stderr = zbench(t, osFS{}, "report", dir, "--out", filepath.Join(t.TempDir(), "drawn"))
	require.Zero(t, code, stderr)
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	require.FileExists(t, filepath.Join(dir, folder.LockFile))
	require.NoFileExists(t, filepath.Join(dir, "results.json"), "it was killed before its end")
	before := readBytes(t, dir, engine.JournalFile)
	code, stderr = zbench(t, osFS{}, "recommend", dir)
	require.Equal(t, exit.Want, code, stderr)
	code, stderr = zbench(t, osFS{}, "collectives", "--resume", dir)
	require.Zero(t, code, stderr)
	require.Contains(t, stderr, fmt.Sprintf("the run of process %d on ", cmd.Process.Pid))
	require.True(t, strings.HasPrefix(readBytes(t, dir, engine.JournalFile), before[:strings.LastIndex(before, "\n")+1]))
	sameFolder(t, whole, dir)
}

// cutAt makes a folder whose sweep ended after so many passes.
func cutAt(t *testing.T, passes int, more ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "cut")
	left := passes
	code, stderr := zbench(t, fullDisk{osFS{}, &left}, small(dir, more...)...)
	require.Equal(t, exit.Run, code, stderr)
	return dir
}

// edit changes a folder's journal, and its checksums with it.
func edit(t *testing.T, dir, old, now string) {
	t.Helper()
	text := readBytes(t, dir, engine.JournalFile)
	require.Contains(t, text, old)
	require.NoError(t, os.WriteFile(filepath.Join(dir, engine.JournalFile), []byte(seal.Of(strings.Replace(text, old, now, 1))), 0o600))
}

// What was begun on something else is refused, each difference named, and left
// as it is; --force continues, keeps what was finished, and says so in the record.
func TestResumeOnSomethingElse(t *testing.T) {
	longtest.OneGoroutine(t)
	for name, x := range map[string]struct{ old, now, says string }{
		"version":   {`"version":"` + toolVersion(), `"version":"0.0.1`, "zbench: was 0.0.1, is " + toolVersion()},
		"constants": {`"machine":"`, `"machine":"00`, "the fabric's constants"},
		"libraries": {`"libraries":[{"name":"`, `"libraries":[{"name":"old-`, "libraries: was old-"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := cutAt(t, 7)
			edit(t, dir, x.old, x.now)
			before := readBytes(t, dir, engine.JournalFile)
			code, stderr := zbench(t, osFS{}, "collectives", "--resume", dir)
			require.Equal(t, exit.Usage, code)
			require.Contains(t, stderr, x.says)
			require.Contains(t, stderr, "--force")
			require.Equal(t, before, readBytes(t, dir, engine.JournalFile))
			code, stderr = zbench(t, osFS{}, "collectives", "--progress", "--resume", dir, "--force")
			require.Zero(t, code, stderr)
			require.Equal(t, 5, finished(stderr), "one case was finished")
			require.Contains(t, readBytes(t, dir, "results.json"), "the sweep was resumed after a change; 2 passes are from before the change: ")
			code, stderr = zbench(t, osFS{}, "collectives", "--resume", dir)
			require.Zero(t, code)
			require.Contains(t, stderr, "is complete")
		})
	}
}

// Another world, fabric or fault is named, and with --force becomes cases of its
// own beside those that were finished.
func TestResumeWithOtherFacts(t *testing.T) {
	longtest.OneGoroutine(t)
	for _, x := range []struct {
		args    []string
		says    string
		results int
	}{
		{[]string{"--nodes", "2"}, "--nodes 1, now 2", 7},
		{[]string{"--gpus-per-node", "4"}, "--gpus-per-node 8, now 4", 7},
		{[]string{"--fault", "noise:sigma=0.05"}, "--fault none, now noise:sigma=0.05", 6},
		{[]string{"--seed", "2"}, "--seed 1, now 2", 6},
	} {
		dir := cutAt(t, 7)
		args := append([]string{"collectives", "--resume", dir}, x.args...)
		code, stderr := zbench(t, osFS{}, args...)
		require.Equal(t, exit.Usage, code)
		require.Contains(t, stderr, x.says)
		code, stderr = zbench(t, osFS{}, append(args, "--force")...)
		require.Zero(t, code, stderr)
		rec, err := record.Decode(strings.NewReader(readBytes(t, dir, "results.json")))
		require.NoError(t, err)
		require.Len(t, rec.Results, x.results)
		for _, r := range rec.Results {
			require.Equal(t, record.OK, r.Status)
		}
		require.Equal(t, "resumed", rec.Warnings[0].Code)
		j, err := record.ReadJournal([]byte(readBytes(t, dir, engine.JournalFile)))
		require.NoError(t, err)
		judged := j.Record() // a journal holds no findings
		judge.Store(judged)
		require.Equal(t, rec, roundTrip(t, judged))
	}
}

func roundTrip(t *testing.T, rec *record.Record) *record.Record {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, rec.WriteJSON(&b))
	back, err := record.Decode(&b)
	require.NoError(t, err)
	return back
}

// Groups and scales are cases of the sweep: it continues with them, and the page's
// command line has them.
func TestResumeKeepsGroupsAndScales(t *testing.T) {
	longtest.OneGoroutine(t)
	more := []string{"--nodes", "2", "--groups", "2,4", "--scale", "1"}
	whole, dir := filepath.Join(t.TempDir(), "whole"), cutAt(t, 13, more...)
	code, stderr := zbench(t, osFS{}, small(whole, more...)...)
	require.Zero(t, code, stderr)
	code, stderr = zbench(t, osFS{}, "collectives", "--resume", dir)
	require.Zero(t, code, stderr)
	sameFolder(t, whole, dir)
	require.Contains(t, readBytes(t, dir, "report.html"), "--groups 2,4 --scale 1")
}
