package main

import (
	"bytes"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/exit"
)

// What rank 0 has refused stands at the end, counted by reason; the run is unharmed.
func TestRefusedConnectionsAreTold(t *testing.T) {
	dir, address := t.TempDir(), freeAddress(t)
	var err error
	var said [2]bytes.Buffer
	start := func(rank string, said *bytes.Buffer) *exec.Cmd {
		return ofTwo(t, address, rank, said, "--backend", "loopback", "--out", filepath.Join(dir, "out"))
	}
	leader := start("0", &said[0])
	for range 3 {
		var c net.Conn
		require.Eventually(t, func() bool {
			c, err = net.Dial("tcp", address)
			return err == nil
		}, time.Minute, 10*time.Millisecond)
		_, err = io.WriteString(c, "GET / HTTP/1.1\r\n\r\n")
		require.NoError(t, err)
		_, _ = io.Copy(io.Discard, c)
		require.NoError(t, c.Close())
	}
	follower := start("1", &said[1])
	require.NoError(t, follower.Wait(), said[1].String())
	require.NoError(t, leader.Wait(), said[0].String())
	require.Contains(t, said[0].String(), "zbench: rank 0 refused 3 attempts to connect (no TLS: 3); the last came from 127.0.0.1:")
	require.NotContains(t, said[1].String(), "refused")
}

// ofTwo starts a rank of a small sweep of two processes, as a launcher does.
func ofTwo(t *testing.T, address, rank string, said io.Writer, args ...string) *exec.Cmd {
	cmd := exec.Command(program(t), append([]string{"collectives", "all_reduce", "-b", "1K", "-e", "1K"}, args...)...)
	cmd.Env = append(os.Environ(), "ZBENCH_RANK="+rank, "ZBENCH_LOCAL_RANK="+rank, "ZBENCH_WORLD_SIZE=2", "ZBENCH_LOCAL_SIZE=2", "ZBENCH_LEADER="+address, "ZBENCH_TOKEN="+strings.Repeat("0f", 32))
	cmd.Stderr = said
	require.NoError(t, cmd.Start())
	return cmd
}

// A launcher takes the code of any process: all end with that of the leader, which alone says why, before the run has
// begun and after it.
func TestFollowersEndWithTheLeadersCode(t *testing.T) {
	for code, args := range map[int][]string{
		exit.Unavailable: {"--backend", "rocm", "--rccl-lib", os.Args[0]},
		exit.Regression:  {"--backend", "loopback", "--threshold", "all_reduce busbw>=9000GB/s"},
	} {
		var said [2]bytes.Buffer
		address, args := freeAddress(t), append(args, "--out", filepath.Join(t.TempDir(), "out"))
		leader, follower := ofTwo(t, address, "0", &said[0], args...), ofTwo(t, address, "1", &said[1], args...)
		_, _ = leader.Wait(), follower.Wait()
		require.Equal(t, code, leader.ProcessState.ExitCode(), said[0].String())
		require.Equal(t, code, follower.ProcessState.ExitCode(), said[1].String())
		require.Empty(t, said[1].String())
	}
}
