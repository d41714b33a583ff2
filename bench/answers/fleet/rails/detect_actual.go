package rails

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/run/plan"
	"zbench/bench/run/record"
	"zbench/bench/show/table"
)

// Use says how the NICs that carried a GPU's bytes compare with the NICs that its PCI parents suggest.
type Use string

// The uses.
const (
	// AsExpected means that the expected NICs carried the ring's bytes.
	AsExpected Use = "as_expected"
	// Crossed means that unexpected NICs carried most of the ring's bytes.
	Crossed Use = "crossed"
	// SharedUse means that the expected NICs carried most of the bytes, and other NICs carried some.
	SharedUse Use = "shared"
	// UseUnknown means that the GPU's NIC is not known; ActualRail.Why is the reason.
	UseUnknown Use = "not_checked"
)

// Uses returns all values of Use.
func Uses() []Use { return []Use{AsExpected, Crossed, SharedUse, UseUnknown} }

// ActualRail lists the NICs that carried a GPU's bytes off its node.
type ActualRail struct {
	// Node is the name of the node.
	Node string `json:"node"`
	// GPU is the number of the GPU on its node.
	GPU int `json:"gpu"`
	// Use is as_expected, crossed (another NIC than expected), shared (the expected NIC and other NICs) or
	// not_checked.
	Use Use `json:"use"`
	// Expected are the NICs nearest to the GPU by PCI parents; none if unknown.
	Expected []string `json:"expected"`
	// Actual are the NICs that carried at least a tenth of the bytes, the largest share first.
	Actual []string `json:"actual"`
	// Why is the reason why a GPU was not checked; empty otherwise.
	Why string `json:"why"`

	// Place is the GPU with the index of its node.
	Place Place `json:"-"`
}

// Limits of the conclusion, as shares of the bytes sent by a rank of the ring. Headers add a few percent. A
// late reading includes bytes of the previous ring through the same GPU, at most as many as the ring's own.
const (
	// leastCarried is the share below which the NICs' counts do not include the ring.
	leastCarried = 0.5
	// mostCarried is the share above which the NICs' counts include other traffic.
	mostCarried = 2.5
	// If the expected NICs carried at least the share `wholly`, they count as having carried the whole
	// ring.
	wholly = 0.9
	// leastPart is the least share with which a NIC counts as having carried bytes of the ring.
	leastPart = 0.1
)

// ActualRails concludes which NICs carried the bytes of one GPU of every node, from the NICs'
// counts during the ring. `expected` reports whether PCI parents make a NIC of a node the rail of the
// ring's GPU.
func ActualRails(nodes []string, r Ring, expected func(node int, n record.NICCounters) bool) []ActualRail {
	out := make([]ActualRail, len(nodes))
	for node, name := range nodes {
		here := slice.Where(r.NICs, func(n record.NICCounters) bool { return n.Node == name })
		out[node] = actualRail(float64(r.Bytes), here, func(n record.NICCounters) bool { return expected(node, n) })
		out[node].Node, out[node].GPU, out[node].Place = name, r.GPU, Place{node, r.GPU}
	}
	return out
}

// actualRail returns the conclusion for one node.
func actualRail(bytes float64, nics []record.NICCounters, near func(record.NICCounters) bool) ActualRail {
	sent := func(n record.NICCounters) float64 { return float64(*cmp.Or(n.Sent, new(uint64))) }
	slices.SortStableFunc(nics, func(a, b record.NICCounters) int { return cmp.Compare(sent(b), sent(a)) })
	a := ActualRail{Use: UseUnknown, Expected: []string{}, Actual: []string{}}
	all, expected, counted, unread := 0.0, 0.0, false, false
	for _, n := range nics {
		is := near(n)
		if is {
			a.Expected = append(a.Expected, n.NIC)
		}
		if n.Sent == nil {
			unread = unread || is
			continue
		}
		counted = true
		all += sent(n)
		if sent(n) < leastPart*bytes {
			continue
		}
		a.Actual = append(a.Actual, n.NIC)
		if is {
			expected += sent(n)
		}
	}
	slices.Sort(a.Expected)
	switch {
	case len(nics) == 0:
		a.Why = "no NIC of the node was read"
	case !counted:
		a.Why = "the NICs' drivers have no counter of the bytes sent"
	case all < leastCarried*bytes:
		a.Why = "the NICs did not count the bytes of the ring"
	case all > mostCarried*bytes:
		a.Why = "the NICs counted far more than the bytes of the ring: other traffic"
	case len(a.Expected) == 0:
		a.Why = "no NIC is known to be near the GPU by PCI parents"
	case expected >= wholly*bytes:
		a.Use = AsExpected // bytes of other NICs are other traffic
	case unread:
		a.Why = "the expected NIC has no counter of the bytes sent"
	case expected < leastCarried*bytes:
		a.Use = Crossed
	default:
		a.Use = SharedUse
	}
	return a
}

