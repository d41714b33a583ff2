package evidence

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"zbench/bench/fleet/nodescreen"
	"zbench/bench/fleet/rails"
	"zbench/bench/record"
)

// Fact is what a node's topology says of a component.
type Fact struct {
	Component rails.Component
	// Code is the finding's, the same on all nodes.
	Code string
	Says string
	// Bad is a fault or a contradiction; otherwise it is a doubt.
	Bad bool
}

// Topologies are the topologies of nodes. Facts are by node; Nodes is the number of nodes
// whose topology is known.
type Topologies struct {
	Facts map[int][]Fact
	Nodes int
}

// Claims makes one claim for each component. What most nodes have in common explains no
// difference between them, and doubts count once.
func (t Topologies) Claims() []Claim {
	on := map[string]int{}
	for _, facts := range t.Facts {
		seen := map[string]bool{}
		for _, f := range facts {
			seen[f.Code] = true
		}
		for code := range seen {
			on[code]++
		}
	}
	var out []Claim
	for _, node := range slices.Sorted(maps.Keys(t.Facts)) {
		for _, f := range t.Facts[node] {
			if t.Nodes > 2 && 2*on[f.Code] > t.Nodes {
				continue
			}
			weight := Weak
			if f.Bad {
				weight = Strong
			}
			out = joined(out, Claim{Topology, f.Component, weight, f.Says})
		}
	}
	return out
}

// joined adds a claim to those of the same source for the same component: the strongest
// counts, and all say why.
func joined(all []Claim, c Claim) []Claim {
	i := slices.IndexFunc(all, func(o Claim) bool {
		return o.Source == c.Source && o.Component == c.Component && (o.Weight > 0) == (c.Weight > 0)
	})
	if i < 0 {
		return append(all, c)
	}
	all[i].Weight, all[i].Says = max(all[i].Weight, c.Weight), all[i].Says+"; "+c.Says
	return all
}

// Screens are the nodes' screens: each node alone, compared with the others.
type Screens struct {
	Document *nodescreen.Document
	// Names are the names of the fleet's nodes, GPUs the number on each.
	Names []string
	GPUs  int
	// Rail is the GPU whose rail a NIC is, −1 where that is not known; nil knows none.
	Rail func(node int, nic string) int
}

// screened are the rules of a screen that name a node, and their weights. What is not here
// is a NIC's, a GPU's memory, or no reason to be slow.
var screened = map[string]int{"no_report": Strong, "gpus": Strong, "error": Strong, "nic_count": Medium, "collective": Weak, "own_check": Weak}

// Claims makes claims of findings, and speaks against GPUs and links of nodes whose own
// collective was well.
func (s Screens) Claims() []Claim {
	var out []Claim
	slow := map[string]bool{}
	for _, f := range s.Document.Findings {
		node := s.node(f.Host)
		if f.Unclear || node < 0 {
			continue
		}
		slow[f.Host] = slow[f.Host] || f.Rule == "collective" || f.Rule == "error"
		if c, ok := s.claim(node, f); ok {
			out = joined(out, c)
		}
	}
	for _, n := range s.Document.Reports {
		node := s.node(n.Host)
		if node < 0 || n.Collective == nil || n.Collective.Rate == nil || slow[n.Host] {
			continue
		}
		const says = "a collective over the node's own GPUs is not slow"
		for a := range max(s.GPUs, len(n.GPUs)) {
			out = append(out, Claim{Screen, rails.Component{Part: rails.GPU, Node: node, A: a}, -Weak, says})
			for b := range a {
				out = append(out, Claim{Screen, rails.Component{Part: rails.Link, Node: node, A: b, B: a}, -Weak, says})
			}
		}
	}
	return out
}

// claim is that of a finding; false if it says nothing about bandwidth.
func (s Screens) claim(node int, f nodescreen.Deviation) (Claim, bool) {
	says := f.Subject + ": " + f.Message
	switch f.Rule {
	case "memory":
		var gpu int
		if _, err := fmt.Sscanf(f.Subject, "GPU %d", &gpu); err != nil {
			return Claim{}, false
		}
		return Claim{Screen, rails.Component{Part: rails.GPU, Node: node, A: gpu}, Strong, says}, true
	case "nic_state", "nic_rate", "nic_collective":
		if s.Rail != nil {
			if rail := s.Rail(node, f.Subject); rail >= 0 {
				return Claim{Screen, rails.Component{Part: rails.Rail, Node: node, A: rail}, Strong, says}, true
			}
		}
		return Claim{Screen, rails.Component{Part: rails.Node, Node: node}, Weak, says}, true // some rail of it
	}
	weight, known := screened[f.Rule]
	return Claim{Screen, rails.Component{Part: rails.Node, Node: node}, weight, says}, known
}

