package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/exit"
)

// planted is a child that ends when it is told to: by itself after a time, when it is asked, or
// when it is killed.
type planted struct {
	after, asked time.Duration // 0: never
	code         int
	stays        bool // even when it is killed
	ended        chan ending
	once         sync.Once
	said         []string
}

func (p *planted) end(code int, how string) {
	p.once.Do(func() { p.ended <- ending{code: code, how: how} })
}

func (*planted) Interrupt() {}
func (p *planted) Ask(line string) {
	p.said = append(p.said, line)
	if _, told := readEnded(line); p.asked > 0 && !told {
		time.AfterFunc(p.asked, func() { p.end(exit.Interrupted, "exit status 130") })
	}
}

func (p *planted) Kill() {
	if !p.stays {
		p.end(-1, "signal: killed")
	}
}

func (p *planted) Wait() (int, string) {
	if p.after > 0 {
		time.AfterFunc(p.after, func() { p.end(p.code, "exit status") })
	}
	e := <-p.ended
	return e.code, e.how
}

// Whatever state its processes are in, the zbench that started them ends: after an interrupt, when
// all others have ended, and when those that are killed do not even end then.
func TestEveryWaitForProcessesEnds(t *testing.T) {
	const patience = 14 * time.Minute
	frozen := func() *planted { return &planted{} }
	well := func() *planted { return &planted{after: time.Second} }
	for name, c := range map[string]struct {
		leader, other *planted
		interrupt     bool
		within        time.Duration
		code          int
		says          string
	}{
		"rank 0 stays when the others have ended":    {frozen(), well(), false, time.Minute, exit.Run, "process 0 did not end after process 1 ended early (exit status), and was killed"},
		"rank 0 stays although it is asked":          {frozen(), well(), true, time.Minute, exit.Run, "process 0 did not end after interrupt"},
		"all are frozen and one interrupt":           {frozen(), frozen(), true, patience + time.Minute, exit.Run, "process 0 did not end after interrupt, and was killed"},
		"rank 0 cannot be killed":                    {&planted{stays: true}, &planted{stays: true}, true, patience + time.Minute, exit.Run, "process 0 did not end after interrupt"},
		"rank 0 saves after an interrupt":            {&planted{asked: 5 * time.Minute}, frozen(), true, 6 * time.Minute, exit.Interrupted, ""},
		"another one fails after the interrupt":      {frozen(), &planted{after: time.Minute, code: 1}, true, 2 * time.Minute, exit.Run, "process 0 did not end after interrupt"},
		"all end":                                    {well(), well(), false, 2 * time.Second, exit.OK, ""},
		"rank 0 ends early, another one stays":       {well(), frozen(), false, time.Minute, exit.OK, ""},
		"another one is lost, and rank 0 says so":    {&planted{after: 4 * time.Second, code: exit.Run}, &planted{after: time.Second, code: -1}, false, time.Minute, exit.Run, ""},
		"another one is lost, and rank 0 is at work": {&planted{asked: time.Second}, &planted{after: time.Second, code: -1}, false, time.Minute, exit.Run, "process 1 ended early"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &children{ends: make(chan ending, 2), tasks: make(chan endedTask, maxEnded), patience: patience, saved: said("kept")}
				var talk bytes.Buffer
				f.s.Stderr = Stream{Writer: &talk}
				all := []Child{c.leader, c.other}
				f.s.Start = func(Command) (Child, error) {
					child := all[len(f.all)]
					child.(*planted).ended = make(chan ending, 1)
					return child, nil
				}
				require.NoError(t, f.add(Command{}))
				require.NoError(t, f.add(Command{}))
				ctx, stop := context.WithCancelCause(t.Context())
				if c.interrupt {
					time.AfterFunc(2*time.Second, func() { stop(&interruption{"interrupt"}) })
				}
				begin := time.Now()
				err := f.wait(ctx)
				require.LessOrEqual(t, time.Since(begin), c.within)
				require.Equal(t, c.code, exit.CodeOf(err), err)
				require.Equal(t, c.interrupt && time.Since(begin) > 5*time.Second, strings.Contains(talk.String(), "a second Ctrl-C ends all processes at once; finished cases, if any, stay saved"))
				if c.says != "" {
					require.ErrorContains(t, err, c.says)
				}
				stop(nil)
				for _, child := range all { // so that the bubble can end
					child.(*planted).end(-1, "the test is over")
				}
			})
		})
	}
}

// A screen whose GPU is stuck ends at a signal, or when it is killed, and leaves no process.
func TestStuckScreenEnds(t *testing.T) {
	zbench := program(t)
	for signal, want := range map[syscall.Signal]int{syscall.SIGINT: exit.Interrupted, syscall.SIGTERM: exit.Interrupted, syscall.SIGKILL: -1} {
		cmd := exec.Command(zbench, "screen", "--backend", "loopback", "--fault", "stuck_gpu:node=0,gpu=1", "-q", "--out", filepath.Join(t.TempDir(), "out"))
		require.NoError(t, cmd.Start())
		var probes []int
		require.Eventually(t, func() bool {
			probes = probesOf(t, cmd.Process.Pid)
			return len(probes) == 1
		}, time.Minute, time.Millisecond)
		time.Sleep(100 * time.Millisecond) // it hangs
		began := time.Now()
		require.NoError(t, cmd.Process.Signal(signal))
		_ = cmd.Wait() // the code tells
		require.Equal(t, want, cmd.ProcessState.ExitCode(), signal)
		require.Less(t, time.Since(began), 30*time.Second)
		require.Eventually(t, func() bool { return syscall.Kill(probes[0], 0) != nil }, 30*time.Second, time.Millisecond, "the probe is left behind")
	}
}

// probesOf are the measurements that a process has started.
func probesOf(t *testing.T, pid int) (all []int) {
	t.Helper()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	require.NoError(t, err)
	for _, name := range tasks {
		text, _ := os.ReadFile(name)
		for word := range strings.FieldsSeq(string(text)) {
			child, err := strconv.Atoi(word)
			require.NoError(t, err)
			all = append(all, child)
		}
	}
	return all
}

// The second signal kills what this process has started: one that is frozen would stay.
func TestSecondSignalKillsWhatWasStarted(t *testing.T) {
	s, _ := testState(t)
	signals, code := make(chan string, 2), make(chan int, 1)
	child := &planted{ended: make(chan ending, 1)}
	s.Signals, s.Exit = signals, func(c int) { code <- c }
	var started subprocesses
	s.Start = started.track(func(c Command) (Child, error) {
		if c.Argv == nil {
			return nil, errors.New("not found")
		}
		return child, nil
	})
	_, err := s.Start(Command{})
	require.Error(t, err)
	_, err = s.Start(Command{Argv: []string{"zbench"}})
	require.NoError(t, err)
	done := make(chan struct{})
	defer close(done)
	ctx, cancel := context.WithCancelCause(context.Background())
	go watch(s, &started, cancel, done)
	signals <- "interrupt"
	<-ctx.Done()
	require.Empty(t, child.ended)
	signals <- "interrupt"
	require.Equal(t, exit.Interrupted, <-code)
	require.Equal(t, "signal: killed", (<-child.ended).how)
}
