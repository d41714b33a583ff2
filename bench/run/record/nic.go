package record

import (
	"slices"

	"zbench/bench/base/slice"
	"zbench/bench/base/stat"
)

// NICCounters is the increase of one NIC's counters. A null means that the NIC's driver lacks the
// counter, or that the counter fell meanwhile.
type NICCounters struct {
	// Node is the name of the node.
	Node string `json:"node"`
	// NIC is the name of the RDMA device.
	NIC string `json:"nic"`
	// GPU is the node-local number of the GPU whose rail the NIC is, by PCI parents; −1 if there is
	// none, or it is unknown.
	GPU int `json:"gpu" jsonschema:"minimum=-1"`
	// PCI are the addresses of all GPUs whose rail the NIC is; absent if unknown.
	PCI []string `json:"gpu_pci,omitempty"`
	// Sent is the sent RDMA payload, in bytes.
	Sent *uint64 `json:"sent_bytes"`
	// Received is the received RDMA payload, in bytes.
	Received *uint64 `json:"received_bytes"`
	// Retransmits is the number of retransmitted packets or requests.
	Retransmits *uint64 `json:"retransmits"`
	// CNPs is the number of congestion notification packets, sent and received.
	CNPs *uint64 `json:"cnps"`
	// Pauses is the number of pause frames, priority flow control included, sent and
	// received.
	Pauses *uint64 `json:"pauses"`
	// LinkDowns is the number of times that the port lost its link.
	LinkDowns *uint64 `json:"link_downs"`
}

// NICKind is a kind of RDMA NIC.
type NICKind struct {
	// Driver of the PCI device, such as ionic (AMD Pollara), mlx5_core or bnxt_en.
	Driver string `json:"driver"`
	// Model is the name on the card, or of its chip; empty if unknown.
	Model string `json:"model"`
}

// Pollara reports whether a kind is AMD's Pollara, by its driver.
func Pollara(kinds []NICKind) bool {
	return slices.ContainsFunc(kinds, func(k NICKind) bool { return k.Driver == "ionic" })
}

// values returns all counters.
func (c *NICCounters) values() []**uint64 {
	return []**uint64{&c.Sent, &c.Received, &c.Retransmits, &c.CNPs, &c.Pauses, &c.LinkDowns}
}

// Method `with` combines each counter of c with the same counter of other by the function `of`. The
// result is null if one of the two counters is null, or if the function returns false.
func (c NICCounters) with(other NICCounters, of func(own, other uint64) (uint64, bool)) NICCounters {
	for k, to := range c.values() {
		own, more := *to, *other.values()[k]
		if *to = nil; own == nil || more == nil {
			continue
		}
		if v, ok := of(*own, *more); ok {
			*to = &v
		}
	}
	return c
}

func (c NICCounters) same(o NICCounters) bool { return c.Node == o.Node && c.NIC == o.NIC }

// RoseNICs returns the increase of counters from one reading to another, NIC by NIC; NICs in only
// one reading are left out.
func RoseNICs(before, after []NICCounters) []NICCounters {
	var out []NICCounters
	for n, a := range after {
		i := n // readings usually list the same NICs, and a search for each of 1,024 takes long
		if i >= len(before) || !a.same(before[i]) {
			i = slices.IndexFunc(before, a.same)
		}
		if i >= 0 {
			out = append(out, a.with(before[i], func(now, was uint64) (uint64, bool) { return now - was, now >= was }))
		}
	}
	return out
}

// AddNICs adds increases, NIC by NIC, in the order of first appearance. A counter that is null in one
// of them is null in the sum.
func AddNICs(all ...[]NICCounters) []NICCounters {
	var out []NICCounters
	for _, list := range all {
		for _, c := range list {
			i := slices.IndexFunc(out, c.same)
			if i < 0 {
				out = append(out, c)
				continue
			}
			out[i] = out[i].with(c, func(a, b uint64) (uint64, bool) { return a + b, true })
		}
	}
	return out
}

// MedianSent returns the median over the NICs of their sent bytes; 0 if unknown.
func MedianSent(nics []NICCounters) float64 {
	read := slice.Where(nics, func(c NICCounters) bool { return c.Sent != nil })
	if len(read) == 0 {
		return 0
	}
	return stat.Quantile(slice.Map(read, func(c NICCounters) float64 { return float64(*c.Sent) }), 0.5)
}
