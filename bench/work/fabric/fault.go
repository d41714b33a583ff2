package fabric

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"zbench/bench/base/pattern"
	"zbench/bench/base/slice"
	"zbench/bench/base/spell"
	"zbench/bench/run/spec"
)

// Fault is a kind of fault that can be planted, as a row of the table.
type Fault struct {
	// Name is the first word of the fault's text form. Form is an example with all keys.
	Name, Form string
	// Does describes the effect in one line.
	Does string
	// plant adds the fault to the machine, or to the damage, which reduces bandwidths.
	plant planting
	// place names the broken component. Two faults must not break the same component.
	place func(v faultValues) string
	// The list `more` has optional keys, all of which must be given together.
	more []string
	// collectives is true if the loopback only plants the fault in collectives.
	collectives bool
}

// planting adds a fault with the values of its keys to a machine.
type planting func(v faultValues, m *Machine, d *damage) error

// keys returns the keys that must be given.
func (f *Fault) keys() []string {
	var out []string
	_, rest, _ := strings.Cut(f.Form, ":")
	for part := range strings.SplitSeq(rest, ",") {
		if key, _, _ := strings.Cut(part, "="); !slices.Contains(f.more, key) && !slices.Contains(options[f.Name], key) {
			out = append(out, key)
		}
	}
	return out
}

// faultValues holds the numbers of a fault by key: seconds, bytes, counts, shares.
type faultValues map[string]float64

// rank returns the rank of the GPU that the keys node and gpu name.
func (v faultValues) rank(m *Machine) int { return int(v["node"])*m.GPUsPerNode + int(v["gpu"]) }

// damage holds the remaining shares of the bandwidths that faults reduce.
type damage struct {
	links []linkDamage
	rails map[[2]int]float64 // by node, rail
	// crossed is the NIC that a GPU uses instead of its own, by node and GPU.
	crossed map[[2]int]int
	// The map taken has the fault that breaks each component.
	taken map[string]string
}

type linkDamage struct {
	a, b  int // ranks
	share float64
}

// whenData are the keys that restrict when data are wrong. With part, data are wrong in this share
// of the launches. With first=1, data are wrong only in the first launch of each communicator. With
// launch, data are wrong from this launch of a communicator on, counted from 0. With env, data are
// wrong only in processes in whose environment the variable has this value (env=NCCL_ALGO:Ring).
var whenData = []string{"part", "first", "launch", environmentKey}

// environmentKey is the only key whose value is not a number: NAME:VALUE.
const environmentKey = "env"

var variable = pattern.New(`^([A-Za-z_][A-Za-z0-9_]{0,62}):([A-Za-z0-9_.+-]{1,63})$`)

// environment removes the variable from the keys of a fault. The result set has the variable's name
// and value in the form of the machine file.
func environment(text string, f *Fault) (rest, set string, err error) {
	keys := strings.Split(text, ",")
	i := slices.IndexFunc(keys, func(key string) bool { return strings.HasPrefix(key, environmentKey+"=") })
	if i < 0 || !slices.Contains(options[f.Name], environmentKey) {
		return text, "", nil
	}
	m := variable.FindStringSubmatch(strings.TrimPrefix(keys[i], environmentKey+"="))
	if m == nil {
		return text, "", fmt.Errorf("%q is not %s=NAME:VALUE, of letters, digits, dots, dashes and +", keys[i], environmentKey)
	}
	return strings.Join(slices.Delete(keys, i, i+1), ","), " " + m[1] + " " + m[2], nil
}

// options are keys that may be omitted one by one, for each fault. The default is 0, or 1 for part.
var options = map[string][]string{
	"missing_rank": whenData, "doubled_rank": whenData, "swapped_blocks": whenData, "stale_buffer": whenData, "corrupt": whenData,
	"stale_send": append([]string{"across", "copied", "urgent"}, whenData...),
}

