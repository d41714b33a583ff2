package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/exit"
	"zbench/internal/launch"
)

// Rank 0 listens where it was asked to, and at all interfaces only where nothing else would let
// the other hosts reach it; that is said if something else was asked for.
func TestWhereRank0Listens(t *testing.T) {
	names := map[string][]string{
		"localhost": {"127.0.0.1", "::1"}, "here": {"192.0.2.1", "198.51.100.7"}, "me": {"127.0.1.1"}, "service": {"203.0.113.9"}, "mapped": {"::ffff:192.0.2.1", "192.0.2.1"},
	}
	const all = ":4000"
	for _, c := range []struct {
		host        string
		user, byRun bool // ZBENCH_LEADER is the user's, or set by the zbench that started this one
		hosts       int
		want        []string
		says        string
	}{
		{"127.0.0.1", false, false, 1, []string{"127.0.0.1:4000"}, ""},
		{"127.0.0.2", true, false, 2, []string{"127.0.0.2:4000"}, ""},
		{"localhost", true, false, 1, []string{"127.0.0.1:4000"}, ""},
		{"localhost", true, false, 2, []string{"127.0.0.1:4000"}, ""},
		{"localhost", false, false, 1, []string{"127.0.0.1:4000"}, ""},
		{"localhost", false, false, 2, []string{all}, "localhost is the loopback interface, which other hosts do not reach: rank 0 listens on all interfaces"},
		{"localhost", false, true, 2, []string{all}, "which other hosts do not reach"},
		{"192.0.2.1", true, false, 2, []string{"192.0.2.1:4000"}, ""},
		{"203.0.113.9", true, false, 2, []string{all}, "203.0.113.9 is no address of this host: rank 0 listens on all interfaces"},
		{"0.0.0.0", true, false, 2, []string{"0.0.0.0:4000"}, ""},
		{"::", true, false, 2, []string{"[::]:4000"}, ""},
		{"here", true, false, 2, []string{"192.0.2.1:4000"}, ""},
		{"here", false, false, 2, []string{all}, ""},
		{"mapped", true, false, 2, []string{"192.0.2.1:4000"}, ""},
		{"me", false, true, 2, []string{all}, "me is the loopback interface"},
		{"me", true, false, 2, []string{"127.0.1.1:4000"}, ""},
		{"service", true, false, 2, []string{all}, "service is no address of this host"},
		{"nowhere", true, false, 2, []string{all}, "nowhere cannot be resolved here: no such host"},
	} {
		s, _ := testState(t)
		s.Getenv = func(name string) string {
			return map[string]string{launch.LeaderVariable: strings.Repeat("x", ones(c.user || c.byRun)), launch.ControlVariable: strings.Repeat("x", ones(c.byRun))}[name]
		}
		s.Resolve = func(_ context.Context, host string) (found []netip.Addr, err error) {
			for _, text := range names[host] {
				found = append(found, netip.MustParseAddr(text))
			}
			if found == nil {
				err = errors.New("no such host")
			}
			return found, err
		}
		got, note := listenAt(t.Context(), s, launch.Role{Size: 16, LocalSize: 16 / c.hosts, Leader: launch.Leader{Host: c.host, Port: 4000}})
		require.Equal(t, c.want, got, "%+v", c)
		require.Equal(t, c.says == "", note == "", "%+v: %s", c, note)
		require.Contains(t, note, c.says)
	}
}

// A real rank 0 has no other socket than the one that was asked for.
func TestRank0ListensNowhereElse(t *testing.T) {
	zbench := program(t)
	for host, want := range map[string][]string{"localhost": {"127.0.0.1", "::1"}, "127.0.0.2": {"127.0.0.2"}, "127.0.0.1": {"127.0.0.1"}} {
		folder := filepath.Join(t.TempDir(), "tmp")
		require.NoError(t, os.Mkdir(folder, 0o700))
		port := strings.TrimPrefix(freeAddress(t), "127.0.0.1:")
		leader := rankOf(zbench, "0", host+":"+port, folder, strings.Repeat("0f", 32))
		require.NoError(t, leader.Start())
		var at []string
		require.Eventually(t, func() bool {
			at = listeners(t, leader.Process.Pid, port)
			return len(at) > 0
		}, time.Minute, 10*time.Millisecond)
		require.NoError(t, leader.Process.Kill())
		_ = leader.Wait() // it was killed
		require.Subset(t, want, at, host)
	}
}

// Rank 0 whose port is taken names a free one: for all processes, since each has derived the taken one.
func TestRank0NamesAFreePort(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it ends at once
	require.NoError(t, err)
	taken := l.Addr().(*net.TCPAddr).Port
	require.True(t, portTaken(taken))
	s, _ := testState(t)
	vars := map[string]string{"ZBENCH_RANK": "0", "ZBENCH_LOCAL_RANK": "0", "ZBENCH_WORLD_SIZE": "2", "ZBENCH_LOCAL_SIZE": "2", launch.LeaderVariable: l.Addr().String(), launch.TokenVariable: strings.Repeat("0f", 32)}
	s.Getenv = func(name string) string { return vars[name] }
	s.Args = []string{"collectives", "all_reduce", "-b", "1K", "-e", "1K", "--backend", "loopback", "-q", "--out", filepath.Join(t.TempDir(), "out")}
	s.Taken = portTaken
	var messages bytes.Buffer
	s.Stderr = Stream{Writer: &messages}
	require.Equal(t, exit.Run, Main(t.Context(), s))
	require.NoError(t, l.Close())
	require.False(t, portTaken(taken))
	free := regexp.MustCompile(`export ZBENCH_LEADER=127\.0\.0\.1:(\d+)`).FindStringSubmatch(messages.String())
	require.NotNil(t, free, messages.String())
	port, err := strconv.Atoi(free[1])
	require.NoError(t, err)
	require.NotEqual(t, taken, port)
	require.False(t, portTaken(port))
}

// listeners are the addresses at which somebody listens at a port, in the network of a process.
func listeners(t *testing.T, pid int, port string) (at []string) {
	t.Helper()
	n, err := strconv.Atoi(port)
	require.NoError(t, err)
	for _, file := range []string{"tcp", "tcp6"} {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, file)) // a host may have no IPv6
		for line := range strings.Lines(string(text)) {
			f := strings.Fields(line)
			if len(f) < 4 || f[3] != "0A" || !strings.HasSuffix(f[1], fmt.Sprintf(":%04X", n)) {
				continue
			}
			bytes, err := hex.DecodeString(strings.TrimSuffix(f[1], fmt.Sprintf(":%04X", n)))
			require.NoError(t, err)
			for i := 0; i < len(bytes); i += 4 { // words in the order of the host
				slices.Reverse(bytes[i : i+4])
			}
			a, ok := netip.AddrFromSlice(bytes)
			require.True(t, ok)
			at = append(at, a.String())
		}
	}
	return at
}
