package record

import (
	"slices"

	"zbench/bench/slice"
	"zbench/bench/stat"
)

// NICCounters is by how much the counters of one NIC rose. A null is a counter that the
// NIC's driver does not have, or that fell meanwhile.
type NICCounters struct {
	// Node is the name of the node.
	Node string `json:"node"`
	// NIC is the name of the RDMA device.
	NIC string `json:"nic"`
	// GPU is the number on its node of the GPU whose rail the NIC is, by PCI parents; −1 if
	// it is none's, or not known.
	GPU int `json:"gpu" jsonschema:"minimum=-1"`
	// PCI are the addresses of all GPUs whose rail the NIC is; absent where none is known.
	PCI []string `json:"gpu_pci,omitempty"`
	// Sent is the RDMA payload that was sent, in bytes.
	Sent *uint64 `json:"sent_bytes"`
	// Received is the RDMA payload that was received, in bytes.
	Received *uint64 `json:"received_bytes"`
	// Retransmits is the number of packets or requests that were sent again.
	Retransmits *uint64 `json:"retransmits"`
	// CNPs is the number of congestion notification packets, sent and received.
	CNPs *uint64 `json:"cnps"`
	// Pauses is the number of pause frames, priority flow control included, sent and
	// received.
	Pauses *uint64 `json:"pauses"`
	// LinkDowns is how often the port lost its link.
	LinkDowns *uint64 `json:"link_downs"`
}

// NICKind is a kind of RDMA NIC.
type NICKind struct {
	// Driver of the PCI device, such as ionic (AMD Pollara), mlx5_core or bnxt_en.
	Driver string `json:"driver"`
	// Model is the name on the card, or of its chip; empty if not known.
	Model string `json:"model"`
}

// Pollara reports whether a kind is AMD's Pollara, by its driver.
func Pollara(kinds []NICKind) bool {
	return slices.ContainsFunc(kinds, func(k NICKind) bool { return k.Driver == "ionic" })
}

// values are all counters.
func (c *NICCounters) values() []**uint64 {
	return []**uint64{&c.Sent, &c.Received, &c.Retransmits, &c.CNPs, &c.Pauses, &c.LinkDowns}
}

// with combines each counter with another's. It is null if either is null or of returns false.
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

// RoseNICs is by how much counters rose from one reading to another, NIC by NIC; those that
// are in one reading alone are left out.
func RoseNICs(before, after []NICCounters) []NICCounters {
	var out []NICCounters
	for n, a := range after {
		i := n // most often the readings list the same NICs: a search for each of 1,024 takes long
		if i >= len(before) || !a.same(before[i]) {
			i = slices.IndexFunc(before, a.same)
		}
		if i >= 0 {
			out = append(out, a.with(before[i], func(now, was uint64) (uint64, bool) { return now - was, now >= was }))
		}
	}
	return out
}

// AddNICs adds up rises, NIC by NIC, in the order of nodes' first appearance; a counter
// that one of them lacks is null.
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

// MedianSent is the median over the NICs of the bytes that each sent; 0 where none tells.
func MedianSent(nics []NICCounters) float64 {
	read := slice.Where(nics, func(c NICCounters) bool { return c.Sent != nil })
	if len(read) == 0 {
		return 0
	}
	return stat.Quantile(slice.Map(read, func(c NICCounters) float64 { return float64(*c.Sent) }), 0.5)
}