var faults = []Fault{
	{"late_gpu", "late_gpu:node=3,gpu=5,seconds=2e-5", "a GPU reaches every collective late", line("late", "rank", "seconds"), at("late GPU %g of node %g", "gpu", "node"), nil, false},
	{"late_node", "late_node:node=3,seconds=2e-5", "all GPUs of a node are late", plantLateNode, at("late node %g", "node"), nil, false},
	{"slow_link", "slow_link:node=3,a=1,b=2,left=0.5", "the xGMI link between two GPUs has that share of its bandwidth left", plantSlowLink, between("link"), nil, false},
	{"slow_rail", "slow_rail:node=3,rail=2,left=0.5", "a node's NIC has that share of its bandwidth left", plantRail, railPlace, nil, false},
	{"dead_rail", "dead_rail:node=3,rail=2", "a node's NIC is down; its traffic takes the others", plantRail, railPlace, nil, false},
	{"crossed_rails", "crossed_rails:node=3,a=1,b=2", "two GPUs of a node send through each other's NIC: counters of NICs show it, times do not", plantCrossed, between("crossed rails"), nil, false},
	{"slow_gpu", "slow_gpu:node=3,gpu=5,left=0.5", "all xGMI links of a GPU and its NIC have that share of their bandwidth left", plantSlowGPU, at("slow GPU %g of node %g", "gpu", "node"), nil, false},
	{"slow_node", "slow_node:node=3,left=0.5", "all xGMI links and NICs of a node have that share of their bandwidth left", plantSlowNode, at("slow node %g", "node"), nil, false},
	{"slow_leaf", "slow_leaf:rail=2,leaf=1,nodes=2,left=0.5", "a rail's leaf switch is slow for the nodes behind it, so many of them; without leaf and nodes for every node", plantLeaf, leafPlace, []string{"leaf", "nodes"}, false},
	{"slow_hbm", "slow_hbm:node=3,gpu=5,left=0.85", "a GPU's memory has that share of its bandwidth left", line("hbm", "rank", "left"), at("the memory of GPU %g of node %g", "gpu", "node"), nil, false},
	{"slow_compute", "slow_compute:node=3,gpu=5,left=0.85", "a GPU's compute units have that share of their rate left: its matrix products take longer", line("kernels", "rank", "slowed"), at("slow compute units"), nil, false},
	{"flaky_link", "flaky_link:node=3,part=0.1,times=4", "that part of the launches that touch the node takes so many times as long", line("flaky", "begin", "gpus", "part", "times"), at("a flaky link"), nil, false},
	{"contention", "contention:part=0.3,times=3,launches=8", "other jobs are on the network for that part of the time: so many launches between nodes in a row take so many times as long", line("contention", "gpus", "part", "times", "launches"), at("contention"), nil, false},
	{"beside", "beside:times=1.2", "kernels take so many times as long while a collective runs on their GPU, but for those that only wait", plantBeside, at("kernels beside collectives"), nil, false},
	{"dip", "dip:from=1e6,to=4e6,times=2", "sizes in that range, in bytes, take so many times as long", line("dip", "from", "to", "times"), at("a dip"), nil, false},
	{"noise", "noise:sigma=0.05", "launches vary by that standard deviation, relative", plantNoise, at("noise"), nil, false},
	{"hang", "hang:node=3,gpu=5,bytes=1e6,launch=7", "a GPU never enters that launch of a case of at least so many bytes", line("hang", "rank", "bytes", "launch"), at("a hang"), nil, false},
	{"async_error", "async_error:node=3,gpu=5,bytes=1e6,launch=7", "the library reports an asynchronous error there", line("async", "rank", "bytes", "launch"), at("an asynchronous error"), nil, true},
	{"stuck_gpu", "stuck_gpu:node=3,gpu=5", "a GPU's runtime stops answering before its rank joins", line("stall runtime", "rank"), at("a call that stalls"), nil, false},
	{"stuck_init", "stuck_init:node=3,gpu=5", "a GPU's rank never joins a communicator: the call does not return", line("stall init", "rank"), at("a call that stalls"), nil, false},
	{"stuck_abort", "stuck_abort:node=3,gpu=5", "the abort of a GPU's communicator does not return", line("stall abort", "rank"), at("a call that stalls"), nil, false},
	{"missing_rank", "missing_rank:node=3,gpu=5", "a GPU's contribution is not in the result", line("data missing", "rank", "index", "when"), at("wrong data"), nil, true},
	{"doubled_rank", "doubled_rank:node=3,gpu=5", "a GPU's contribution is in the result twice", line("data doubled", "rank", "index", "when"), at("wrong data"), nil, true},
	{"swapped_blocks", "swapped_blocks:node=3,gpu=5", "two halves of a GPU's result change places", line("data swapped", "rank", "index", "when"), at("wrong data"), nil, true},
	{"stale_buffer", "stale_buffer:node=3,gpu=5", "a GPU's receive buffer is not written", line("data stale", "rank", "index", "when"), at("wrong data"), nil, true},
	{"corrupt", "corrupt:node=3,gpu=5,index=1000", "one element of a GPU's result has a bit flipped", line("data corrupt", "rank", "index", "when"), at("wrong data"), nil, true},
	{"stale_send", "stale_send:node=3,gpu=5,first=1,part=0.35", "a GPU sends what its buffer held before the last kernel or copy that wrote it; with across=1 only if another stream wrote it, with copied=1 only if a copy did, with urgent=1 only if the collective is on a stream of high priority", line("data stale_send", "rank", "index", "when"), at("wrong data"), nil, true},
}

