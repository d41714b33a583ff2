package topo

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"

	"zbench/bench/base/pattern"
	"zbench/bench/base/unit"
)

// Output is the output of a command.
type Output struct {
	// Name is the command, or the name of the file that has its output.
	Name string
	Text []byte
}

// Limits of outputs.
const (
	maxOutput  = 16 << 20
	maxOutputs = 4096
)

// mappings is the name of a file that maps commands to files of its folder.
const mappings = "command_mappings.json"

// OutputsOf reads a folder of outputs. If there is a command_mappings.json, it gives the commands.
// It is an object of commands and file names. Otherwise a command is recognised from its file's
// name and content.
func OutputsOf(fsys fs.FS) ([]Output, error) {
	commands := map[string][]string{}
	if text, err := fs.ReadFile(fsys, mappings); err == nil {
		var byCommand map[string]string
		if err := json.Unmarshal(text, &byCommand); err != nil {
			return nil, fmt.Errorf("%s: %w", mappings, err)
		}
		for command, file := range byCommand {
			commands[file] = append(commands[file], command)
		}
	}
	names := list(fsys, ".")
	if len(names) > maxOutputs {
		return nil, fmt.Errorf("the folder has more than %d files", maxOutputs)
	}
	var all []Output
	for _, name := range names {
		info, err := fs.Stat(fsys, name)
		if err != nil || info.IsDir() || name == mappings {
			continue
		}
		if info.Size() > maxOutput {
			return nil, fmt.Errorf("%s has %d bytes: more than any output", name, info.Size())
		}
		text, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, err
		}
		given := commands[name]
		if len(given) == 0 {
			given = []string{name}
		}
		slices.Sort(given)
		all = append(all, Output{given[0], text})
	}
	return all, nil
}

// toolFacts has the facts from commands' outputs.
type toolFacts struct {
	cards  map[string]*nicCard
	rdma   map[string]*NIC // by RDMA device
	ifaces map[string]*NIC // by network interface
	slots  map[string]Address
	leaves map[string]leaf
	// `unread` has the outputs that were not recognised, with their first words.
	unread []string
}

// leaf is the end of a cable at a switch.
type leaf struct{ name, port string }

// outputKind is one kind of output with its reader. `read` returns false if the output is of
// another kind.
type outputKind struct {
	name string
	read func(*toolFacts, Output) bool
}

// outputKinds are all kinds of outputs. The first kind that accepts an output reads it.
var outputKinds = []outputKind{
	{"nicctl", (*toolFacts).nicctl},
	{"rdma", (*toolFacts).rdmaJSON},
	{"rdma link", (*toolFacts).rdmaLink},
	{"ethtool -S", (*toolFacts).ethtool},
	{"ip link", (*toolFacts).ipLink},
	{"lldpctl", (*toolFacts).lldp},
	{"uevent", (*toolFacts).slot},
	{"leaves", (*toolFacts).leafTable},
}

// readOutputs reads the outputs of known kinds. The result `kinds` has the names of these kinds.
func readOutputs(all []Output) (t *toolFacts, kinds []string) {
	t = &toolFacts{cards: map[string]*nicCard{}, rdma: map[string]*NIC{}, ifaces: map[string]*NIC{}, slots: map[string]Address{}, leaves: map[string]leaf{}}
	for _, o := range all {
		known := slices.ContainsFunc(outputKinds, func(k outputKind) bool {
			if len(o.Text) > maxOutput || !k.read(t, o) {
				return false
			}
			if !slices.Contains(kinds, k.name) {
				kinds = append(kinds, k.name)
			}
			return true
		})
		if !known {
			first, _, _ := strings.Cut(strings.TrimSpace(string(o.Text[:min(len(o.Text), maxText)])), "\n")
			t.unread = append(t.unread, fmt.Sprintf("%s (%.40s)", shortened(o.Name), first))
		}
	}
	return t, kinds
}

// rdmaJSON reads the output of rdma statistic -j and rdma link -j: an array of objects with ifname.
func (t *toolFacts) rdmaJSON(o Output) bool {
	var rows []map[string]any
	d := json.NewDecoder(bytes.NewReader(o.Text))
	d.UseNumber()
	if d.Decode(&rows) != nil {
		return false
	}
	met := false
	for _, row := range rows {
		name, ok := row["ifname"].(string)
		if !ok || name == "" {
			continue
		}
		met = true
		f := entry(t.rdma, shortened(name))
		if iface, ok := row["netdev"].(string); ok {
			f.Interface = shortened(iface)
		}
		if state, ok := row["state"].(string); ok {
			f.State = shortened(state)
		}
		for _, key := range sortedKeys(row) {
			if number, ok := row[key].(json.Number); ok {
				f.keep(key, number.String())
			}
		}
	}
	return met
}

func sortedKeys[T any](m map[string]T) []string {
	return slices.Sorted(maps.Keys(m))
}

// entry returns the value of a key, and makes it if it is missing.
func entry[T any](m map[string]*T, key string) *T {
	if m[key] == nil {
		m[key] = new(T)
	}
	return m[key]
}

// rdmaLine matches a line of rdma link.
var rdmaLine = pattern.New(`(?m)^\s*(?:\d+/\d+:\s*|link\s+)(\S+?)/\d+:?\s+(?:subnet_prefix\s+\S+\s+)?.*?state (\S+) physical_state \S+(?:.*? netdev (\S+))?`)

func (t *toolFacts) rdmaLink(o Output) bool {
	found := rdmaLine.FindAllSubmatch(o.Text, maxEntries)
	for _, m := range found {
		f := entry(t.rdma, shortened(string(m[1])))
		f.State, f.Interface = shortened(string(m[2])), shortened(string(m[3]))
	}
	return len(found) > 0
}

