package topo

import (
	"encoding/json"
	"strconv"
	"strings"

	"zbench/bench/base/pattern"
	"zbench/bench/base/plain"
)

// nicCard is a card in nicctl's output. nicctl serves only AMD's Pollara cards, whose driver is
// ionic.
type nicCard struct {
	NIC
	address Address
	placed  bool
	// lifs has the interfaces of the card by name, each with the payload of an RDMA packet in
	// bytes.
	lifs map[string]int
}

// nicctlNIC is an element of the array "nic" in the output of every nicctl show … -j. Numbers are
// given as texts.
type nicctlNIC struct {
	ID       string `json:"id"`
	Ethernet string `json:"eth_bdf"`
	Product  string `json:"product_name"`
	Firmware string `json:"firmware_version"`
	Port     []struct {
		Spec struct {
			MTU string `json:"mtu"`
		} `json:"spec"`
		Status struct {
			State string `json:"operational_status"`
			Speed string `json:"port_speed"`
			Downs string `json:"number_of_link_down_events"`
		} `json:"status"`
		Statistics map[string]any `json:"statistics"`
	} `json:"port"`
	LIF []struct {
		Spec struct {
			MTU string `json:"rdma_mtu"`
		} `json:"spec"`
		Status struct {
			Name string `json:"name"`
		} `json:"status"`
		Statistics map[string]any `json:"statistics"`
	} `json:"lif"`
}

// nicctl reads the output of `show card`, `show port` and `show lif`, and the ports' statistics.
func (t *toolFacts) nicctl(o Output) bool {
	var all struct {
		NIC []nicctlNIC `json:"nic"`
	}
	if json.Unmarshal(o.Text, &all) != nil || all.NIC == nil {
		return false
	}
	for _, n := range all.NIC {
		if n.ID == "" {
			continue
		}
		entry(t.cards, shortened(n.ID)).add(n)
	}
	return true
}

func (c *nicCard) add(n nicctlNIC) {
	if n.Product != "" {
		c.Product = shortened(n.Product)
		c.Rated = ratedOf(n.Product)
	}
	if n.Firmware != "" {
		c.Firmware = shortened(n.Firmware)
	}
	if address, ok := ParseAddress(n.Ethernet); ok {
		c.address, c.placed = address, true
	}
	for _, p := range n.Port {
		c.port(p.Spec.MTU, p.Status.State, p.Status.Speed, p.Status.Downs)
		for _, key := range sortedKeys(p.Statistics) {
			if value, ok := p.Statistics[key].(string); ok {
				c.keep(key, value)
			}
		}
	}
	for _, l := range n.LIF {
		mtu, err := strconv.Atoi(l.Spec.MTU)
		if l.Status.Name == "" || err != nil || mtu <= 0 || mtu > 1<<20 {
			continue
		}
		if c.lifs == nil {
			c.lifs = map[string]int{}
		}
		c.lifs[shortened(l.Status.Name)] = mtu
	}
}

func (c *nicCard) port(mtu, state, speed, downs string) {
	if v, err := strconv.Atoi(mtu); err == nil && v > 0 && v < 1<<20 {
		c.MTU = &v
	}
	if state != "" {
		c.State = shortened(state)
	}
	if rate := speedOf(speed); rate != nil {
		c.Negotiated = rate
	}
	if v, err := strconv.ParseUint(downs, 10, 64); err == nil {
		c.LinkDowns = &v
	}
}

// productRate matches the number of ports and their rate in the name of a product, such as POLLARA
// 1x400G QSFP112.
var productRate = pattern.New(`\b\d+x(\d+)G\b`)

// ratedOf returns the rate of a port according to the name of the product, in bytes per second; nil
// if the name does not give it.
func ratedOf(product string) *float64 {
	if m := productRate.FindStringSubmatch(product); m != nil {
		return speedOf(m[1] + "G")
	}
	return nil
}

// speedText matches the rate of a port, such as 100G.
var speedText = pattern.New(`^(\d{1,5})G$`)

// speedOf converts a rate such as 100G to bytes per second; nil for any other text.
func speedOf(s string) *float64 {
	m := speedText.FindStringSubmatch(s)
	if m == nil {
		return nil
	}
	v, err := strconv.ParseFloat(m[1], 64)
	if err != nil || v <= 0 {
		return nil
	}
	return new(v * (1e9 / 8))
}

// addOutputs completes the NICs with facts from commands' outputs. Without sysfs, the NICs come
// from the output of rdma, or else from nicctl's list of cards.
func (n *Node) addOutputs(all []Output) {
	if len(all) == 0 {
		return
	}
	t, kinds := readOutputs(all)
	n.Sources = append(n.Sources, kinds...)
	if len(n.NICs) == 0 {
		n.NICs = t.nics()
	}
	for i := range n.NICs {
		t.complete(n, &n.NICs[i])
	}
	if len(t.unread) > 0 {
		n.unchecked(plain.Count(len(t.unread), "output"), "not known to zbench: "+strings.Join(t.unread[:min(len(t.unread), 6)], "; "), "zbench reads nicctl -j, rdma -j, rdma link, ethtool -S, ip link, lldpctl -f json, and a CSV with the heading nic,leaf")
	}
}

// nics returns the devices that the outputs name.
func (t *toolFacts) nics() []NIC {
	var nics []NIC
	for _, name := range sortedKeys(t.rdma) {
		c := NIC{Name: name, Interface: t.rdma[name].Interface}
		if address, ok := t.slots[name]; ok {
			c.PCI = address.String()
		} else if card := t.cardOf(&c); card != nil && card.placed {
			c.PCI = card.address.String()
		}
		nics = append(nics, c)
	}
	if len(nics) > 0 {
		return nics
	}
	for _, id := range sortedKeys(t.cards) {
		if card := t.cards[id]; card.placed {
			nics = append(nics, NIC{Name: card.address.String(), PCI: card.address.String()})
		}
	}
	return nics
}

// cardOf returns the card of a NIC: by PCI address without the function, otherwise by the name of
// its interface.
func (t *toolFacts) cardOf(c *NIC) *nicCard {
	address, ok := ParseAddress(c.PCI)
	for _, id := range sortedKeys(t.cards) {
		card := t.cards[id]
		if ok && card.placed && card.address.Card() == address.Card() {
			return card
		}
		if _, has := card.lifs[c.Interface]; has && !ok {
			return card
		}
	}
	return nil
}
