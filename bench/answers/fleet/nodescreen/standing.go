package nodescreen

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"zbench/bench/answers/fleet/rails"
	"zbench/bench/base/finding"
	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/show/table"
)

// `passed` is the result of a node without a finding. `results` has all results, the worst first.
const passed = "pass"

var results = []string{"fail", "unclear", passed}

// Standing is a node with its findings.
type Standing struct {
	Host string
	// Result is fail, unclear or pass.
	Result string
	// Node is the node's report; nil if it sent none.
	Node *Node
	// Lost is, by rule, the largest loss of a measurement against the median, as a share; negative if all
	// are above the median. A rule without a measurement is absent.
	Lost map[string]float64
	// Findings are the node's defects, in the order of the rules.
	Findings []Deviation
}

// Standings returns the judged nodes, worst first: failing nodes by the order of the rules, then unclear
// nodes, then the other nodes by the largest loss.
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

// gravity returns the position of the first rule that the node breaks.
func (s *Standing) gravity() int {
	if len(s.Findings) == 0 {
		return len(rules)
	}
	return slices.Index(Rules(), s.Findings[0].Rule)
}

// `lost` returns the largest loss of all measurements; −1 if there are none.
func (s *Standing) lost() float64 {
	most := -1.0
	for _, share := range s.Lost {
		most = max(most, share)
	}
	return most
}

// reference returns the reference of a kind of measurement; zero if it was not compared.
func (d *Document) reference(what string) Reference {
	for _, r := range d.References {
		if r.What == what {
			return r
		}
	}
	return Reference{}
}

// Ranked returns a table with one row per node. It has a column of reasons if any node has a finding.
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

// `against` formats the node's slowest measurement of a rule against the median: −20 %.
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

// Finding returns the deviation in the common form. The finding is a warning if no majority shows which
// nodes are right.
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

// Reason returns the defect after the name of its component. The name is omitted if the component is the
// node, or if the message begins with the name.
func (f Deviation) Reason() string {
	text := plain.Line(f.Message)
	if f.Subject == "node" || f.Subject == "nodes" || strings.HasPrefix(f.Message, f.Subject) {
		return text
	}
	return plain.Line(f.Subject) + ": " + text
}
