package topo

import (
	"cmp"
	"fmt"
	"strings"

	"zbench/bench/unit"
)

// complete adds to a NIC what outputs of commands say of it.
func (t *toolFacts) complete(n *Node, c *NIC) {
	if r := t.rdma[c.Name]; r != nil {
		c.Interface, c.State = cmp.Or(c.Interface, r.iface), cmp.Or(c.State, r.state)
		c.merge(r.counters, r.count)
	}
	if i := t.ifaces[c.Interface]; i != nil {
		if c.MTU != nil && i.mtu != nil && *c.MTU != *i.mtu {
			n.differ(c.Name, "mtu", fmt.Sprint(*c.MTU), fmt.Sprint(*i.mtu))
		}
		c.MTU, c.mac = cmp.Or(c.MTU, i.mtu), cmp.Or(c.mac, i.mac)
		c.merge(i.counters, i.count)
	}
	if card := t.cardOf(c); card != nil {
		card.complete(n, c)
	}
	if l, ok := t.leafOf(n.Host, c); ok {
		c.Leaf, c.LeafPort = l.name, l.port
	}
}

func (card *nicCard) complete(n *Node, c *NIC) {
	c.Driver = cmp.Or(c.Driver, "ionic")
	c.Product, c.Firmware = cmp.Or(card.product, c.Product), cmp.Or(c.Firmware, card.firmware)
	if card.rated != nil {
		c.Rated, c.RatedBy = card.rated, RatedByProduct
	}
	if c.Negotiated != nil && card.negotiated != nil && *c.Negotiated != *card.negotiated {
		n.differ(c.Name, "rate", Gigabits(c.Negotiated), Gigabits(card.negotiated))
	}
	c.Negotiated, c.MTU = cmp.Or(c.Negotiated, card.negotiated), cmp.Or(c.MTU, card.mtu)
	if c.State == "" && card.state != "" {
		c.State = map[string]string{"UP": "ACTIVE"}[card.state]
		c.State = cmp.Or(c.State, card.state)
	}
	if card.downs != nil && (c.LinkDowns == nil || *card.downs > *c.LinkDowns) {
		c.LinkDowns = card.downs
	}
	if mtu, ok := card.lifs[c.Interface]; ok {
		c.RDMAMTU = &mtu
	}
	if a, ok := ParseAddress(c.PCI); ok && card.placed && a != card.address {
		c.Virtual = true
	}
	c.merge(card.counters, card.count)
}

// merge adds counters that no other source had.
func (c *NIC) merge(all []Counter, count int) {
	for _, one := range all {
		had := 0
		keepPort(one.Name, one.Value, &c.Counters, &had)
	}
	c.Counted += count
}

// differ notes that the kernel and a command contradict each other.
func (n *Node) differ(subject, what, kernel, command string) {
	n.find(Doubt, "sources_differ", subject, fmt.Sprintf("%s: the %s is %s in sysfs and %s in the output of a command", subject, what, kernel, command), "the outputs may be older, or of another node: take them again")
}

// Gigabits is a port's rate as vendors write it: 400G.
func Gigabits(rate *float64) string {
	if rate == nil {
		return "–"
	}
	return unit.Number(*rate*8/1e9) + "G"
}

// leafOf is the switch of a NIC, by its interface or its own name. A table of leaves may
// be of many nodes: its names are then host/nic.
func (t *toolFacts) leafOf(host string, c *NIC) (leaf, bool) {
	for _, name := range []string{host + "/" + c.Interface, host + "/" + c.Name, c.Interface, c.Name} {
		if l, ok := t.leaves[name]; ok && !strings.HasSuffix(name, "/") && name != "" {
			return l, true
		}
	}
	return leaf{}, false
}
