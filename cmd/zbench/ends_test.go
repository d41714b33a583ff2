package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/exit"
	"zbench/bench/base/folder"
	"zbench/bench/engine"
	"zbench/bench/run/record"
)

// process is zbench as a process of its own, not yet started.
func process(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self)
	cmd.Args = append([]string{"zbench"}, args...) // TestMain goes by the name
	return cmd
}

// long is a sweep that takes seconds.
func long(dir string) []string { return []string{"collectives", "--nodes", "32", "--out", dir} }

// lines waits until the folder's journal has so many lines.
func lines(t *testing.T, dir string, n int) {
	t.Helper()
	require.Eventually(t, func() bool {
		text, _ := os.ReadFile(filepath.Join(dir, engine.JournalFile))
		return bytes.Count(text, []byte("\n")) >= n
	}, time.Minute, time.Millisecond)
}

func exitOfProcess(t *testing.T, err error) int {
	t.Helper()
	if err == nil {
		return 0
	}
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	return exit.ExitCode()
}

// A terminal that is closed saves what is finished, as Ctrl-C does.
func TestHangUpSaves(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	cmd := process(t, long(dir)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	// Where these tests run under nohup, a process would inherit that hang-ups are ignored.
	heeded := make(chan os.Signal, 1)
	signal.Notify(heeded, syscall.SIGHUP)
	defer signal.Stop(heeded)
	require.NoError(t, cmd.Start())
	lines(t, dir, 3)
	require.NoError(t, cmd.Process.Signal(syscall.SIGHUP))
	require.Equal(t, exit.Interrupted, exitOfProcess(t, cmd.Wait()), stderr.String())
	require.FileExists(t, filepath.Join(dir, "results.json"))
	require.FileExists(t, filepath.Join(dir, "report.html"))
}

// A reader that leaves, as head does, ends the sweep as a signal would.
func TestReaderOfTheProgressLeaves(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	cmd := process(t, append(long(dir), "--progress")...)
	r, w, err := os.Pipe()
	require.NoError(t, err)
	cmd.Stdout, cmd.Stderr = w, w
	require.NoError(t, cmd.Start())
	require.NoError(t, w.Close())
	_, err = bufio.NewReaderSize(r, 16).ReadString('\n')
	require.NoError(t, err)
	require.NoError(t, r.Close())
	require.Equal(t, exit.Interrupted, exitOfProcess(t, cmd.Wait()))
	require.FileExists(t, filepath.Join(dir, "results.json"))
}

// A reader of the answer that leaves has read what it wanted: the command continues to
// its end, says nothing of it, and ends with its own code.
func TestReaderOfTheAnswerLeaves(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	code, stderr := zbench(t, osFS{}, small(dir)...)
	require.Zero(t, code, stderr)
	for code, args := range map[int][]string{
		exit.Want: {"recommend", dir},
		exit.OK:   small(filepath.Join(t.TempDir(), "again"), "-q"),
	} {
		cmd := process(t, args...)
		r, w, err := os.Pipe()
		require.NoError(t, err)
		require.NoError(t, r.Close())
		var stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = w, &stderr
		require.Equal(t, code, exitOfProcess(t, cmd.Run()), args)
		require.NoError(t, w.Close())
		require.NotContains(t, stderr.String(), "broken pipe")
	}
}

// stuckFS is a file system of which every reading takes for ever.
type stuckFS struct {
	osFS
	reached chan<- struct{}
}

func (f stuckFS) wait() {
	select {
	case f.reached <- struct{}{}:
	default:
	}
	select {}
}

func (f stuckFS) Stat(string) (fs.FileInfo, error)      { f.wait(); return nil, nil }
func (f stuckFS) ReadFile(string) ([]byte, error)       { f.wait(); return nil, nil }
func (f stuckFS) ReadDir(string) ([]fs.DirEntry, error) { f.wait(); return nil, nil }
func (f stuckFS) Open(string) (io.ReadCloser, error)    { f.wait(); return nil, nil }

// A command that has nothing to save ends at the first signal, whatever it is at.
func TestSignalEndsWhatHasNothingToSave(t *testing.T) {
	for _, args := range [][]string{
		{"import", "a.log"},
		{"recommend", "a.log", "--framework", "ddp", "--preset", "llama3-8b"},
		{"report", "a"},
		{"doctor", "--backend", "rocm"},
	} {
		s, _ := testState(t, args...)
		signals, reached := make(chan string, 1), make(chan struct{}, 1)
		var stderr bytes.Buffer
		s.Signals, s.Stderr, s.FS = signals, Stream{Writer: &stderr}, stuckFS{reached: reached}
		code := make(chan int, 1)
		go func() { code <- Main(context.Background(), s) }()
		<-reached
		signals <- "interrupt"
		select {
		case got := <-code:
			require.Equal(t, exit.Interrupted, got, args)
			require.Contains(t, stderr.String(), "interrupted", args)
		case <-time.After(10 * time.Second):
			t.Fatalf("%v goes on", args)
		}
	}
}

// removing removes the folder when the third case has been reported.
type removing struct {
	bytes.Buffer
	remove func()
}

func (w *removing) Write(p []byte) (int, error) {
	if strings.HasPrefix(string(p), "[3/") {
		w.remove()
	}
	return w.Buffer.Write(p)
}

// A folder that is removed, or renamed, is missed at the next pass, not at the end.
func TestRemovedFolderIsDetected(t *testing.T) {
	for name, remove := range map[string]func(dir string) error{
		"removed": os.RemoveAll,
		"renamed": func(dir string) error { return os.Rename(dir, dir+"2") },
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "out")
			s, _ := testState(t, "collectives", "all_reduce", "-b", "1K", "-e", "16K", "--progress", "--out", dir)
			stderr := &removing{remove: func() { require.NoError(t, remove(dir)) }}
			s.Stderr = Stream{Writer: stderr}
			require.Equal(t, exit.Run, Main(context.Background(), s))
			require.Contains(t, stderr.String(), dir)
			require.Contains(t, stderr.String(), "removed, renamed or replaced")
			require.Equal(t, 4, finished(stderr.String()), "the pass that was under way is the last")
			require.NoDirExists(t, dir, "what somebody removed does not come back")
		})
	}
}