// Says returns the conclusion in a sentence.
func (a ActualRail) Says() string {
	by, expected := strings.Join(a.Actual, ", "), strings.Join(a.Expected, " or ")
	switch a.Use {
	case Crossed:
		return fmt.Sprintf("crossed rail: GPU %d sent through NIC %s; the expected NIC by PCI parents is %s", a.GPU, by, expected)
	case SharedUse:
		return fmt.Sprintf("GPU %d sent through NICs %s; the expected NIC by PCI parents is %s", a.GPU, by, expected)
	case AsExpected:
		return fmt.Sprintf("GPU %d sent through NIC %s, the expected one by PCI parents", a.GPU, by)
	default:
		return a.Why
	}
}

// `actual` notes the number of GPUs that use the expected NIC, and the GPUs that could not be checked.
func (d *Document) actual(s *Survey) {
	if len(s.ActualRails) == 0 {
		return
	}
	_, by := slice.Group(s.ActualRails, func(a ActualRail) Use { return a.Use })
	for _, a := range by[SharedUse] {
		d.Notes = append(d.Notes, fmt.Sprintf("%s sent through NICs %s; the expected NIC by PCI parents is %s", a.name(), joined(a.Actual, ", "), joined(a.Expected, " or ")))
	}
	d.Notes = append(d.Notes, fmt.Sprintf("actual rails, by the NICs' byte counters: %d of %d GPUs sent through the NIC that PCI parents expect, %d through another one", len(by[AsExpected]), len(s.ActualRails), len(by[Crossed])))
	reasons, of := slice.Group(by[UseUnknown], func(a ActualRail) string { return a.Why })
	for _, reason := range reasons {
		d.Unchecked = append(d.Unchecked, fmt.Sprintf("the rail that a GPU really uses (%s): %s", list(slice.Map(of[reason], ActualRail.name)), reason))
	}
}

// `joined` returns names as plain text with a separator.
func joined(names []string, separator string) string {
	return strings.Join(slice.Map(names, plain.Line), separator)
}

func (a ActualRail) name() string { return fmt.Sprintf("GPU %d of %s", a.GPU, a.Node) }

// mostUses is the number of GPUs in a table of actual rails.
const mostUses = 64

// ActualTables returns two tables of GPUs with their NICs. The table `others` has the GPUs that used
// another NIC than expected or were not checked. The table `expected` has the GPUs that used the expected
// NIC.
func (s *Survey) ActualTables() (others, expected table.Table) {
	order := []Use{Crossed, SharedUse, UseUnknown, AsExpected}
	all := slices.Clone(s.ActualRails)
	slices.SortStableFunc(all, func(a, b ActualRail) int { return cmp.Compare(slices.Index(order, a.Use), slices.Index(order, b.Use)) })
	n := len(slices.DeleteFunc(slices.Clone(all), func(a ActualRail) bool { return a.Use == AsExpected }))
	return actualTable(all[:n]), actualTable(all[n:])
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

// Ring holds the NICs' counts while a ring ran through one GPU of every node.
type Ring struct {
	GPU int
	// Bytes is the number of bytes that each of these GPUs sent.
	Bytes int64
	NICs  []record.NICCounters
}

// A ring runs leadLaunches times without being counted, then countedLaunches times. A NIC's driver may
// return counters that are a few milliseconds old, and these must not include another GPU's ring.
const (
	leadLaunches    = 1
	countedLaunches = 2
)

// CountRings runs one ring after the other, each only through one GPU of every node, and reads the NICs'
// counters before and after each ring. round is the number of earlier rounds. After an error the finished
// rings are returned.
func (s Measurement) CountRings(ctx context.Context, d Exchanger, round int, read func() []record.NICCounters) ([]Ring, error) {
	var out []Ring
	for gpu := range s.Fleet.GPUs {
		r := Round{Kind: Rings, Pairs: []Pair{{A: Place{GPU: gpu}}}}
		e := plan.Exchange{Case: s.Case, Round: round + gpu, Launches: leadLaunches}
		e.To, e.From = s.peers(r)
		if s.Watch != nil {
			s.Watch(e.Round+1, r)
		}
		failed := func(err error) error {
			return fmt.Errorf("round %d (the ring of GPU %d of every node): %w", e.Round+1, gpu, err)
		}
		if _, err := d.Exchange(ctx, e); err != nil {
			return out, failed(err)
		}
		before := read()
		e.Launches = countedLaunches
		if _, err := d.Exchange(ctx, e); err != nil {
			return out, failed(err)
		}
		out = append(out, Ring{gpu, countedLaunches * s.Case.Layout.Bytes, record.RoseNICs(before, read())})
	}
	return out, nil
}