func (s Screens) node(host string) int { return NodeOf(s.Names, host) }

// NodeOf is the index of a host among names, −1 if it is none of them. A name with its
// domain and one without are the same host.
func NodeOf(names []string, host string) int {
	if i := slices.Index(names, host); i >= 0 {
		return i
	}
	return slices.IndexFunc(names, func(name string) bool { return host != "" && nodescreen.SameHost(name, host) })
}

// Services is an answer of RCCL's RAS service, and the fleet that it may be of: the names of the nodes, and the GPUs of
// each, 0 where nodes were measured as one.
type Services struct {
	Answer *record.Witness
	Names  []string
	GPUs   int
}

// Claims are of the GPUs whose ranks or processes the service singles out, or of the node where most of its GPUs are.
// The host that the answer prints counts: ranks may be numbered in another order than nodes. A rank whose host it does
// not know stands where the order of ranks puts it, if the communicator is as large as the fleet. strange are those
// that are on no node of the fleet.
func (s Services) Claims() (claims []Claim, strange []string) {
	if s.Answer == nil || s.Answer.State == record.WitnessAbsent {
		return nil, nil
	}
	perNode := map[int][]Claim{}
	for _, r := range s.Answer.Ranks {
		node, gpus := s.place(r)
		if node < 0 {
			strange = append(strange, r.Text())
			continue
		}
		weight := Strong
		if r.State == record.RankBehind || r.State == record.RankDiffers {
			weight = Medium
		}
		says := r.Text()
		if r.Host == "" {
			says += " (placed by the order of ranks: its host is unknown)"
		}
		for _, gpu := range gpus {
			perNode[node] = joined(perNode[node], Claim{RAS, rails.Component{Part: rails.GPU, Node: node, A: gpu}, weight, says})
		}
		if len(gpus) == 0 {
			claims = joined(claims, Claim{RAS, rails.Component{Part: rails.Node, Node: node}, weight, says})
		}
	}
	for _, node := range slices.Sorted(maps.Keys(perNode)) {
		of := perNode[node]
		if s.GPUs < 2 || float64(len(of)) < mostOfRail*float64(s.GPUs) {
			claims = append(claims, of...)
			continue
		}
		strongest := slices.MaxFunc(of, func(a, b Claim) int { return cmp.Compare(a.Weight, b.Weight) })
		claims = append(claims, Claim{RAS, rails.Component{Part: rails.Node, Node: node}, strongest.Weight, fmt.Sprintf("%d of its %d GPUs are singled out; %s", len(of), s.GPUs, strongest.Says)})
	}
	return claims, strange
}

// place is the node of a rank, −1 for none of the fleet, and its GPUs there.
func (s Services) place(r record.WitnessRank) (node int, gpus []int) {
	if r.Host != "" {
		return NodeOf(s.Names, r.Host), gpusOf(r.GPU)
	}
	fleet := s.GPUs * len(s.Names)
	ofFleet := len(s.Answer.Communicators) == 0 || slices.ContainsFunc(s.Answer.Communicators, func(c record.WitnessComm) bool {
		return c.Ranks == fleet && (c.ID == "" || c.ID == r.Communicator)
	})
	if r.Rank == nil || *r.Rank < 0 || *r.Rank >= fleet || !ofFleet {
		return -1, nil
	}
	return *r.Rank / s.GPUs, []int{*r.Rank % s.GPUs}
}

// gpusOf reads "6", "4,5" and "7 (NVML 5)", where 5 is the number on the host and 7 the number in the process.
func gpusOf(text string) []int {
	if _, host, ok := strings.Cut(text, "(NVML "); ok {
		text = strings.TrimSuffix(host, ")")
	}
	var out []int
	for field := range strings.SplitSeq(text, ",") {
		if n, err := strconv.Atoi(strings.TrimSpace(field)); err == nil && n >= 0 {
			out = append(out, n)
		}
	}
	return out
}

// OfNodes are claims for fleets whose nodes were measured as one: what is said of a part is said of the node. What
// speaks against a part says nothing of its node.
func OfNodes(claims []Claim) []Claim {
	var out []Claim
	for _, c := range claims {
		if c.Weight > 0 && c.Component.Part != rails.Leaf {
			c.Component = rails.Component{Part: rails.Node, Node: c.Component.Node}
			out = joined(out, c)
		}
	}
	return out
}
