package fabric

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"zbench/bench/spec"
	"zbench/bench/spell"
)

// Fault is one row of the table of faults that can be planted.
type Fault struct {
	// Name begins its text form, Form is an example of the whole.
	Name, Form string
	// Does says what is wrong, in one line.
	Does string
	keys []string
	// more are keys that may be left out, all together.
	more []string
	// plant puts it into the machine, or into the damage to bandwidths.
	plant func(v faultValues, m *Machine, d *damage) error
	// place is what it breaks: no two faults break the same.
	place func(v faultValues) string
}

// faultValues are the numbers of a fault by key: seconds, bytes, counts, shares.
type faultValues map[string]float64

// rank is the rank that node and gpu name.
func (v faultValues) rank(m *Machine) int { return int(v["node"])*m.GPUsPerNode + int(v["gpu"]) }

// damage is what faults take from bandwidths: shares that are left.
type damage struct {
	links []linkDamage
	rails map[[2]int]float64 // by node, rail
	// crossed is the NIC that a GPU uses in place of its own, by node and GPU.
	crossed map[[2]int]int
	// taken is the fault in each place.
	taken map[string]string
}

type linkDamage struct {
	a, b  int // ranks
	share float64
}

var faults = []Fault{
	{
		"late_gpu", "late_gpu:node=3,gpu=5,seconds=2e-5", "a GPU reaches every collective late",
		[]string{"node", "gpu", "seconds"},
		nil,
		func(v faultValues, m *Machine, _ *damage) error {
			return m.fault("late %d %g", v.rank(m), v["seconds"])
		},
		at("late GPU %g of node %g", "gpu", "node"),
	},
	{"late_node", "late_node:node=3,seconds=2e-5", "all GPUs of a node are late", []string{"node", "seconds"}, nil, plantLateNode, at("late node %g", "node")},
	{"slow_link", "slow_link:node=3,a=1,b=2,left=0.5", "the xGMI link between two GPUs has that share of its bandwidth left", []string{"node", "a", "b", "left"}, nil, plantSlowLink, linkPlace},
	{"slow_rail", "slow_rail:node=3,rail=2,left=0.5", "a node's NIC has that share of its bandwidth left", []string{"node", "rail", "left"}, nil, plantRail, railPlace},
	{"dead_rail", "dead_rail:node=3,rail=2", "a node's NIC is down; its traffic takes the others", []string{"node", "rail"}, nil, plantRail, railPlace},
	{"crossed_rails", "crossed_rails:node=3,a=1,b=2", "two GPUs of a node send through each other's NIC: counters of NICs show it, times do not", []string{"node", "a", "b"}, nil, plantCrossed, crossedPlace},
	{"slow_gpu", "slow_gpu:node=3,gpu=5,left=0.5", "all xGMI links of a GPU and its NIC have that share of their bandwidth left", []string{"node", "gpu", "left"}, nil, plantSlowGPU, at("slow GPU %g of node %g", "gpu", "node")},
	{"slow_node", "slow_node:node=3,left=0.5", "all xGMI links and NICs of a node have that share of their bandwidth left", []string{"node", "left"}, nil, plantSlowNode, at("slow node %g", "node")},
	{
		Name: "slow_leaf", Form: "slow_leaf:rail=2,leaf=1,nodes=2,left=0.5", Does: "a rail's leaf switch is slow for the nodes behind it, so many of them; without leaf and nodes for every node",
		keys: []string{"rail", "left"}, more: []string{"leaf", "nodes"}, plant: plantLeaf, place: leafPlace,
	},
	{
		"slow_hbm", "slow_hbm:node=3,gpu=5,left=0.85", "a GPU's memory has that share of its bandwidth left",
		[]string{"node", "gpu", "left"},
		nil,
		func(v faultValues, m *Machine, _ *damage) error {
			return m.fault("hbm %d %g", v.rank(m), v["left"])
		},
		at("the memory of GPU %g of node %g", "gpu", "node"),
	},
	{
		"flaky_link", "flaky_link:node=3,part=0.1,times=4", "that part of the launches that touch the node takes so many times as long",
		[]string{"node", "part", "times"},
		nil,
		func(v faultValues, m *Machine, _ *damage) error {
			return m.fault("flaky %d %d %g %g", int(v["node"])*m.GPUsPerNode, m.GPUsPerNode, v["part"], v["times"])
		},
		at("a flaky link"),
	},
	{
		"dip", "dip:from=1e6,to=4e6,times=2", "sizes in that range, in bytes, take so many times as long",
		[]string{"from", "to", "times"},
		nil,
		func(v faultValues, m *Machine, _ *damage) error {
			return m.fault("dip %g %g %g", v["from"], v["to"], v["times"])
		},
		at("a dip"),
	},
	{
		"noise", "noise:sigma=0.05", "launches vary by that standard deviation, relative",
		[]string{"sigma"},
		nil,
		func(v faultValues, m *Machine, _ *damage) error { m.Host.Noise = v["sigma"]; return nil },
		at("noise"),
	},
	{
		"hang", "hang:node=3,gpu=5,bytes=1e6,launch=7", "a GPU never enters that launch of a case of at least so many bytes",
		[]string{"node", "gpu", "bytes", "launch"},
		nil,
		func(v faultValues, m *Machine, _ *damage) error {
			return m.fault("hang %d %g %d", v.rank(m), v["bytes"], int(v["launch"]))
		},
		at("a hang"),
	},
	{
		"async_error", "async_error:node=3,gpu=5,bytes=1e6,launch=7", "the library reports an asynchronous error there",
		[]string{"node", "gpu", "bytes", "launch"},
		nil,
		func(v faultValues, m *Machine, _ *damage) error {
			return m.fault("async %d %g %d", v.rank(m), v["bytes"], int(v["launch"]))
		},
		at("an asynchronous error"),
	},
	{"stuck_gpu", "stuck_gpu:node=3,gpu=5", "a GPU's runtime stops answering before its rank joins", []string{"node", "gpu"}, nil, plantStall("runtime"), at("a call that stalls")},
	{"stuck_init", "stuck_init:node=3,gpu=5", "a GPU's rank never joins a communicator: the call does not return", []string{"node", "gpu"}, nil, plantStall("init"), at("a call that stalls")},
	{"stuck_abort", "stuck_abort:node=3,gpu=5", "the abort of a GPU's communicator does not return", []string{"node", "gpu"}, nil, plantStall("abort"), at("a call that stalls")},
	{"missing_rank", "missing_rank:node=3,gpu=5", "a GPU's contribution is not in the result", []string{"node", "gpu"}, nil, plantData("missing"), at("wrong data")},
	{"doubled_rank", "doubled_rank:node=3,gpu=5", "a GPU's contribution is in the result twice", []string{"node", "gpu"}, nil, plantData("doubled"), at("wrong data")},
	{"swapped_blocks", "swapped_blocks:node=3,gpu=5", "two halves of a GPU's result change places", []string{"node", "gpu"}, nil, plantData("swapped"), at("wrong data")},
	{"stale_buffer", "stale_buffer:node=3,gpu=5", "a GPU's receive buffer is not written", []string{"node", "gpu"}, nil, plantData("stale"), at("wrong data")},
	{"corrupt", "corrupt:node=3,gpu=5,index=1000", "one element of a GPU's result has a bit flipped", []string{"node", "gpu", "index"}, nil, plantData("corrupt"), at("wrong data")},
}

