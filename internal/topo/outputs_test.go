package topo

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// outputSeeds are outputs in the form of the recordings, with facts of the planted node.
var outputSeeds = []Output{
	{"nicctl show card -j", []byte(`{"nic":[{"id":"c0","eth_bdf":"0000:09:00.0","product_name":"POLLARA 1x400G QSFP112","firmware_version":"1.117.1-a-7"}]}`)},
	{"nicctl show port -j", []byte(`{"nic":[{"id":"c0","port":[{"spec":{"port_speed":"100G","mtu":"1500"},"status":{"operational_status":"UP","port_speed":"100G","number_of_link_down_events":"11"},"statistics":{"frames_rx_bad_fcs":"3"}}]}]}`)},
	{"nicctl show lif -j", []byte(`{"nic":[{"id":"c0","lif":[{"spec":{"rdma_mtu":"4096"},"status":{"name":"eth0"}}]}]}`)},
	{"rdma statistic -j", []byte(`[{"ifname":"rocep9s0","port":1,"tx_rdma_cnp_pkts":7,"req_tx_retry_excd_err":2,"other":1}]`)},
	{"rdma link -j", []byte(`[{"ifindex":1,"ifname":"rocep9s0","port":1,"state":"ACTIVE","physical_state":"LINK_UP","netdev":"eth0"}]`)},
	{"rdma link", []byte("link rocep9s0/1 state ACTIVE physical_state LINK_UP netdev eth0\n0/2: mlx5_1/1: subnet_prefix fe80 lid 5 state DOWN physical_state DISABLED\n")},
	{"ethtool -S eth0", []byte("NIC statistics:\n     frames_rx_bad_fcs: 3\n     frames_rx_ok: 9\n     [0]: rx: 1\n")},
	{"ip link show", []byte("2: eth0@if3: <BROADCAST,UP> mtu 1500 qdisc mq state UP\n    link/ether 04:90:81:2c:4f:90 brd ff:ff:ff:ff:ff:ff\n")},
	{"cat /sys/class/infiniband/rocep9s0/device/uevent", []byte("PCI_SLOT_NAME=0000:09:00.0\n")},
	{"lldpctl -f json", []byte(`{"lldp":{"interface":[{"eth0":{"chassis":{"leaf-3":{"id":{"type":"mac","value":"00:11"}}},"port":{"id":{"type":"ifname","value":"Ethernet1/7"}}}},{"eth1":{"chassis":{"id":{"type":"mac","value":"00:22"}},"port":{"id":{"value":"p2"}}}}]}}`)},
	{"leaves.csv", []byte("node,nic,leaf,port\nh,eth2,leaf-9,1\nother,eth2,leaf-1,1\n")},
	{"lspci", []byte("44:00.0\n")},
	{"nicctl show card -j", []byte("Error: permission denied, run as root")},
}

// What commands print completes what sysfs has: three facts of one port stay three.
func TestOutputsCompleteSysfs(t *testing.T) {
	made := healthy()
	n := made.read(t, Inputs{Host: "h", Outputs: outputSeeds})
	c := n.NICs[0]
	require.Equal(t, "rocep9s0", c.Name)
	require.Equal(t, "POLLARA 1x400G QSFP112", c.Product)
	require.Equal(t, 50e9, *c.Rated)
	require.Equal(t, 50e9, *c.Negotiated, "the kernel counts before an output of an unknown time")
	require.Equal(t, 9000, *c.MTU)
	require.Equal(t, 4096, *c.RDMAMTU)
	require.Equal(t, uint64(11), *c.LinkDowns)
	require.Equal(t, "leaf-3", c.Leaf)
	require.Equal(t, "Ethernet1/7", c.LeafPort)
	require.Equal(t, "00:22", n.NICs[1].Leaf)
	require.Equal(t, "leaf-9", n.NICs[2].Leaf)
	require.Equal(t, []Counter{{"req_tx_retry_excd_err", 2}, {"tx_rdma_cnp_pkts", 7}, {"frames_rx_bad_fcs", 3}}, c.Counters)
	require.Equal(t, []string{"sources_differ", "sources_differ", "link_downs"}, codes(n, Doubt), "rate and MTU of the outputs are others")
	require.Equal(t, "2 outputs", n.NotChecked[0].What)
	require.Contains(t, n.NotChecked[0].Why, "Error: permission denied")
}

