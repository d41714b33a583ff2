package rails

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
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
