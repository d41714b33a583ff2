package topo

import (
	"fmt"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// Counters of each driver's names are read by what they mean, the rail by PCI parents: the
// NIC of GPU 6 and that of GPU 7 have other names than their numbers.
func TestCounting(t *testing.T) {
	made := healthy()
	ib := "sys/class/infiniband/"
	for i := range gpus {
		made.put(ib+nicName(i)+"/ports/1/hw_counters/tx_rdma_ucast_bytes", "%d\n", 1000+i)
	}
	made.put(ib+nicName(6)+"/ports/1/hw_counters/rx_rdma_ucast_bytes", "5\n")
	made.put(ib+nicName(6)+"/ports/1/hw_counters/req_rx_pkt_seq_err", "3\n")
	made.put(ib+nicName(6)+"/ports/1/hw_counters/tx_rdma_ack_timeout", "4\n")
	made.put(ib+nicName(6)+"/hw_counters/rx_rdma_cnp_pkts", "11\n")
	made.put(ib+nicName(6)+"/hw_counters/frames_rx_pripause3", "7\n")
	made.put(ib+nicName(6)+"/hw_counters/frames_tx_pripause4", "8\n")
	made.put(ib+nicName(6)+"/ports/1/counters/link_downed", "2\n")
	made.put(ib+nicName(7)+"/ports/1/counters/port_xmit_data", "9\n")
	made.put(ib+nicName(7)+"/ports/1/counters/port_rcv_data", "9\n")
	c := NewCounting(index(made.MapFS), "h")
	all := c.Read()
	require.Len(t, all, gpus)
	by := map[string]int{}
	for i, one := range all {
		require.Equal(t, "h", one.Node)
		by[one.NIC] = i
	}
	for i := range gpus {
		require.Equal(t, i, all[by[nicName(i)]].GPU, nicName(i))
		require.Len(t, all[by[nicName(i)]].PCI, 1, nicName(i))
	}
	six := all[by[nicName(6)]]
	require.Equal(t, "1006 5 7 11 15 2", fmt.Sprint(*six.Sent, *six.Received, *six.Retransmits, *six.CNPs, *six.Pauses, *six.LinkDowns))
	seven := all[by[nicName(7)]]
	require.EqualValues(t, 36, *seven.Sent, "words of four bytes come first: counters/ is read before hw_counters/")
	require.EqualValues(t, 36, *seven.Received)
	require.Nil(t, all[by[nicName(0)]].Received)
	require.EqualValues(t, 0, *all[by[nicName(0)]].LinkDowns)
	require.Nil(t, NewCounting(fstest.MapFS{}, "h"))
	require.Nil(t, (*Counting)(nil).Read())
	made.put(ib+nicName(6)+"/ports/1/hw_counters/tx_rdma_ucast_bytes", "garbage\n")
	require.Nil(t, NewCounting(index(made.MapFS), "h").Read()[by[nicName(6)]].Sent)
}
