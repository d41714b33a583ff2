package topo

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"zbench/bench/answers/judge"
	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/run/record"
)

// rules are the rules that judge a node. A new rule is one row.
var rules = []func(*Node){
	(*Node).kfdTrouble, (*Node).kfdDenied, (*Node).slotsWithoutKFD, (*Node).partitionsDiffer, (*Node).hives, (*Node).gpuPCIe, (*Node).gpuErrors,
	(*Node).notRDMA, (*Node).ports, (*Node).rates, (*Node).mtus, (*Node).gids, (*Node).linkDowns, (*Node).portErrors, (*Node).alike,
	(*Node).rails, (*Node).compareXML, (*Node).notChecked, (*Node).corruption,
}

// judge makes the findings, the list of facts that were not checked, and the verdict.
func (n *Node) judge() {
	for _, rule := range rules {
		rule(n)
	}
	n.Verdict = n.verdict()
}

func (n *Node) verdict() string {
	if n.Empty() {
		return "no GPU and no RDMA NIC was found"
	}
	bad, doubts := n.count(Bad), n.count(Doubt)
	seen := plain.Count(len(n.GPUs), "GPU") + " and " + plain.Count(len(n.NICs), "RDMA NIC")
	switch {
	case bad > 0:
		return fmt.Sprintf("%s among %s; the first: %s", plain.Count(bad, "fault"), seen, n.first(Bad).Message)
	case doubts > 0:
		return fmt.Sprintf("no fault among %s; %s: %s", seen, plain.Count(doubts, "doubt"), n.first(Doubt).Message)
	}
	return "no fault among " + seen + ", as far as it could be checked"
}

func (n *Node) count(m Mark) int {
	return slice.Count(n.Findings, func(f Remark) bool { return f.Mark == m })
}

func (n *Node) first(m Mark) Remark {
	return n.Findings[slices.IndexFunc(n.Findings, func(f Remark) bool { return f.Mark == m })]
}

