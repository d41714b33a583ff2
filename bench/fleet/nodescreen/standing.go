package nodescreen

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"zbench/bench/finding"
	"zbench/bench/fleet/rails"
	"zbench/bench/plain"
	"zbench/bench/slice"
	"zbench/bench/table"
)

// passed is the result of a node without a finding; results are all, the worst first.
const passed = "pass"

var results = []string{"fail", "unclear", passed}

// Standing is a node with what the screen found of it.
type Standing struct {
	Host string
	// Result is fail, unclear or pass.
	Result string
	// Node is its report; nil if it sent none.
	Node *Node
	// Lost is the largest share of the usual bandwidth that one of its measurements is
	// below the median, by rule; negative above it. A rule without a measurement is absent.
	Lost map[string]float64
	// Findings are what is wrong with the node, in the order of the rules.
	Findings []Deviation
}

// Standings are the nodes that were judged, worst first: those that fail, by the order of the
// rules, then those that are unclear, then by the largest share lost.
func (d *Document) Standings() []*Standing {
	at := map[string]*Standing{}
	var out []*Standing
	for i, hosts := range [][]string{d.Fail, d.Unclear, d.Pass} {
		for _, host := range hosts {
			at[host] = &Standing{Host: host, Result: results[i], Lost: map[string]float64{}}
			out = append(out, at[host])
		}
	}
	for _, n := range d.Reports {
		s := at[n.Host]
		s.Node = n
		for _, r := range n.rates() {
			if median := d.reference(r.kind).Median; r.Rate.Rate != nil && median > 0 {
				lost := 1 - *r.Rate.Rate/median
				if have, ok := s.Lost[r.rule]; !ok || lost > have {
					s.Lost[r.rule] = lost
				}
			}
		}
	}
	for _, f := range d.Findings {
		if s := at[f.Host]; s != nil {
			s.Findings = append(s.Findings, f)
		}
	}
	slices.SortStableFunc(out, func(a, b *Standing) int {
		return cmp.Or(cmp.Compare(a.class(), b.class()), cmp.Compare(a.gravity(), b.gravity()), cmp.Compare(b.lost(), a.lost()), plain.Natural(a.Host, b.Host))
	})
	return out
}

func (s *Standing) class() int { return slices.Index(results, s.Result) }

// gravity is the place of the first rule that the node breaks.
func (s *Standing) gravity() int {
	if len(s.Findings) == 0 {
		return len(rules)
	}
	return slices.Index(Rules(), s.Findings[0].Rule)
}

// lost is the largest share lost of all measurements; −1 without any.
func (s *Standing) lost() float64 {
	most := -1.0
	for _, share := range s.Lost {
		most = max(most, share)
	}
	return most
}

// reference is what a kind of measurement was compared with; zero if it was not.
func (d *Document) reference(what string) Reference {
	for _, r := range d.References {
		if r.What == what {
			return r
		}
	}
	return Reference{}
}

// Ranked has a row for each node, with its reasons if any of them has one.
func Ranked(all []*Standing) table.Table {
	t := table.Of([]string{"NODE"})
	reasons := slices.ContainsFunc(all, func(s *Standing) bool { return len(s.Findings) > 0 })
	if reasons {
		t.Columns = append(t.Columns, table.Column{Name: "RESULT"}, table.Column{Name: "REASONS", Wrap: table.Sentences})
	}
	t.Columns = append(t.Columns, table.Numbers("GPUS", "NICS ACTIVE", "MEMORY", "PRODUCT", "COLLECTIVE", "LINK", "NIC").Columns...)
	for _, s := range all {
		gpus, nics := "–", "–"
		if s.Node != nil {
			gpus = fmt.Sprint(len(s.Node.GPUs))
			if len(s.Node.NICs) > 0 {
				nics = fmt.Sprintf("%d of %d", s.Node.activePorts(), len(s.Node.NICs))
			}
		}
		cells := []string{plain.Line(s.Host)}
		if reasons {
			cells = append(cells, s.Result, s.reasons())
		}
		t.Add(append(cells, gpus, nics, s.against("memory"), s.against(productRule), s.against("collective"), s.against(linkRule), s.against("nic_collective"))...)
	}
	t.Notes = []string{"MEMORY, PRODUCT, COLLECTIVE, LINK and NIC: the node's slowest measurement against the median of all nodes."}
	return t
}

// against is the node's slowest measurement of a rule against the median: −20 %.
func (s *Standing) against(rule string) string {
	lost, ok := s.Lost[rule]
	switch {
	case !ok:
		return "–"
	case rails.Percent(lost) == "0 %" || rails.Percent(lost) == "-0 %":
		return "0 %"
	case lost < 0:
		return "+" + rails.Percent(-lost)
	}
	return "−" + rails.Percent(lost)
}

func (s *Standing) reasons() string {
	return strings.Join(slice.Map(s.Findings, Deviation.Reason), "; ")
}

// Finding is the deviation as every detector tells it. A warning is what no majority decides.
func (f Deviation) Finding() finding.Finding {
	out := finding.Finding{Code: f.Rule, Severity: finding.Fault, Share: f.Lost, Text: f.Reason(), Hint: f.Next}
	if f.Host != "" {
		out.Text = plain.Line(f.Host) + ": " + out.Text
	}
	if f.Unclear {
		out.Severity, out.Candidates = finding.Warning, []finding.Subject{{Kind: finding.Node, Name: f.Host}}
	}
	out.Subject = &finding.Subject{Kind: finding.Node, Name: f.Host}
	if f.Host != "" {
		out.Subject.Nodes = []string{f.Host}
	}
	return out
}

// Reason is what was found, after the component unless that is the node or part of it.
func (f Deviation) Reason() string {
	text := plain.Line(f.Message)
	if f.Subject == "node" || f.Subject == "nodes" || strings.HasPrefix(f.Message, f.Subject) {
		return text
	}
	return plain.Line(f.Subject) + ": " + text
}