// interruptedFS is a file system that sends a signal when so many lines of the journal
// are written.
type interruptedFS struct {
	osFS
	left    *int
	signals chan<- string
}

type cuttingFile struct {
	folder.AppendFile
	fs interruptedFS
}

func (f interruptedFS) Append(name string) (folder.AppendFile, error) {
	file, err := f.osFS.Append(name)
	return cuttingFile{file, f}, err
}

func (f cuttingFile) Write(p []byte) (int, error) {
	n, err := f.AppendFile.Write(p)
	if *f.fs.left--; *f.fs.left == 0 {
		f.fs.signals <- "interrupt"
		time.Sleep(100 * time.Millisecond) // until Main has cancelled
	}
	return n, err
}

// Of cases with one of two passes the end says that they are saved, and the table
// and the CSV have their rates.
func TestFirstPassIsReported(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	s, out := testState(t, small(dir)...)
	var stderr bytes.Buffer
	signals, left := make(chan string), 4
	s.Stderr, s.Signals, s.FS = Stream{Writer: &stderr}, signals, interruptedFS{osFS{}, &left, signals}
	require.Equal(t, exit.Interrupted, Main(context.Background(), s))
	require.Contains(t, stderr.String(), "interrupted before any case finished: 4 of 6 cases have 1 of 2 passes; all are saved")
	rec, err := record.Decode(strings.NewReader(readBytes(t, dir, "results.json")))
	require.NoError(t, err)
	rates := 0
	for _, r := range rec.Results {
		require.Equal(t, record.Interrupted, r.Status)
		if r.BusBW != nil {
			rates++
		}
	}
	require.Equal(t, 4, rates)
	require.Contains(t, out.String(), "Interrupted before any case finished: 4 of 6 cases have 1 of 2 passes.")
	require.Regexp(t, `(?m)^ *1 KiB .* 0\.1\d+$`, out.String())
}
