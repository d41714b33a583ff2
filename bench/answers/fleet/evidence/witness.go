package evidence

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"zbench/bench/answers/fleet/nodescreen"
	"zbench/bench/answers/fleet/rails"
	"zbench/bench/run/record"
)

// Fact is a statement of a node's topology about a component.
type Fact struct {
	Component rails.Component
	// Code is the finding's code, equal on all nodes.
	Code string
	Says string
	// Bad is true for a fault or a contradiction, and false for a doubt.
	Bad bool
}

// Topologies holds the topologies of nodes. Facts holds the facts of each node. Nodes is the number of
// nodes with a known topology.
type Topologies struct {
	Facts map[int][]Fact
	Nodes int
}

// Claims makes one claim per component. Facts that most nodes share are left out, because they explain no
// difference between nodes. Several doubts about one component become one claim.
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

// `joined` adds a claim. Claims of one source for one component become one claim, with the strongest weight
// and all reasons.
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

// Screens holds the nodes' screens. Each node was measured alone and compared with the other nodes.
type Screens struct {
	Document *nodescreen.Document
	// Names are the nodes' names. GPUs is the number of GPUs per node.
	Names []string
	GPUs  int
	// Rail returns the GPU that has this NIC as its rail, −1 if unknown. If Rail is nil, no rail is known.
	Rail func(node int, nic string) int
}

// `screened` are the rules of a screen that name a node, with their weights. Other rules concern a
// NIC or a GPU's memory, or do not explain slowness.
var screened = map[string]int{"no_report": Strong, "gpus": Strong, "error": Strong, "nic_count": Medium, "collective": Weak, "own_check": Weak}

// Claims makes claims of findings. It also makes claims that clear the GPUs and links of nodes whose own
// collective was healthy.
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

// claim returns the claim of a finding; false if the finding says nothing about bandwidth.
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
		return Claim{Screen, rails.Component{Part: rails.Node, Node: node}, Weak, says}, true // some rail of the node
	}
	weight, known := screened[f.Rule]
	return Claim{Screen, rails.Component{Part: rails.Node, Node: node}, weight, says}, known
}

func (s Screens) node(host string) int { return NodeOf(s.Names, host) }

// NodeOf returns the index of a host among names, −1 if names does not have the host. A name matches with
// and without its domain.
func NodeOf(names []string, host string) int {
	if i := slices.Index(names, host); i >= 0 {
		return i
	}
	return slices.IndexFunc(names, func(name string) bool { return host != "" && nodescreen.SameHost(name, host) })
}

// Services is an answer of RCCL's RAS service with the fleet that it may describe. Names are the names of
// the nodes. GPUs is the number of GPUs per node; 0 if nodes were measured as a whole.
type Services struct {
	Answer *record.Witness
	Names  []string
	GPUs   int
}

// Claims returns claims about the GPUs whose ranks or processes the service singles out, or about a node if
// the service singles out most of its GPUs. The host in the answer counts, because ranks may be numbered in
// another order than nodes. A rank without a known host is placed by the order of ranks, if the
// communicator is as large as the fleet. strange lists the ranks on no node of the fleet.
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

// place returns the node of a rank, −1 if it is not in the fleet, and the rank's GPUs on that node.
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

// gpusOf reads "6", "4,5" and "7 (NVML 5)", where 5 is the number on the host and 7 is the number in the
// process.
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

// OfNodes returns claims for fleets whose nodes were measured as a whole. A claim for a part becomes a
// claim for the node. A claim against a part is dropped.
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
