package topo

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/finding"
)

// A recording is found below the folders that an archive wraps it in, and where only the
// nodes of KFD were kept.
func TestWrappedTree(t *testing.T) {
	kfd := tree{fstest.MapFS{}}
	for name, f := range healthy().MapFS {
		if rest, ok := strings.CutPrefix(name, "sys/class/kfd/kfd/topology/"); ok {
			kfd.MapFS["recorded/topology/"+rest] = f
		}
	}
	for _, root := range []string{".", "recorded", "recorded/topology", "recorded/topology/nodes"} {
		sub, err := fs.Sub(kfd, root)
		require.NoError(t, err)
		n, err := Read(sub, Inputs{})
		require.NoError(t, err)
		require.Len(t, n.GPUs, gpus, root)
		require.Len(t, n.Links, 28, root)
	}
	whole := tree{fstest.MapFS{}}
	for name, f := range healthy().MapFS {
		whole.MapFS["a/b/"+name] = f
	}
	n := whole.read(t, Inputs{})
	require.Equal(t, nicName(3), n.GPUs[3].Rail.String())
	require.NotNil(t, NewCounting(index(whole.MapFS), "h"))
	// Two trees beside each other: neither is taken.
	for name, f := range healthy().MapFS {
		whole.MapFS["a/c/"+name] = f
	}
	require.True(t, whole.read(t, Inputs{}).Empty())
}

// Without KFD the GPUs of the PCI bus are listed with their rails; NVIDIA's have no KFD.
func TestGPUsOfTheBusAlone(t *testing.T) {
	made := healthy()
	made.drop("sys/class/kfd/")
	n := made.read(t, Inputs{})
	require.Len(t, n.GPUs, gpus)
	require.Equal(t, "MI300X", n.GPUs[2].Name)
	require.Equal(t, nicName(2), n.GPUs[2].Rail.String())
	require.Zero(t, n.GPUs[2].Partitions)
	require.Empty(t, codes(n, Bad))
	require.Equal(t, "xGMI links, partitions and compute units", n.NotChecked[0].What)

	for i := range gpus {
		made.device(gpuFolder(i), 0x030200, 0x10de, 0x2330, i/4, "nvidia")
		made.drop(gpuFolder(i) + "ras/")
		made.drop(gpuFolder(i) + "current_")
	}
	n = made.read(t, Inputs{})
	require.Len(t, n.GPUs, gpus)
	require.Equal(t, "NVIDIA GPU 0x2330", n.GPUs[0].Name)
	require.Equal(t, nicName(5), n.GPUs[5].Rail.String())
	require.Empty(t, codes(n, Bad))
	require.Contains(t, n.NotChecked[0].Why, "KFD is AMD's")
	// Its own RCCL file is compared; that of another node is read by itself.
	own := strings.ReplaceAll(string(made.xml(nicName)), `vendor="0x1002" device="0x74a1"`, `vendor="0x10de" device="0x2330"`)
	require.False(t, made.read(t, Inputs{XML: []byte(own)}).OnlyXML())
	desk := tree{fstest.MapFS{}}
	desk.device("sys/devices/pci0000:00/0000:00:02.0/", 0x030000, 0x10de, 0x2684, 0, "nvidia")
	require.True(t, desk.read(t, Inputs{XML: healthy().xml(nicName)}).OnlyXML())
	require.Len(t, desk.read(t, Inputs{}).GPUs, 1)
}

// A file that is no text is one that cannot be read: nothing of it is shown or compared.
func TestBinaryFiles(t *testing.T) {
	made := healthy()
	for i, name := range []string{
		gpuFolder(0) + "current_memory_partition", gpuFolder(1) + "current_compute_partition",
		"sys/class/infiniband/" + nicName(2) + "/fw_ver", "sys/class/infiniband/" + nicName(3) + "/ports/1/gid_attrs/ndevs/0",
		"sys/class/infiniband/" + nicName(3) + "/ports/1/gid_attrs/ndevs/1", "sys/class/infiniband/" + nicName(4) + "/ports/1/state",
	} {
		made.put(name, "%s", []string{"\xff\xfe\x80garbage", "\x1b[31mSPX\x1b[0m", "a\x00b"}[i%3])
	}
	n := made.read(t, Inputs{})
	require.Empty(t, codes(n, Bad), "%+v", n.Findings)
	require.Empty(t, codes(n, Doubt), "%+v", n.Findings)
	require.Empty(t, n.GPUs[0].Memory)
	require.Equal(t, "SPX", n.GPUs[1].Compute, "by the dies of KFD")
	require.Empty(t, n.NICs[4].State)
}

