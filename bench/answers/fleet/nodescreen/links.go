package nodescreen

import (
	"fmt"
	"strings"

	"zbench/bench/answers/fleet/rails"
	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/base/stat"
)

// linkRule compares the links between the GPUs of a node.
const linkRule = "link"

// linkKind names the kind of the node's messages. Messages of one kind are compared with each other.
func (n *Node) linkKind() string {
	product := ""
	if len(n.GPUs) > 0 {
		product = n.GPUs[0].Name + ", "
	}
	return fmt.Sprintf("links of %d %s%s", len(n.GPUs), product, n.Links.What)
}

// linkRates returns the rates of a node's links. Each rate is the median of all launches.
func (n *Node) linkRates() []measurement {
	if n.Links == nil {
		return nil
	}
	kind := n.linkKind()
	if n.Links.Error != "" {
		return []measurement{{linkRule, kind, "node", &Rate{What: n.Links.What, Error: n.Links.Error}}}
	}
	pairs, of := slice.Group(n.Links.Timings, func(t LinkTiming) rails.Component {
		return rails.Component{Part: rails.Link, A: min(t.A, t.B), B: max(t.A, t.B)}
	})
	var out []measurement
	for _, c := range pairs {
		var seconds []float64
		for _, t := range of[c] {
			seconds = append(seconds, rails.Timing{Seconds: t.Seconds}.Timed()...)
		}
		if len(seconds) > 0 {
			rate := float64(n.Links.Bytes) / stat.Quantile(seconds, 0.5)
			out = append(out, measurement{linkRule, kind, n.part(c), &Rate{What: n.Links.What, Rate: &rate, Samples: len(seconds)}})
		}
	}
	return out
}

// part returns a component of the node as the subject of a finding.
func (n *Node) part(c rails.Component) string {
	switch {
	case c.Part == rails.Link:
		return fmt.Sprintf("link between GPUs %d and %d", c.A, c.B)
	case c.Part == rails.GPU && c.A < len(n.GPUs):
		return gpuName(n.GPUs[c.A])
	}
	return "node"
}

// links judges the messages between GPUs by the rules of zbench rails. Nodes of one kind form a
// fleet without timed messages between nodes.
func links(f Fleet, d *Document) []Deviation {
	kinds, of := slice.Group(slice.Where(f.Nodes, func(n *Node) bool { return len(n.linkRates()) > 0 && n.Links.Error == "" }), (*Node).linkKind)
	var out []Deviation
	for _, kind := range kinds {
		out = append(out, linksOf(d, kind, of[kind])...)
	}
	return out
}

// linksOf judges the links of nodes of one kind.
func linksOf(d *Document, kind string, nodes []*Node) []Deviation {
	data := rails.Data{Fleet: rails.Fleet{Nodes: len(nodes), GPUs: len(nodes[0].GPUs)}}
	for i, n := range nodes {
		for _, t := range n.Links.Timings {
			data.Timings = append(data.Timings, rails.Timing{
				Round: t.Round, Kind: rails.XGMI, Pair: rails.Pair{A: rails.Place{Node: i, GPU: t.A}, B: rails.Place{Node: i, GPU: t.B}}, Seconds: t.Seconds,
			})
		}
	}
	v := rails.Judge(data)
	if v.LinkLimit == 0 {
		d.Unchecked = append(d.Unchecked, kind+": too few to compare")
		return nil
	}
	of := kinds(nodes, linkRule)[0] // all nodes are of one kind
	median, spread, _ := Limit(of.rates())
	d.refer(of, median, spread, v.LinkLimit)
	var out []Deviation
	for _, f := range v.Findings {
		n := nodes[f.Component.Node]
		message := fmt.Sprintf("%s lost: %s", rails.Percent(f.Lost), strings.Join(f.Reasons, "; "))
		if f.Intermittent {
			message = "part of the time, " + message
		}
		out = append(out, Deviation{Host: n.Host, Subject: n.part(f.Component), Message: message, Lost: f.Lost, Next: linkNext})
	}
	for _, q := range v.Questions {
		for _, c := range q.Candidates {
			n := nodes[c.Node]
			out = append(out, Deviation{
				Host: n.Host, Subject: n.part(c), Lost: q.Lost, Unclear: true, Message: "a candidate: " + plain.Line(q.What), Next: q.Next,
			})
		}
	}
	return out
}

const linkNext = "`zbench rails` on the node times its links again; `zbench topo` there shows their error counters"
