package main

import (
	"context"
	"crypto/rand"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/exit"
	"zbench/bench/engine"
	"zbench/bench/run/spec"
	"zbench/bench/work/fabric"
	"zbench/internal/launch"
	"zbench/internal/rendezvous"
)

// rankOf is one of two processes of a simulation, whose files are in a folder of its own.
func rankOf(zbench, rank, address, folder, token string) *exec.Cmd {
	cmd := exec.Command(zbench, "collectives", "all_reduce", "-b", "1K", "-e", "1K", "--backend", "loopback", "-q", "--out", filepath.Join(folder, "../out"))
	cmd.Env = append(os.Environ(), "TMPDIR="+folder, "ZBENCH_RANK="+rank, "ZBENCH_LOCAL_RANK="+rank, "ZBENCH_WORLD_SIZE=2", "ZBENCH_LOCAL_SIZE=2", "ZBENCH_LEADER="+address, "ZBENCH_TOKEN="+token)
	return cmd
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// A start that is interrupted before all have met leaves no file.
func TestInterruptedStartLeavesNoFile(t *testing.T) {
	zbench := program(t)
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		folder, address := filepath.Join(t.TempDir(), "tmp"), freeAddress(t)
		require.NoError(t, os.Mkdir(folder, 0o700))
		leader := rankOf(zbench, "0", address, folder, strings.Repeat("0f", 32))
		require.NoError(t, leader.Start())
		require.Eventually(t, func() bool { // the result folder is made before the processes are waited for
			_, err := os.Stat(filepath.Join(folder, "../out"))
			return err == nil
		}, time.Minute, 10*time.Millisecond)
		time.Sleep(300 * time.Millisecond) // it waits for the other process
		require.NoError(t, leader.Process.Signal(signal))
		require.Error(t, leader.Wait())
		left, err := os.ReadDir(folder)
		require.NoError(t, err)
		require.Empty(t, left, signal)
	}
}

// A start that is interrupted while the leader makes the file leaves none: opening ends first.
func TestInterruptedOpeningLeavesNoFile(t *testing.T) {
	s, _ := testState(t)
	folder := t.TempDir()
	s.Random = rand.Reader
	s.Getenv = func(name string) string { return map[string]string{"TMPDIR": folder}[name] }
	u, err := engine.Prepare(spec.Spec{Backend: "loopback", Fabric: fabric.Default, World: spec.World{Nodes: 1, GPUsPerNode: 2, GPUsPerProcess: 1}, Sweep: &spec.Sweep{
		MinBytes: 1024, MaxBytes: 1024, Factor: 2, Dtype: "float", Op: "sum", InPlace: []bool{false}, Iterations: 1, Checks: 1, Precision: 0.01, MaxTime: 0.1, Cache: spec.Cold,
	}}, false)
	require.NoError(t, err)
	with := openingOf(u)
	with.Deadlines.Init = 60
	ctx, interrupt := context.WithCancel(t.Context())
	w := &world{}
	w.Leader, err = rendezvous.Serve(ctx, rendezvous.Member{Token: freshToken(t), Address: "127.0.0.1:0", Self: rendezvous.Hello{Processes: 2, Build: toolVersion(), Backend: "loopback"}})
	require.NoError(t, err)
	defer w.Close("the test ends", 0)
	interrupt()
	_, err = w.open(ctx, s, libraryOptions{}, &with)
	require.ErrorIs(t, err, context.Canceled)
	time.Sleep(100 * time.Millisecond) // what still opened would make it now
	left, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Empty(t, left)
}

// The file of a leader that is gone is removed by those that were to open it.
func TestFollowerRemovesTheFileOfALeaderThatIsGone(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "tmp")
	require.NoError(t, os.Mkdir(folder, 0o700))
	file := filepath.Join(folder, "zbench-0123456789abcdef")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	token := freshToken(t)
	l, err := rendezvous.Serve(t.Context(), rendezvous.Member{Token: token, Address: "127.0.0.1:0", Self: rendezvous.Hello{Processes: 2, Build: toolVersion(), Backend: "loopback"}})
	require.NoError(t, err)
	follower := rankOf(program(t), "1", l.Address(), folder, token.Reveal())
	follower.Env = append(follower.Env, "ZBENCH_LOCAL_RANK=0", "ZBENCH_LOCAL_SIZE=1")
	require.NoError(t, follower.Start())
	require.NoError(t, l.Wait(t.Context()))
	require.NoError(t, l.Start(opening{Arena: file, Machine: []byte("machine")}))
	l.Close("killed", exit.Run)
	require.Error(t, follower.Wait())
	require.NoFileExists(t, file)
}

// A process that follows takes little where everything is simulated. On hardware the vendor's
// threads, and Go's, have all cores.
func TestOnlySimulatedFollowersTakeLittle(t *testing.T) {
	for _, backend := range []string{"loopback", "rocm"} {
		token := freshToken(t)
		l, err := rendezvous.Serve(t.Context(), rendezvous.Member{Token: token, Address: "127.0.0.1:0", Self: rendezvous.Hello{Processes: 2, Build: toolVersion(), Backend: backend}})
		require.NoError(t, err)
		s, _ := testState(t, "collectives", "all_reduce", "--backend", backend, "--rccl-lib", "/nonexistent")
		if backend == "loopback" {
			s.Args = s.Args[:len(s.Args)-2]
		}
		s.Getenv = func(name string) string {
			return map[string]string{
				"ZBENCH_RANK": "1", "ZBENCH_LOCAL_RANK": "0", "ZBENCH_WORLD_SIZE": "2", "ZBENCH_LOCAL_SIZE": "1",
				"ZBENCH_LEADER": l.Address(), "ZBENCH_TOKEN": token.Reveal(),
			}[name]
		}
		light := make(chan struct{}, 2)
		s.Light = func() func() { light <- struct{}{}; return func() {} }
		ended := make(chan int)
		go func() { ended <- Main(t.Context(), s) }()
		require.NoError(t, l.Wait(t.Context()))
		require.NoError(t, l.Start(opening{Backend: backend, Machine: []byte("machine")}))
		if backend == "loopback" { // before the end of the run can overtake its start
			<-light
		}
		l.Close("that is all", exit.Unavailable)
		require.Equal(t, exit.Unavailable, <-ended, "the code of the leader")
		require.Empty(t, light, backend)
	}
}

// freshToken is a token that no other test has.
func freshToken(t *testing.T) rendezvous.Token {
	t.Helper()
	text, err := launch.NewToken(rand.Reader)
	require.NoError(t, err)
	token, err := rendezvous.ParseToken(text)
	require.NoError(t, err)
	return token
}
