package rails

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"zbench/bench/jsonfile"
	"zbench/bench/plain"
	"zbench/bench/table"
)

// ActualRail is which NICs carried a GPU's bytes off its node.
type ActualRail struct {
	// Node is the name of the node.
	Node string `json:"node"`
	// GPU is the number of the GPU on its node.
	GPU int `json:"gpu"`
	// Use is as_expected, crossed (another NIC than expected), shared (the expected one and
	// others) or not_checked.
	Use Use `json:"use"`
	// Expected are the NICs nearest to the GPU by PCI parents; none where that is not known.
	Expected []string `json:"expected"`
	// Actual are the NICs that carried at least a tenth of the bytes, those with most first.
	Actual []string `json:"actual"`
	// Why is the reason why a GPU was not checked; empty otherwise.
	Why string `json:"why"`
}

// SetActual adds what was concluded about the NICs of each GPU.
func (s *Survey) SetActual(all []Actual) {
	for _, a := range all {
		s.ActualRails = append(s.ActualRails, ActualRail{s.Nodes[a.Node], a.GPU, a.Use, jsonfile.Filled(a.Expected), jsonfile.Filled(a.NICs), a.Why})
	}
}

// actual notes how many GPUs use the NIC that is expected, and which could not be checked.
func (d *Document) actual(s *Survey) {
	if len(s.ActualRails) == 0 {
		return
	}
	count, why := map[Use]int{}, map[string][]string{}
	var reasons []string
	for _, a := range s.ActualRails {
		count[a.Use]++
		switch a.Use {
		case UseUnknown:
			if why[a.Why] == nil {
				reasons = append(reasons, a.Why)
			}
			why[a.Why] = append(why[a.Why], a.name())
		case SharedUse:
			d.Notes = append(d.Notes, fmt.Sprintf("%s sent through NICs %s; the expected NIC by PCI parents is %s", a.name(), joined(a.Actual, ", "), joined(a.Expected, " or ")))
		default:
		}
	}
	d.Notes = append(d.Notes, fmt.Sprintf("actual rails, by the NICs' byte counters: %d of %d GPUs sent through the NIC that PCI parents expect, %d through another one", count[AsExpected], len(s.ActualRails), count[Crossed]))
	for _, reason := range reasons {
		d.Unchecked = append(d.Unchecked, fmt.Sprintf("the rail that a GPU really uses (%s): %s", list(why[reason]), reason))
	}
}

// joined are names as plain text.
func joined(names []string, separator string) string {
	out := make([]string, 0, len(names))
	for _, n := range names {
		out = append(out, plain.Line(n))
	}
	return strings.Join(out, separator)
}

func (a ActualRail) name() string { return fmt.Sprintf("GPU %d of %s", a.GPU, a.Node) }

// mostUses is the number of GPUs in a table of actual rails.
const mostUses = 64

// ActualTables are the GPUs with their NICs: those that use another NIC than expected or were not checked, and
// those that use the expected one.
func (s *Survey) ActualTables() (others, expected table.Table) {
	order := []Use{Crossed, SharedUse, UseUnknown}
	var apart, alike []ActualRail
	for _, a := range s.ActualRails {
		if slices.Contains(order, a.Use) {
			apart = append(apart, a)
		} else {
			alike = append(alike, a)
		}
	}
	slices.SortStableFunc(apart, func(a, b ActualRail) int {
		return cmp.Compare(slices.Index(order, a.Use), slices.Index(order, b.Use))
	})
	return actualTable(apart), actualTable(alike)
}

func actualTable(all []ActualRail) table.Table {
	t := table.Of([]string{"node", "GPU", "expected NIC", "actual NIC", "use"})
	t.Columns[1].Right = true
	for _, a := range all[:min(len(all), mostUses)] {
		use := map[Use]string{Crossed: "crossed", SharedUse: "shared with others", AsExpected: "as expected"}[a.Use]
		if a.Use == UseUnknown {
			use = "NOT CHECKED: " + a.Why
		}
		t.Add(plain.Line(a.Node), fmt.Sprint(a.GPU), cmp.Or(joined(a.Expected, " or "), "–"), cmp.Or(joined(a.Actual, ", "), "–"), use)
	}
	if more := len(all) - mostUses; more > 0 {
		t.Notes = append(t.Notes, fmt.Sprintf("%d more are in rails.json.", more))
	}
	return t
}