// What is beside the devices in class/infiniband is no NIC.
func TestFoldersThatAreNoNIC(t *testing.T) {
	made := healthy()
	made.put("sys/class/infiniband/abi_version", "1\n")
	made.put("sys/class/infiniband/notes/readme", "copied by hand\n")
	require.Len(t, made.read(t, Inputs{}).NICs, gpus)
}

// A link among the PCI devices is not followed: sysfs has none, a copy may loop.
func TestLinkedBridges(t *testing.T) {
	made := healthy()
	root := path.Dir(path.Dir(strings.TrimSuffix(bridge(0), "/")))
	made.MapFS[path.Dir(strings.TrimSuffix(bridge(0), "/"))+"/0000:05:02.2"] = &fstest.MapFile{Mode: fs.ModeSymlink, Data: []byte("../" + path.Base(path.Dir(strings.TrimSuffix(bridge(0), "/"))))}
	require.True(t, fs.ValidPath(root))
	n, err := Read(made.MapFS, Inputs{})
	require.NoError(t, err)
	require.Equal(t, 4, n.GPUs[0].Rail.Hops)
}

// A port that is down has no rate: only that it is down is found.
func TestRateOfAPortThatIsDown(t *testing.T) {
	made := healthy()
	ib := "sys/class/infiniband/" + nicName(2) + "/ports/1/"
	made.put(ib+"state", "1: DOWN\n")
	made.put(ib+"rate", "100 Gb/sec (4X EDR)\n")
	n := made.read(t, Inputs{})
	require.Equal(t, []string{"port_down"}, codes(n, Bad))
	require.Empty(t, codes(n, Doubt))
}

// Findings that differ in their component alone are one line for people.
func TestAlikeFindingsAreOneLine(t *testing.T) {
	made := healthy()
	for i := range gpus {
		made.put(fmt.Sprintf("sys/class/net/eth%d/mtu", i), "1500\n")
	}
	n := made.read(t, Inputs{})
	require.Len(t, codes(n, Doubt), gpus)
	lines := n.Grouped()
	require.Len(t, lines, len(n.Findings)-gpus+1)
	require.Equal(t, "the MTU of NIC rocep9s0 is 1500: RoCE packets carry at most 1024 bytes instead of 4096; likewise "+
		"rocep42s0, rocep74s0, rocep105s0, rocep137s0, rocep170s0, ionic_6, roce_frontend7", lines[0].Text)
	require.Equal(t, finding.Warning, lines[0].Severity)
	require.Equal(t, finding.NIC, lines[0].Subject.Kind)
	require.Equal(t, finding.Warning, n.Worst("rocep42s0"), "each keeps its own")
	require.Equal(t, finding.Note, n.Worst(n.GPUs[0].PCI))
	require.Equal(t, finding.GPU, n.subject(n.GPUs[0].PCI).Kind)
	require.Equal(t, finding.Link, n.subject(n.GPUs[0].PCI+between+n.GPUs[1].PCI).Kind)
	require.Equal(t, finding.Node, n.subject("node").Kind)
}

// A pipe, a device or a socket in a copy is not opened: reading one may never end.
func TestWhatIsNoFile(t *testing.T) {
	made := healthy()
	name := "sys/class/infiniband/" + nicName(0) + "/ports/1/state"
	made.MapFS[name] = &fstest.MapFile{Mode: fs.ModeNamedPipe, Data: []byte("1: DOWN\n")}
	n := made.read(t, Inputs{})
	require.Empty(t, n.NICs[0].State)
	require.True(t, slices.ContainsFunc(n.NotChecked, func(u Unchecked) bool { return u.What == "the port state of "+nicName(0) }), "%+v", n.NotChecked)
	_, err := read(made, name)
	require.ErrorIs(t, err, errNoFile)
}