// numbered() returns a list of numbers as text, shortened if there are many.
func numbered(ids []int) string {
	words := slice.Map(ids, strconv.Itoa)
	if more := len(ids) - 8; more > 0 {
		words = append(words[:8], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(words, ", ")
}

// kfdTrouble reports nodes of KFD that cannot be read, and links to nodes that do not exist.
func (n *Node) kfdTrouble() {
	if n.kfd == nil {
		return
	}
	if len(n.kfd.broken) > 0 {
		n.find(Bad, "kfd_unreadable", "node", fmt.Sprintf("the properties of KFD node %s describe neither a CPU nor a GPU", numbered(n.kfd.broken)), "look at dmesg for amdgpu; a recorded tree may be incomplete: record it again")
	}
	var gone []int
	for _, node := range n.kfd.nodes {
		for _, l := range node.links {
			if !n.kfd.known(l.to) && !slices.Contains(gone, l.to) {
				gone = append(gone, l.to)
			}
		}
	}
	if len(gone) > 0 {
		slices.Sort(gone)
		n.find(Bad, "kfd_node_missing", "node", fmt.Sprintf("KFD nodes link to node %s, which is missing", numbered(gone)), "a GPU has left the topology: look at dmesg for amdgpu, and reboot the node")
	}
	seen, at := map[string]string{}, map[string]bool{}
	for _, g := range n.GPUs {
		if at[g.PCI] {
			n.find(Bad, "address_twice", g.PCI, fmt.Sprintf("KFD has two packages at the PCI address %s", g.PCI), "the tree was put together from two, or the driver is in trouble: look at dmesg for amdgpu")
		}
		at[g.PCI] = true
		if other := seen[g.UniqueID]; g.UniqueID != "" && other != "" {
			n.find(Bad, "unique_id_twice", g.PCI, fmt.Sprintf("GPUs %s and %s have the same unique_id %s", other, g.PCI, g.UniqueID), "the driver names one package twice: look at dmesg for amdgpu")
		}
		seen[g.UniqueID] = g.PCI
	}
}

// kfdDenied reports GPUs that the device cgroup does not allow. KFD lists them but answers EPERM.
// They are not missing.
func (n *Node) kfdDenied() {
	if !n.kfd.hides() {
		return
	}
	verb := " are"
	if len(n.kfd.denied) == 1 {
		verb = " is"
	}
	n.find(Note, "outside_cgroup", "node", fmt.Sprintf("%s outside this process's device cgroup (KFD node %s): present, and not readable from here", plain.Count(len(n.kfd.denied), "GPU partition")+verb, numbered(n.kfd.denied)), "")
	n.unchecked("GPUs outside the cgroup", "KFD answers EPERM for node "+numbered(n.kfd.denied), "run `zbench topo` with all GPUs of the node (Slurm: --gpus-per-node=8; container: all of /dev/dri)")
}

// slotsWithoutKFD reports GPUs on the bus that KFD does not know. Such GPUs cannot compute.
func (n *Node) slotsWithoutKFD() {
	if n.kfd == nil || n.kfd.hides() { // hidden GPUs cannot be told apart from missing GPUs
		return
	}
	for _, d := range n.slots {
		if n.gpu(d.address.String()) != nil {
			continue
		}
		n.find(Bad, "gpu_missing", d.address.String(), fmt.Sprintf("GPU %s is on the PCI bus (%s) and missing in KFD", d.address, cmp.Or(d.driver, "no driver")), "look at dmesg for amdgpu "+d.address.String()+"; the GPU may have failed to initialise, or another driver holds it")
	}
}

// partitionModes are the properties that must be equal for all packages of a node.
var partitionModes = []struct {
	what  string
	value func(GPU) string
}{
	{"number of partitions", func(g GPU) string {
		if g.Partitions == 0 {
			return ""
		}
		return fmt.Sprint(g.Partitions)
	}},
	{"compute partition mode", func(g GPU) string { return g.Compute }},
	{"memory partition mode", func(g GPU) string { return g.Memory }},
}

// partitionsDiffer compares the modes of the packages with each other.
func (n *Node) partitionsDiffer() {
	const hint = "a partition may lack a device file (Linux has 64 DRM render minors), or the modes were set differently: amd-smi partition"
	for _, m := range partitionModes {
		usual, odd, split := outliers(n.GPUs, m.value)
		if split != nil {
			n.find(Doubt, "partitions_differ", "node", fmt.Sprintf("the %s differs among the GPUs, without a majority: %s", m.what, strings.Join(split, ", ")), hint)
		}
		for _, g := range odd {
			n.find(Bad, "partitions_differ", g.PCI, fmt.Sprintf("the %s of GPU %s is %s; the others have %s", m.what, g.PCI, m.value(g), usual), hint)
		}
	}
}

// hives() checks the hives of the node: all GPUs of a hive are connected, and a hive has 2, 4, 8 or
// 16 GPUs.
func (n *Node) hives() {
	_, members := slice.Group(slice.Where(n.GPUs, func(g GPU) bool { return g.Hive != "" }), func(g GPU) string { return g.Hive })
	for _, hive := range sortedKeys(members) {
		gpus := slice.Map(members[hive], func(g GPU) string { return g.PCI })
		if !n.kfd.hides() && len(gpus) > 1 && !slices.Contains([]int{2, 4, 8, 16}, len(gpus)) {
			n.find(Bad, "hive_incomplete", "hive "+hive, fmt.Sprintf("the xGMI hive %s has %d GPUs; boards have 2, 4, 8 or 16", hive, len(gpus)), "a GPU of the board is missing: compare with lspci -d 1002: and look at dmesg")
		}
		n.pairs(gpus)
	}
}

// pairs() reports pairs of GPUs in a hive that have no link, if most pairs of the hive have one.
func (n *Node) pairs(gpus []string) {
	var without []string
	pairs := 0
	for i, a := range gpus {
		for _, b := range gpus[i+1:] {
			pairs++
			if !hasLink(n.Links, a, b) {
				without = append(without, a+between+b)
			}
		}
	}
	if len(without) == 0 || len(without)*2 > pairs { // boards of MI250 are not fully connected
		return
	}
	for _, pair := range without[:min(len(without), 8)] {
		n.find(Bad, "xgmi_link_missing", pair, fmt.Sprintf("GPUs %s of one hive have no xGMI link", pair), "traffic between the two takes PCIe: look at dmesg for xgmi, and reset the node")
	}
}

// corruption warns of known issues that can make data wrong with the node's NICs. If the tree does
// not have the environment of its jobs, the issues cannot be detected.
func (n *Node) corruption() {
	fact := func(name string) string {
		if f := find(n.Stack, func(f Fact) bool { return f.Name == name }); f != nil {
			return f.Value
		}
		return ""
	}
	f := judge.IssueFacts{ROCm: fact("ROCm"), Pollara: record.Pollara(n.Kinds())}
	if n.environ {
		f.Env = func(name string) string { return fact("env " + name) }
	}
	for _, k := range slice.Where(judge.IssuesOf(f), func(k judge.KnownIssue) bool { return k.Risk == judge.Corrupts }) {
		n.find(Doubt, k.ID, "node", k.What+": "+k.Cost+" ("+k.Source+")", k.Next)
	}
}

// outliers() compares values. Things without a value are left out. `usual` is the value that more
// than half of the rest have, and `odd` has the things with another value. Without such a majority
// `odd` is empty and `split` has the values, because it is unknown which value is right.
func outliers[T any](all []T, value func(T) string) (usual string, odd []T, split []string) {
	with := slice.Where(all, func(one T) bool { return value(one) != "" })
	split, of := slice.Group(with, value)
	if i := slices.IndexFunc(split, func(v string) bool { return 2*len(of[v]) > len(with) }); i >= 0 {
		usual = split[i]
		return usual, slice.Where(with, func(one T) bool { return value(one) != usual }), nil
	}
	slices.Sort(split)
	return "", nil, split
}
