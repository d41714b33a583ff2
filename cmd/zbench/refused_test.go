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
)

// What rank 0 has refused stands at the end, counted by reason; the run is unharmed.
func TestRefusedConnectionsAreTold(t *testing.T) {
	zbench, dir := program(t), t.TempDir()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := l.Addr().String()
	require.NoError(t, l.Close())
	var said [2]bytes.Buffer
	start := func(rank string, said *bytes.Buffer) *exec.Cmd {
		cmd := exec.Command(zbench, "collectives", "all_reduce", "-b", "1K", "-e", "1K", "--backend", "loopback", "--out", filepath.Join(dir, "out"))
		cmd.Env = append(os.Environ(), "ZBENCH_RANK="+rank, "ZBENCH_LOCAL_RANK="+rank, "ZBENCH_WORLD_SIZE=2", "ZBENCH_LOCAL_SIZE=2", "ZBENCH_LEADER="+address, "ZBENCH_TOKEN="+strings.Repeat("0f", 32))
		cmd.Stderr = said
		require.NoError(t, cmd.Start())
		return cmd
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
