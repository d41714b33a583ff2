package topo

import (
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// deviceCounters returns the error counters of a PCI device: AER's counters, and amdgpu's counters
// for memory (ECC) and xGMI in ras/. It keeps only nonzero counters. `read` counts all of them.
func deviceCounters(fsys fs.FS, folder string) (kept []Counter, read int) {
	for _, kind := range []string{"correctable", "nonfatal", "fatal"} {
		keep(fsys, path.Join(folder, "aer_dev_"+kind), "aer/"+kind+"/", " ", &kept, &read)
	}
	for _, name := range list(fsys, path.Join(folder, "ras")) {
		if block, ok := strings.CutSuffix(name, "_err_count"); ok {
			keep(fsys, path.Join(folder, "ras", name), "ras/"+shortened(block)+"/", ":", &kept, &read)
		}
	}
	return kept, read
}

// keep() reads lines of a name, a separator and a number. AER's totals are left out, because they
// repeat the other lines.
func keep(fsys fs.FS, file, prefix, separator string, kept *[]Counter, count *int) {
	all, err := read(fsys, file)
	if err != nil {
		return
	}
	for line := range strings.Lines(all) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), separator)
		v, err := strconv.ParseUint(strings.TrimSpace(value), 10, 64)
		if !ok || err != nil || strings.HasPrefix(name, "TOTAL_") {
			continue
		}
		*count++
		if v > 0 {
			*kept = append(*kept, Counter{prefix + shortened(strings.TrimSpace(name)), v})
		}
	}
}

// portErrors are the counters of RDMA ports that count lost or repeated packets. ionic's counters
// are spelled as in its driver ("outouf").
var portErrors = []string{
	// InfiniBand's own counters, in the folder counters/.
	"link_error_recovery", "local_link_integrity_errors", "port_rcv_errors", "port_rcv_remote_physical_errors",
	"port_xmit_discards", "symbol_error",
	// mlx5, bnxt_re and irdma.
	"duplicate_request", "implied_nak_seq_err", "local_ack_timeout_err", "out_of_buffer", "out_of_sequence", "packet_seq_err",
	"rnr_nak_retry_err", "roce_adp_retrans", "max_retry_exceeded", "to_retransmits", "seq_err_naks_rcvd", "res_oos_drop_count",
	// ionic.
	"req_rx_pkt_seq_err", "req_rx_rnr_retry_err", "req_tx_retry_excd_err", "resp_rx_outof_buf", "resp_rx_outouf_seq",
	"resp_tx_pkt_seq_err", "resp_tx_rnr_retry_err", "rx_rdma_mtu_discard_pkts", "tx_rdma_ack_timeout", "req_rx_dup_response",
	// Ethernet's counters, spelled as by ethtool -S.
	"frames_rx_bad_fcs", "frames_rx_bad_all", "frames_tx_bad", "frames_rx_dropped", "rx_crc_errors_phy", "rx_symbol_err_phy", "rx_out_of_buffer",
}

// The counters in `congestion` count events of a busy network. By themselves they are no sign of a
// defect.
var congestion = []string{
	"tx_rdma_cnp_pkts", "rx_rdma_cnp_pkts", "rx_rdma_ecn_pkts", "np_cnp_sent", "rp_cnp_handled", "np_ecn_marked_roce_packets",
	"frames_rx_pripause", "frames_tx_pripause", "frames_rx_pause", "frames_tx_pause",
}

// linkDowned is the counter of how often a port lost its link, spelled as in counters/.
const linkDowned = "link_downed"

// portCounters reads the counters of an RDMA port and of its device.
func (c *NIC) portCounters(fsys fs.FS, device, port string) {
	for _, folder := range counterFolders(device, port) {
		for _, name := range list(fsys, folder) {
			v, ok := number(fsys, path.Join(folder, name))
			switch {
			case !ok:
			case name == linkDowned:
				c.LinkDowns = &v
			default:
				c.count(name, v)
			}
		}
	}
}

// counterFolders returns the folders with the counters of an RDMA device and of its port.
func counterFolders(device, port string) []string {
	return []string{path.Join(port, "counters"), path.Join(port, "hw_counters"), path.Join(device, "hw_counters")}
}

// keep() adds a counter that is given as text, if it is a whole number.
func (c *NIC) keep(name, value string) {
	if v, err := strconv.ParseUint(value, 10, 64); err == nil {
		c.count(name, v)
	}
}

// count() adds a counter of a port if it is in one of the tables.
func (c *NIC) count(name string, v uint64) {
	if !slices.Contains(portErrors, name) && !slices.Contains(congestion, name) {
		return
	}
	c.Counted++
	if v > 0 && !slices.ContainsFunc(c.Counters, func(o Counter) bool { return o.Name == name }) {
		c.Counters = append(c.Counters, Counter{name, v})
	}
}