// InCollectives reports whether the loopback plants a fault, such as corrupt:node=0,gpu=1, only in
// collectives. Messages between pairs are not affected, so an OK for them would mean nothing.
func InCollectives(fault string) bool {
	name, _, _ := strings.Cut(fault, ":")
	f, err := faultOf(name)
	return err == nil && f.collectives
}

// Faults returns a copy of the table, in listing order.
func Faults() []Fault { return slices.Clone(faults) }

func faultOf(name string) (Fault, error) {
	return spell.Find("fault", faults, name, func(f Fault) (string, []string) { return f.Name, nil })
}

// SpellFault returns a fault with its name in the table's spelling. It does not change unknown
// names.
func SpellFault(text string) string {
	name, _, _ := strings.Cut(text, ":")
	if f, err := faultOf(name); err == nil {
		return f.Name + strings.TrimPrefix(text, name)
	}
	return text
}

// plant reads one fault, name:key=value,…, and adds it to the machine. The error names the wrong
// key and shows the form.
func plant(text string, m *Machine, d *damage) error {
	name, rest, _ := strings.Cut(text, ":")
	f, err := faultOf(name)
	if err != nil {
		return err
	}
	var v faultValues
	rest, set, err := environment(rest, &f)
	if err == nil {
		v, err = readValues(rest, f.keys(), f.more, options[f.Name])
	}
	if err == nil {
		err = inWorld(v, m.World)
	}
	if err == nil {
		place := f.place(v)
		if other, taken := d.taken[place]; taken {
			return fmt.Errorf("fault %q: %s is planted already, by %q: leave one of the two out", text, place, other)
		}
		d.taken[place] = text
	}
	if err == nil {
		err = f.plant(v, m, d)
	}
	if err != nil {
		return fmt.Errorf("fault %q: %w; the form is %s", text, err, f.Form)
	}
	if set != "" {
		m.Faults[len(m.Faults)-1] += set
	}
	return nil
}

func readValues(text string, keys, more, each []string) (faultValues, error) {
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
	given := slices.DeleteFunc(slices.Sorted(maps.Keys(v)), func(key string) bool { return slices.Contains(each, key) })
	all := slices.Concat(keys, more)
	switch {
	case slices.Equal(given, slices.Sorted(slices.Values(keys))), slices.Equal(given, slices.Sorted(slices.Values(all))):
		return v, nil
	case len(each) > 0:
		return nil, fmt.Errorf("the keys are %s, and as wanted %s", strings.Join(keys, ", "), strings.Join(each, ", "))
	case len(more) == 0:
		return nil, fmt.Errorf("the keys are %s", strings.Join(keys, ", "))
	}
	return nil, fmt.Errorf("the keys are %s; %s go together", strings.Join(all, ", "), strings.Join(more, " and "))
}

// leastLeft is the smallest remaining share of a bandwidth. With a smaller share, times would be
// endless.
const leastLeft = 1e-6

// inWorld checks that places and shares are within range.
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
		if slices.Contains([]string{"across", "copied", "urgent", "first"}, key) && n != 0 && n != 1 {
			return fmt.Errorf("%s is 0 or 1", key)
		}
		if key == "times" && n == 0 || key == "launches" && n < 1 || key == "sigma" && n > 0.2 {
			return fmt.Errorf("%s is out of range", key)
		}
	}
	return nil
}

// line returns a planting that adds a line to the machine file: the words, then the values of the
// keys. Besides the fault's own keys, line knows rank (the rank of node and gpu), begin (the first
// rank of the node), gpus (the node's number of GPUs), slowed (the slowdown that follows from the
// remaining share), and the keys that restrict when data are wrong.
func line(words string, keys ...string) planting {
	return func(v faultValues, m *Machine, _ *damage) error {
		text := []any{words}
		for _, key := range keys {
			switch key {
			case "rank":
				text = append(text, v.rank(m))
			case "begin":
				text = append(text, int(v["node"])*m.GPUsPerNode)
			case "gpus":
				text = append(text, m.GPUsPerNode)
			case "slowed":
				text = append(text, 1/v["left"])
			case "when":
				part, given := v["part"]
				if !given {
					part = 1
				}
				text = append(text, part, int(v["first"]), int(v["launch"]), int(v["across"])+2*int(v["copied"])+4*int(v["urgent"]))
			case "launches":
				text = append(text, math.Floor(v[key]))
			case "launch", "index":
				text = append(text, int(v[key]))
			default:
				text = append(text, v[key])
			}
		}
		m.Faults = append(m.Faults, strings.TrimSuffix(fmt.Sprintln(text...), "\n"))
		return nil
	}
}

func plantLateNode(v faultValues, m *Machine, _ *damage) error {
	for gpu := range m.GPUsPerNode {
		m.Faults = append(m.Faults, fmt.Sprintf("late %d %g", int(v["node"])*m.GPUsPerNode+gpu, v["seconds"]))
	}
	return nil
}

