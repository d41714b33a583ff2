package native_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zbench/internal/native"
)

// child is what a process of a shared world is told in its environment.
type child struct {
	Machine      []byte
	File         string
	First, Count int
	IDs          []native.UniqueID
	// Do is "run", or the name of a part of its own.
	Do string
}

const childVariable = "ZBENCH_TEST_SHARE"

// TestShareChild is a process of a shared world. It writes "meet" to meet the others and
// continues when it reads a line; its last line is what its ranks tell.
func TestShareChild(t *testing.T) {
	text := os.Getenv(childVariable)
	if text == "" {
		t.Skip("a process that other tests start")
	}
	var c child
	require.NoError(t, json.Unmarshal([]byte(text), &c))
	d, err := drive(native.Choice{Backend: "loopback", Machine: c.Machine, Share: &native.Share{File: c.File, First: c.First, Count: c.Count}}, c.First, c.Count)
	require.NoError(t, err)
	meet := func(where string) {
		fmt.Println("meet", where)
		var line string
		_, err := fmt.Scanln(&line)
		require.NoError(t, err)
	}
	out, err := childDoes[c.Do](d, c, meet)
	require.NoError(t, err)
	d.close()
	require.NoError(t, json.NewEncoder(os.Stdout).Encode(out))
}

var childDoes = map[string]func(d *driven, c child, meet func(string)) ([]told, error){
	"run": func(d *driven, c child, meet func(string)) ([]told, error) { return d.run(c.IDs, meet) },
	"meet": func(_ *driven, _ child, meet func(string)) ([]told, error) {
		meet("open")
		return nil, nil
	},
}

// process is a started child.
type process struct {
	cmd   *exec.Cmd
	lines chan string
	write func(string) error
}

func startChild(t *testing.T, c child) *process {
	t.Helper()
	text, err := json.Marshal(c)
	require.NoError(t, err)
	cmd := exec.Command(os.Args[0], "-test.run=^TestShareChild$", "-test.timeout=5m") //nolint:gosec // this test's own program
	cmd.Env = append(os.Environ(), childVariable+"="+string(text))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	outPipe, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	p := &process{cmd: cmd, lines: make(chan string, 1), write: func(s string) error {
		_, err := fmt.Fprintln(in, s)
		return err
	}}
	go func() {
		defer close(p.lines)
		lines := bufio.NewScanner(outPipe)
		lines.Buffer(nil, 1<<24)
		for lines.Scan() {
			p.lines <- lines.Text()
		}
	}()
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return p
}

// next is the process's next line that is for the test.
func (p *process) next(t *testing.T) string {
	t.Helper()
	for {
		select {
		case line, ok := <-p.lines:
			require.True(t, ok, "the process ended early")
			if strings.HasPrefix(line, "meet") || strings.HasPrefix(line, "[") || line == "null" {
				return line
			}
			t.Log(line)
		case <-time.After(2 * time.Minute):
			require.Fail(t, "a process says nothing")
		}
	}
}

// sharedFile is where the processes of a test meet.
func sharedFile(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "world")
}

// inProcesses is what the ranks of each of n processes tell.
func inProcesses(t *testing.T, n int, machine []byte) [][]told {
	t.Helper()
	var all []*process
	file, count := sharedFile(t), sharedRanks/n
	ids := make([]native.UniqueID, 1+sharedRanks/4)
	for i := range ids {
		copy(ids[i][:], fmt.Sprintf("zbl %d", i+1))
	}
	for i := range n {
		all = append(all, startChild(t, child{Machine: machine, File: file, First: i * count, Count: count, IDs: ids, Do: "run"}))
	}
	for {
		var last []string
		for _, p := range all {
			last = append(last, p.next(t))
		}
		if !strings.HasPrefix(last[0], "meet") {
			out := make([][]told, n)
			for i, line := range last {
				require.NoError(t, json.Unmarshal([]byte(line), &out[i]), line)
			}
			return out
		}
		for i, p := range all {
			require.Equal(t, last[0], last[i])
			require.NoError(t, p.write("on"))
		}
	}
}