// ethtool reads the output of ethtool -S. The text does not name its interface; the command or the
// file name does.
func (t *toolFacts) ethtool(o Output) bool {
	rest, ok := bytes.CutPrefix(bytes.TrimSpace(o.Text), []byte("NIC statistics:"))
	if !ok {
		return false
	}
	words := strings.FieldsFunc(strings.TrimSuffix(o.Name, ".txt"), func(r rune) bool { return r == ' ' || r == '_' || r == '/' })
	if len(words) == 0 {
		return false
	}
	f := entry(t.ifaces, shortened(words[len(words)-1]))
	for line := range strings.Lines(string(rest)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		f.keep(name, strings.TrimSpace(value))
	}
	return true
}

// ipLine matches the first line of an interface in the output of ip link. etherLine matches the
// line with the interface's hardware address.
var (
	ipLine    = pattern.New(`(?m)^\d+: ([^:@\s]+)(?:@\S+)?: <[^>]*> mtu (\d+)`)
	etherLine = pattern.New(`^\s*link/ether ([0-9a-f:]{17})`)
)

func (t *toolFacts) ipLink(o Output) bool {
	var f *NIC
	for line := range strings.Lines(string(o.Text)) {
		if m := ipLine.FindStringSubmatch(line); m != nil {
			f = entry(t.ifaces, shortened(m[1]))
			if mtu, err := strconv.Atoi(m[2]); err == nil && mtu < 1<<20 {
				f.MTU = &mtu
			}
		} else if m := etherLine.FindStringSubmatch(line); m != nil && f != nil && f.mac == "" {
			f.mac = m[1]
		}
	}
	return f != nil
}

// ueventOf matches the RDMA device in a command or a file name.
var ueventOf = pattern.New(`infiniband/([^/\s]+)/device|pci_slot_([^/\s]+?)(?:\.txt)?$`)

// slot reads PCI_SLOT_NAME from the uevent of an RDMA device.
func (t *toolFacts) slot(o Output) bool {
	value, ok := strings.CutPrefix(strings.TrimSpace(string(o.Text)), "PCI_SLOT_NAME=")
	m := ueventOf.FindStringSubmatch(o.Name)
	if !ok || m == nil {
		return false
	}
	address, ok := ParseAddress(value)
	if ok {
		t.slots[m[1]+m[2]] = address
	}
	return ok
}

// complete() adds facts from commands to a NIC.
func (t *toolFacts) complete(n *Node, c *NIC) {
	if r := t.rdma[c.Name]; r != nil {
		c.Interface, c.State = cmp.Or(c.Interface, r.Interface), cmp.Or(c.State, r.State)
		c.merge(r)
	}
	if i := t.ifaces[c.Interface]; i != nil {
		if c.MTU != nil && i.MTU != nil && *c.MTU != *i.MTU {
			n.differ(c.Name, "mtu", fmt.Sprint(*c.MTU), fmt.Sprint(*i.MTU))
		}
		c.MTU, c.mac = cmp.Or(c.MTU, i.MTU), cmp.Or(c.mac, i.mac)
		c.merge(i)
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
	c.Product, c.Firmware = cmp.Or(card.Product, c.Product), cmp.Or(c.Firmware, card.Firmware)
	if card.Rated != nil {
		c.Rated, c.RatedBy = card.Rated, RatedByProduct
	}
	if c.Negotiated != nil && card.Negotiated != nil && *c.Negotiated != *card.Negotiated {
		n.differ(c.Name, "rate", Gigabits(c.Negotiated), Gigabits(card.Negotiated))
	}
	c.Negotiated, c.MTU = cmp.Or(c.Negotiated, card.Negotiated), cmp.Or(c.MTU, card.MTU)
	if c.State == "" && card.State != "" {
		c.State = cmp.Or(map[string]string{"UP": "ACTIVE"}[card.State], card.State)
	}
	if card.LinkDowns != nil && (c.LinkDowns == nil || *card.LinkDowns > *c.LinkDowns) {
		c.LinkDowns = card.LinkDowns
	}
	if mtu, ok := card.lifs[c.Interface]; ok {
		c.RDMAMTU = &mtu
	}
	if a, ok := ParseAddress(c.PCI); ok && card.placed && a != card.address {
		c.Virtual = true
	}
	c.merge(&card.NIC)
}

// merge adds the counters that no other source had.
func (c *NIC) merge(o *NIC) {
	counted := c.Counted + o.Counted
	for _, one := range o.Counters {
		c.count(one.Name, one.Value)
	}
	c.Counted = counted
}

// differ() reports that the kernel and a command contradict each other.
func (n *Node) differ(subject, what, kernel, command string) {
	n.find(Doubt, "sources_differ", subject, fmt.Sprintf("%s: the %s is %s in sysfs and %s in the output of a command", subject, what, kernel, command), "the outputs may be older, or of another node: take them again")
}

// Gigabits formats the rate of a port as vendors do, such as 400G; a dash if it is unknown.
func Gigabits(rate *float64) string { return cmp.Or(spelled(rate, gigabits), none) }

func gigabits(rate float64) string { return unit.Number(rate*8/1e9) + "G" }

// leafOf returns the switch of a NIC, found by its interface or its own name. A table of leaf
// switches may cover many nodes; the names in it are then host/nic.
func (t *toolFacts) leafOf(host string, c *NIC) (leaf, bool) {
	for _, name := range []string{host + "/" + c.Interface, host + "/" + c.Name, c.Interface, c.Name} {
		if l, ok := t.leaves[name]; ok && !strings.HasSuffix(name, "/") && name != "" {
			return l, true
		}
	}
	return leaf{}, false
}