// Faults returns the table, in listing order. The slice is the caller's.
func Faults() []Fault { return slices.Clone(faults) }

func faultIndex(name string) int {
	return spell.Index(faults, name, func(f Fault) (string, []string) { return f.Name, nil })
}

// SpellFault writes a fault's name as the table has it; an unknown one stays.
func SpellFault(text string) string {
	name, _, _ := strings.Cut(text, ":")
	if i := faultIndex(name); i >= 0 {
		return faults[i].Name + strings.TrimPrefix(text, name)
	}
	return text
}

// plant reads one fault, name:key=value,…, and puts it into the machine. The
// error says which key is wrong and shows the form.
func plant(text string, m *Machine, d *damage) error {
	name, rest, _ := strings.Cut(text, ":")
	i := faultIndex(name)
	if i < 0 {
		unknown := &spell.Unknown{Kind: "fault", Given: name}
		for _, f := range faults {
			unknown.Valid = append(unknown.Valid, f.Name)
		}
		return unknown
	}
	f := faults[i]
	v, err := readValues(rest, f.keys, f.more)
	if err == nil {
		err = inWorld(v, m.World)
	}
	if err == nil {
		if clash := d.clash(text, f.place(v)); clash != nil {
			return fmt.Errorf("fault %q: %w", text, clash)
		}
	}
	if err == nil {
		err = f.plant(v, m, d)
	}
	if err != nil {
		return fmt.Errorf("fault %q: %w; the form is %s", text, err, f.Form)
	}
	return nil
}