// Without sysfs the outputs are all there is; a rated rate above the negotiated one is a
// fault, and without the rated rate nothing is said of it.
func TestOutputsAlone(t *testing.T) {
	n, err := Read(fstest.MapFS{}, Inputs{Outputs: outputSeeds})
	require.NoError(t, err)
	require.Len(t, n.NICs, 2)
	require.Equal(t, "rocep9s0", n.NICs[0].Name)
	require.Equal(t, "0000:09:00.0", n.NICs[0].PCI)
	require.Equal(t, []string{"port_down", "nic_rate"}, codes(n, Bad))
	require.Contains(t, n.Findings[1].Message, "runs its port at 100G; it is rated for 400G (POLLARA 1x400G QSFP112)")
	n, err = Read(fstest.MapFS{}, Inputs{Outputs: outputSeeds[1:]})
	require.NoError(t, err)
	require.NotContains(t, codes(n, Bad), "nic_rate")
	n, err = Read(fstest.MapFS{}, Inputs{Outputs: outputSeeds[:3]})
	require.NoError(t, err)
	require.Len(t, n.NICs, 1, "cards alone")
}

func TestOutputsOf(t *testing.T) {
	folder := fstest.MapFS{
		"command_mappings.json": {Data: []byte(`{"ethtool -S eth0": "a.txt"}`)},
		"a.txt":                 {Data: outputSeeds[6].Text},
		"ethtool_S_eth1.txt":    {Data: outputSeeds[6].Text},
		"deep/b.txt":            {Data: []byte("x")},
	}
	all, err := OutputsOf(folder)
	require.NoError(t, err)
	require.Equal(t, []string{"ethtool -S eth0", "ethtool_S_eth1.txt"}, []string{all[0].Name, all[1].Name})
	facts, kinds := readOutputs(all)
	require.Equal(t, []string{"ethtool -S"}, kinds)
	require.Equal(t, []string{"eth0", "eth1"}, sortedKeys(facts.ifaces))
	folder["command_mappings.json"].Data = []byte("[")
	_, err = OutputsOf(folder)
	require.ErrorContains(t, err, "command_mappings.json")
	_, err = Read(fstest.MapFS{}, Inputs{XML: []byte("<system>")})
	require.ErrorContains(t, err, "the XML is damaged")
	_, err = Read(fstest.MapFS{}, Inputs{XML: []byte("{}")})
	require.ErrorContains(t, err, "there is no <system> element")
	_, err = Read(fstest.MapFS{}, Inputs{XML: []byte("<system>" + strings.Repeat("<a>", maxElements))})
	require.ErrorContains(t, err, "more elements than any node")
}

// The payload of a RoCE packet by the MTU, after the kernel's iboe_get_mtu.
func TestPayload(t *testing.T) {
	for mtu, want := range map[int]int{576: 256, 1500: 1024, 4096: 2048, 4192: 4096, 4191: 2048, 9000: 4096, 0: 256} {
		require.Equal(t, want, payload(mtu), mtu)
	}
}

func TestOutliers(t *testing.T) {
	id := func(s string) string { return s }
	usual, odd, split := outliers([]string{"a", "b", "a", ""}, id)
	require.Equal(t, "a|[b]|[]", fmt.Sprintf("%v|%v|%v", usual, odd, split))
	usual, odd, split = outliers([]string{"a", "b"}, id)
	require.Equal(t, "|[]|[a b]", fmt.Sprintf("%v|%v|%v", usual, odd, split))
	usual, odd, split = outliers([]string{"", ""}, id)
	require.Equal(t, "|[]|[]", fmt.Sprintf("%v|%v|%v", usual, odd, split))
}