func plantBeside(v faultValues, m *Machine, d *damage) error {
	if v["times"] < 1 {
		return errors.New("times is out of range")
	}
	return line("beside", "times")(v, m, d)
}

func plantNoise(v faultValues, m *Machine, _ *damage) error {
	m.Host.Noise = v["sigma"]
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
	d.slow(int(v["node"]), int(v["rail"]), v["left"]) // without the key, left is 0 and the rail is dead
	return nil
}

// plantSlowGPU slows all links of a GPU, and its rail.
func plantSlowGPU(v faultValues, m *Machine, d *damage) error {
	first := int(v["node"]) * m.GPUsPerNode
	for other := range m.GPUsPerNode {
		if other != int(v["gpu"]) {
			d.links = append(d.links, linkDamage{first + int(v["gpu"]), first + other, v["left"]})
		}
	}
	d.slow(int(v["node"]), int(v["gpu"]), v["left"])
	return nil
}

// plantSlowNode slows all links and rails of a node.
func plantSlowNode(v faultValues, m *Machine, d *damage) error {
	node := int(v["node"])
	first := node * m.GPUsPerNode
	for a := range m.GPUsPerNode {
		for b := range a {
			d.links = append(d.links, linkDamage{first + b, first + a, v["left"]})
		}
		d.slow(node, a, v["left"])
	}
	return nil
}

// slow stores the remaining share of a rail. If several faults slow the rail, the smallest share
// counts.
func (d *damage) slow(node, rail int, left float64) {
	at := [2]int{node, rail}
	before, hit := d.rails[at]
	if !hit {
		before = 1
	}
	d.rails[at] = min(before, left)
}

// plantCrossed makes two GPUs of a node send through each other's NIC.
func plantCrossed(v faultValues, m *Machine, d *damage) error {
	node, a, b := int(v["node"]), int(v["a"]), int(v["b"])
	if a == b {
		return fmt.Errorf("a and b are two GPUs")
	}
	if m.Nodes < 2 {
		return fmt.Errorf("rails are used between nodes: the world has one")
	}
	for _, gpu := range []int{a, b} {
		if _, hit := d.crossed[[2]int{node, gpu}]; hit {
			return fmt.Errorf("GPU %d of node %d is crossed already", gpu, node)
		}
	}
	d.crossed[[2]int{node, a}], d.crossed[[2]int{node, b}] = b, a
	return nil
}

// leafNodes returns the first and the last node behind a leaf switch. If the fault does not number
// its leaf, it returns all nodes of the world.
func leafNodes(v faultValues, nodes int) (from, to int) {
	each, given := v["nodes"]
	if !given {
		return 0, nodes
	}
	from = int(v["leaf"]) * int(each)
	return from, min(from+int(each), nodes)
}

func plantLeaf(v faultValues, m *Machine, d *damage) error {
	if each, given := v["nodes"]; given {
		if each < 1 || each > float64(m.Nodes) || each != float64(int(each)) {
			return fmt.Errorf("nodes is 1 to %d", m.Nodes)
		}
		if last := (m.Nodes - 1) / int(each); v["leaf"] > float64(last) || v["leaf"] != float64(int(v["leaf"])) {
			return fmt.Errorf("leaf is 0 to %d", last)
		}
	}
	from, to := leafNodes(v, m.Nodes)
	for node := from; node < to; node++ {
		d.slow(node, int(v["rail"]), v["left"])
	}
	return nil
}

// leafPlace names one leaf switch of a rail, or the only leaf switch.
func leafPlace(v faultValues) string {
	if each, given := v["nodes"]; given {
		return fmt.Sprintf("leaf switch %g of rail %g with %g nodes each", v["leaf"], v["rail"], each)
	}
	return fmt.Sprintf("the leaf switch of rail %g", v["rail"])
}

// Function `at` returns a function that names the component that a fault breaks. The name has the
// values of the keys. Two faults must not name the same component: the loopback would use only the
// last one, but the record would name both. A format without keys allows only one fault of its
// kind. A late GPU and its late node are two components; their times add up.
func at(format string, keys ...string) func(faultValues) string {
	return func(v faultValues) string {
		return fmt.Sprintf(format, slice.Map(keys, func(key string) any { return v[key] })...)
	}
}

var railPlace = at("rail %g of node %g", "rail", "node")

// Function `between` returns a function that names the component between two GPUs of a node. The
// order of the GPUs does not matter.
func between(what string) func(faultValues) string {
	return func(v faultValues) string {
		return fmt.Sprintf("the %s of GPUs %g and %g of node %g", what, min(v["a"], v["b"]), max(v["a"], v["b"]), v["node"])
	}
}
