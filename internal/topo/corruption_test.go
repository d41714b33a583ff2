package topo

import (
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/answers/judge"
	"zbench/bench/run/record"
)

// A node with Pollara rails is warned of data that can be wrong, by its release of ROCm and its environment.
func TestCorruptionIsADoubt(t *testing.T) {
	thor := func(n tree) { // rails of another vendor
		for name, file := range maps.All(n.MapFS) {
			file.Data = []byte(strings.ReplaceAll(string(file.Data), "DRIVER=ionic", "DRIVER=bnxt_en"))
			n.MapFS[name] = file
		}
	}
	for name, c := range map[string]struct {
		rocm    string
		environ []string
		change  func(tree)
		warned  bool
	}{
		"the default of 7.14":                    {rocm: "7.14.0", environ: []string{}, warned: true},
		"flush on":                               {rocm: "7.14.0", environ: []string{"NCCL_GDR_FLUSH_DISABLE=0"}},
		"flush off":                              {rocm: "7.2.1", environ: []string{"NCCL_GDR_FLUSH_DISABLE=1"}, warned: true},
		"not honoured":                           {rocm: "7.13.0", environ: []string{"NCCL_GDR_FLUSH_DISABLE=0", "NCCL_NET=IB-CAST"}, warned: true},
		"a tree without an environment":          {rocm: "7.14.0"},
		"a node without ROCm":                    {environ: []string{"NCCL_GDR_FLUSH_DISABLE=1"}},
		"other NICs":                             {rocm: "7.14.0", environ: []string{}, change: thor},
		"sockets":                                {rocm: "7.14.0", environ: []string{"NCCL_IB_DISABLE=1"}},
		"Pollara as rails, and another for data": {rocm: "7.14.0", environ: []string{}, change: storage, warned: true},
	} {
		n := healthy()
		if c.rocm != "" {
			n.put("opt/rocm/.info/version", "%s\n", c.rocm)
		}
		if c.change != nil {
			c.change(n)
		}
		var got []Remark
		node := n.read(t, Inputs{Environ: c.environ})
		for _, f := range node.Findings {
			if f.Code == judge.CodeFlush {
				got = append(got, f)
			}
		}
		require.Equal(t, c.warned, len(got) == 1, name)
		if c.warned {
			require.Equal(t, Doubt, got[0].Mark)
			require.NotEmpty(t, got[0].Hint)
			require.Contains(t, got[0].Message, "Pollara")
			require.False(t, node.Faulty())
		}
	}
}

// storage adds a NIC that is no GPU's rail.
func storage(n tree) {
	const ib = "sys/class/infiniband/mlx5_0/"
	n.put(ib+"ports/1/state", "4: ACTIVE\n")
	n.put(ib+"device/uevent", "DRIVER=mlx5_core\nPCI_SLOT_NAME=0000:f0:00.0\n")
}

// A record's kinds are those of the rails: each once, with its driver.
func TestKindsAreThoseOfRails(t *testing.T) {
	n := healthy()
	storage(n)
	require.Equal(t, []record.NICKind{{Driver: "ionic", Model: "AMD Pensando Ethernet PF"}}, n.read(t, Inputs{}).Kinds())
	require.Len(t, n.read(t, Inputs{}).NICs, gpus+1)
}