func readValues(text string, keys, more []string) (faultValues, error) {
	v := faultValues{}
	for part := range strings.SplitSeq(text, ",") {
		key, value, _ := strings.Cut(part, "=")
		n, err := strconv.ParseFloat(value, 64)
		if err != nil || !(n >= 0) || n > 1e18 {
			return nil, fmt.Errorf("%q is not key=number", part)
		}
		if _, twice := v[key]; twice {
			return nil, fmt.Errorf("%s is given twice", key)
		}
		v[key] = n
	}
	given := slices.Sorted(maps.Keys(v))
	all := slices.Concat(keys, more)
	switch {
	case slices.Equal(given, slices.Sorted(slices.Values(keys))), slices.Equal(given, slices.Sorted(slices.Values(all))):
		return v, nil
	case len(more) == 0:
		return nil, fmt.Errorf("the keys are %s", strings.Join(keys, ", "))
	}
	return nil, fmt.Errorf("the keys are %s; %s go together", strings.Join(all, ", "), strings.Join(more, " and "))
}

// leastLeft is the least share of a bandwidth: with less times have no end.
const leastLeft = 1e-6

// inWorld checks places and shares.
func inWorld(v faultValues, w spec.World) error {
	limits := map[string]int{"node": w.Nodes, "gpu": w.GPUsPerNode, "a": w.GPUsPerNode, "b": w.GPUsPerNode, "rail": w.GPUsPerNode}
	for key, n := range v {
		if limit, place := limits[key]; place && (n != float64(int(n)) || int(n) >= limit) {
			return fmt.Errorf("%s is 0 to %d", key, limit-1)
		}
		if (key == "left" || key == "part") && (n > 1 || key == "left" && n < leastLeft) {
			return fmt.Errorf("%s is a share, above 0 and at most 1", key)
		}
		if from, given := v["from"]; given && from > v["to"] {
			return fmt.Errorf("from is at most to")
		}
		if key == "times" && n == 0 || key == "sigma" && n > 0.2 {
			return fmt.Errorf("%s is out of range", key)
		}
	}
	return nil
}

func (m *Machine) fault(format string, args ...any) error {
	m.Faults = append(m.Faults, fmt.Sprintf(format, args...))
	return nil
}

func plantLateNode(v faultValues, m *Machine, _ *damage) error {
	for gpu := range m.GPUsPerNode {
		if err := m.fault("late %d %g", int(v["node"])*m.GPUsPerNode+gpu, v["seconds"]); err != nil {
			return err
		}
	}
	return nil
}

func plantSlowLink(v faultValues, m *Machine, d *damage) error {
	if v["a"] == v["b"] {
		return fmt.Errorf("a link has two ends")
	}
	first := int(v["node"]) * m.GPUsPerNode
	d.links = append(d.links, linkDamage{first + int(v["a"]), first + int(v["b"]), v["left"]})
	return nil
}

func plantRail(v faultValues, _ *Machine, d *damage) error {
	d.slow(int(v["node"]), int(v["rail"]), v["left"]) // 0, without the key: the rail is dead
	return nil
}

func plantStall(call string) func(faultValues, *Machine, *damage) error {
	return func(v faultValues, m *Machine, _ *damage) error {
		return m.fault("stall %s %d", call, v.rank(m))
	}
}

func plantData(kind string) func(faultValues, *Machine, *damage) error {
	return func(v faultValues, m *Machine, _ *damage) error {
		return m.fault("data %s %d %d", kind, v.rank(m), int(v["index"]))
	}
}
