package preflight

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"zbench/internal/linux"
)

// firstAuto is the first version of NCCL, and so of RCCL, that searches a port's GID table by
// itself. Before that version the default of NCCL_IB_GID_INDEX was 0 (NCCL's guide, "Environment
// Variables", NCCL_IB_GID_INDEX: "since 2.21").
var firstAuto = [2]int{2, 21}

// gidRule is how RCCL chooses an entry of a port's GID table.
type gidRule struct {
	// index is the value of NCCL_IB_GID_INDEX; −1 means that RCCL searches for an entry.
	index int
	// `six` is true if an IPv6 address is wanted (NCCL_IB_ADDR_FAMILY). `within` is the value of
	// NCCL_IB_ADDR_RANGE.
	six    bool
	within netip.Prefix
	// roce is the wanted version of the protocol (NCCL_IB_ROCE_VERSION_NUM, 2 by default).
	roce int
}

// gidRuleOf reads RCCL's settings. `version` is the library's version, such as "2.22.3"; if it is
// unknown, the newer rule applies.
func gidRuleOf(getenv func(string) string, version string) gidRule {
	r := gidRule{index: -1, roce: 2, six: getenv("NCCL_IB_ADDR_FAMILY") == "AF_INET6"}
	if before(version, firstAuto) {
		r.index = 0
	}
	if n, err := strconv.Atoi(strings.TrimSpace(getenv("NCCL_IB_GID_INDEX"))); err == nil && n >= 0 {
		r.index = n
	}
	if n, err := strconv.Atoi(getenv("NCCL_IB_ROCE_VERSION_NUM")); err == nil {
		r.roce = n
	}
	if p, err := netip.ParsePrefix(getenv("NCCL_IB_ADDR_RANGE")); err == nil && p.Addr().Is6() == r.six {
		r.within = p
	}
	return r
}

// before() reports whether a version is older than another, by their first two numbers.
func before(version string, than [2]int) bool {
	var have [2]int
	_, err := fmt.Sscanf(version, "%d.%d", &have[0], &have[1])
	return err == nil && slices.Compare(have[:], than[:]) < 0
}

// choose returns the index that RCCL uses in the table of a RoCE port. RCCL begins with entry 0 and
// looks at the other entries in order. An entry of the wanted family replaces an entry of another
// family. After that, an entry of the wanted protocol replaces an entry of another protocol, or an
// entry without a routed address (RCCL 0cbce2a: src/transport/net_ib.cc, ncclIbGetGidIndex and
// ncclUpdateGidIndex).
func (r gidRule) choose(table []linux.GID) int {
	if r.index >= 0 || len(table) == 0 {
		return max(r.index, 0)
	}
	taken := table[0]
	for _, next := range table[1:] {
		inside := r.contains(next.Addr)
		switch {
		case r.family(next) && !r.family(taken) && inside:
			taken = next
		case !r.family(next) || !routed(next.Addr) || !inside:
		case (taken.RoCE != next.RoCE || !routed(taken.Addr)) && next.RoCE == r.roce:
			taken = next
		}
	}
	return taken.Index
}

// family reports whether an entry has the wanted family of addresses.
func (r gidRule) family(g linux.GID) bool { return g.Addr.Is4In6() != r.six }

func (r gidRule) contains(addr netip.Addr) bool {
	return !r.within.IsValid() || r.within.Contains(addr.Unmap())
}

// routed() reports whether an identifier is an address that is valid beyond one link.
func routed(addr netip.Addr) bool {
	return addr.IsValid() && !addr.IsUnspecified() && !addr.IsLinkLocalUnicast()
}

// portFacts returns the facts of a port, given its table.
func portFacts(p linux.RDMAPort, table []linux.GID, rule gidRule) Port {
	f := Port{Name: p.Name(), State: p.State, Rate: p.Rate, InfiniBand: p.Layer == "InfiniBand", Better: -1}
	if f.InfiniBand {
		return f
	}
	f.Entries, f.Index = len(table), rule.choose(table)
	for _, g := range table {
		if g.Index == f.Index && !empty(g.Addr) {
			f.Set, f.RoCE, f.Local = true, g.RoCE, !routed(g.Addr)
		}
	}
	f.Better = better(table)
	return f
}

// better() returns the first entry with a routed RoCE v2 address, preferably an IPv4 address; −1 if
// there is none.
func better(table []linux.GID) int {
	found := -1
	for _, g := range table {
		switch {
		case g.RoCE != 2 || !routed(g.Addr):
		case g.Addr.Is4In6():
			return g.Index
		case found < 0:
			found = g.Index
		}
	}
	return found
}

// empty() reports whether an entry of the table has no address: it is zero, or only the prefix of
// link-local addresses.
func empty(addr netip.Addr) bool {
	return !addr.IsValid() || addr.IsUnspecified() || addr == netip.MustParseAddr("fe80::")
}
