package rails

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"zbench/bench/jsonfile"
	"zbench/bench/plain"
	"zbench/bench/plan"
	"zbench/bench/record"
	"zbench/bench/table"
)

// Use is how the NICs that carried a GPU's bytes compare with those that PCI parents expect.
type Use string

// The uses.
const (
	// AsExpected is the ring's bytes through expected NICs.
	AsExpected Use = "as_expected"
	// Crossed is most of the ring's bytes through NICs that are not expected.
	Crossed Use = "crossed"
	// SharedUse is most bytes through an expected NIC, and some through others.
	SharedUse Use = "shared"
	// UseUnknown is a GPU whose NIC is not known: Actual.Why says why.
	UseUnknown Use = "not_checked"
)

// Uses are all of them.
func Uses() []Use { return []Use{AsExpected, Crossed, SharedUse, UseUnknown} }

// Carried is what a NIC of a node sent while a ring ran through one GPU of every node.
type Carried struct {
	Node int
	NIC  string
	// Bytes that were sent; Counted is false where the NIC has no such counter.
	Bytes   uint64
	Counted bool
	// Expected is true of a NIC that PCI parents make the rail of the ring's GPU on this node.
	Expected bool
}

// Actual is the NICs through which the bytes of a GPU left its node.
type Actual struct {
	Place
	Use Use
	// Expected are the NICs by PCI parents, NICs those that carried the bytes, most first.
	Expected, NICs []string
	// Why is the reason of a use that is not known.
	Why string
}

// Limits of the conclusion, as shares of the bytes that a rank of the ring sent. Headers add
// a few percent, and a reading that lags holds bytes of the ring before, which ran through
// the same GPU: at most as many again.
const (
	// leastCarried is the share below which the ring is not among what the NICs counted.
	leastCarried = 0.5
	// mostCarried is that above which other traffic is.
	mostCarried = 2.5
	// wholly is the share from which the expected NICs carried the ring.
	wholly = 0.9
	// leastPart is the share from which a NIC took part.
	leastPart = 0.1
)

// ActualRails concludes which NICs carried the bytes of one GPU of every node, by what the
// NICs counted while a ring ran through these GPUs and each sent so many bytes.
func ActualRails(nodes, gpu int, bytes float64, carried []Carried) []Actual {
	out := make([]Actual, 0, nodes)
	for node := range nodes {
		var here []Carried
		for _, c := range carried {
			if c.Node == node {
				here = append(here, c)
			}
		}
		a := actualRail(bytes, here)
		a.Place = Place{node, gpu}
		out = append(out, a)
	}
	return out
}

// actualRail is the conclusion for one node.
func actualRail(bytes float64, nics []Carried) Actual {
	slices.SortStableFunc(nics, func(a, b Carried) int { return cmp.Compare(b.Bytes, a.Bytes) })
	a := Actual{Use: UseUnknown}
	all, expected, counted, unread := 0.0, 0.0, false, false
	for _, c := range nics {
		if c.Expected {
			a.Expected = append(a.Expected, c.NIC)
		}
		if !c.Counted {
			unread = unread || c.Expected
			continue
		}
		counted = true
		all += float64(c.Bytes)
		if float64(c.Bytes) < leastPart*bytes {
			continue
		}
		a.NICs = append(a.NICs, c.NIC)
		if c.Expected {
			expected += float64(c.Bytes)
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
		a.Use = AsExpected // what others carried is other traffic
	case unread:
		a.Why = "the expected NIC has no counter of the bytes sent"
	case expected < leastCarried*bytes:
		a.Use = Crossed
	default:
		a.Use = SharedUse
	}
	return a
}

// Says is the conclusion in a sentence.
func (a Actual) Says() string {
	by, expected := strings.Join(a.NICs, ", "), strings.Join(a.Expected, " or ")
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

// joined are names as plain text, with a separator between them.
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

// Ring is what the NICs counted while a ring ran through one GPU of every node.
type Ring struct {
	GPU int
	// Bytes is what each of these GPUs sent.
	Bytes int64
	NICs  []record.NICCounters
}

// countedLaunches of a ring are counted, after leadLaunches of it that are not: a NIC's driver may give
// counters that are a few milliseconds old, and these must not hold bytes of another GPU's ring.
const (
	leadLaunches    = 1
	countedLaunches = 2
)

// CountRings runs one ring after the other, each through one GPU of every node and nothing
// else, and reads the NICs' counters around it. round is the number of rounds before. At an
// error the rings before it are returned.
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
