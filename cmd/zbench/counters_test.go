package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/exit"
	"zbench/bench/run/record"
	"zbench/test/longtest"
)

// risingFS is a file system with a tree of two NICs in the folder nics, whose counters rise
// by each reading: the first's by 1000, the second's by 10. The first is read first.
type risingFS struct {
	FS
	tree  fstest.MapFS
	reads *atomic.Int64
}

func rising(host FS) risingFS {
	tree := fstest.MapFS{}
	for i := range 2 {
		port := fmt.Sprintf("sys/class/infiniband/ionic_%d/ports/1/", i)
		tree[port+"state"] = &fstest.MapFile{Data: []byte("4: ACTIVE\n")}
		tree[port+"hw_counters/tx_rdma_ucast_bytes"] = &fstest.MapFile{}
		tree[port+"hw_counters/tx_rdma_ack_timeout"] = &fstest.MapFile{Data: []byte("3\n")}
	}
	return risingFS{host, tree, &atomic.Int64{}}
}

func (r risingFS) in(name string) (string, bool) {
	_, rest, ok := strings.Cut(filepath.ToSlash(name), "/nics")
	return strings.TrimPrefix(rest, "/"), ok
}

func (r risingFS) value(name string) []byte {
	step := int64(10)
	n := r.reads.Load()
	if strings.Contains(name, "ionic_0") {
		n, step = r.reads.Add(1), 1000
	}
	return fmt.Appendf(nil, "%d\n", n*step)
}

func (r risingFS) Open(name string) (io.ReadCloser, error) {
	in, ok := r.in(name)
	if !ok {
		return r.FS.Open(name)
	}
	if strings.HasSuffix(in, "tx_rdma_ucast_bytes") {
		return io.NopCloser(bytes.NewReader(r.value(in))), nil
	}
	return r.tree.Open(in)
}

func (r risingFS) Stat(name string) (fs.FileInfo, error) {
	if in, ok := r.in(name); ok {
		return fs.Stat(r.tree, in)
	}
	return r.FS.Stat(name)
}

func (r risingFS) ReadDir(name string) ([]fs.DirEntry, error) {
	if in, ok := r.in(name); ok {
		return fs.ReadDir(r.tree, in)
	}
	return r.FS.ReadDir(name)
}

// Counters are read before and after each pass, and their rise stands in journal, record and
// page; on the loopback only from a tree that is named.
func TestLongCountersOfEachCase(t *testing.T) {
	longtest.Only(t)
	run := func(args ...string) (*record.Record, string) {
		folder := filepath.Join(t.TempDir(), "out")
		s, talk := testState(t, append(args, "--out", folder, "-q")...)
		s.FS = rising(s.FS)
		s.Stdout = Stream{Writer: io.Discard}
		require.Equal(t, exit.OK, Main(context.Background(), s), talk)
		if args[0] == "rails" {
			return nil, readBytes(t, folder, "rails.json") + readBytes(t, folder, "report.html")
		}
		rec, err := record.Decode(strings.NewReader(readBytes(t, folder, "results.json")))
		require.NoError(t, err)
		return rec, readBytes(t, folder, "report.html")
	}
	tree := filepath.Join(t.TempDir(), "nics")
	sweep := []string{"collectives", "all_reduce", "--nodes", "2", "-b", "1M", "-e", "4M", "-f", "2", "--place", "out"}
	rec, page := run(append(sweep, "--counters", tree)...)
	require.Len(t, rec.Results, 3)
	for _, r := range rec.Results {
		require.Len(t, r.NICs, 2)
		require.Equal(t, "n0", r.NICs[0].Node)
		require.Equal(t, []uint64{2000, 0}, []uint64{*r.NICs[0].Sent, *r.NICs[0].Retransmits}, "two passes of one reading each")
		require.EqualValues(t, 20, *r.NICs[1].Sent)
		require.Nil(t, r.NICs[0].Received)
	}
	require.Contains(t, page, "NIC counters")
	for _, args := range [][]string{sweep, append(sweep, "--counters", "off")} {
		rec, page = run(args...)
		require.Empty(t, rec.Results[0].NICs)
		require.NotContains(t, page, "NIC counters")
	}
	_, out := run("rails", "--nodes", "8", "--gpus-per-node", "2", "--counters", tree)
	require.Contains(t, out, `"sent_bytes": 1000`)
	require.Contains(t, out, "NIC counters")
}
