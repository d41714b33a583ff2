package topo

import (
	"encoding/csv"
	"encoding/json"
	"strings"
)

// lldp reads the output of lldpctl -f json. It has interfaces, as an object or as an array of
// objects. Each interface has a port and a chassis. The key of the chassis is the name of the
// switch.
func (t *toolFacts) lldp(o Output) bool {
	var all struct {
		LLDP struct {
			Interface json.RawMessage `json:"interface"`
		} `json:"lldp"`
	}
	if json.Unmarshal(o.Text, &all) != nil || all.LLDP.Interface == nil {
		return false
	}
	var parts []map[string]lldpNeighbour
	if json.Unmarshal(all.LLDP.Interface, &parts) != nil {
		var one map[string]lldpNeighbour
		if json.Unmarshal(all.LLDP.Interface, &one) != nil {
			return false
		}
		parts = append(parts, one)
	}
	for _, part := range parts {
		for _, iface := range sortedKeys(part) {
			if l := part[iface].leaf(); l.name != "" {
				t.leaves[shortened(iface)] = l
			}
		}
	}
	return true
}

// lldpNeighbour is the neighbour of an interface.
type lldpNeighbour struct {
	Chassis map[string]json.RawMessage `json:"chassis"`
	Port    struct {
		ID struct {
			Value string `json:"value"`
		} `json:"id"`
	} `json:"port"`
}

// leaf returns the switch, by the name of its chassis. A chassis without a name has an ID as its
// value.
func (n lldpNeighbour) leaf() leaf {
	for _, name := range sortedKeys(n.Chassis) {
		if name != "id" {
			return leaf{shortened(name), shortened(n.Port.ID.Value)}
		}
	}
	var id struct {
		Value string `json:"value"`
	}
	if json.Unmarshal(n.Chassis["id"], &id) != nil {
		return leaf{}
	}
	return leaf{shortened(id.Value), shortened(n.Port.ID.Value)}
}

// leafTable reads a table of leaf switches: CSV with the heading nic,leaf or node,nic,leaf, and
// optionally a column port. The column nic has an RDMA device or a network interface.
func (t *toolFacts) leafTable(o Output) bool {
	r := csv.NewReader(strings.NewReader(string(o.Text)))
	r.FieldsPerRecord, r.TrimLeadingSpace = -1, true
	rows, err := r.ReadAll()
	if err != nil || len(rows) == 0 {
		return false
	}
	at := map[string]int{}
	for i, name := range rows[0] {
		at[strings.ToLower(strings.TrimSpace(name))] = i
	}
	_, nic := at["nic"]
	_, switches := at["leaf"]
	if !nic || !switches {
		return false
	}
	cell := func(row []string, name string) string {
		if i, ok := at[name]; ok && i < len(row) {
			return shortened(strings.TrimSpace(row[i]))
		}
		return ""
	}
	for _, row := range rows[1:] {
		name := cell(row, "nic")
		if node := cell(row, "node"); node != "" {
			name = node + "/" + name
		}
		if l := (leaf{cell(row, "leaf"), cell(row, "port")}); l.name != "" && len(t.leaves) < maxEntries {
			t.leaves[name] = l
		}
	}
	return true
}
