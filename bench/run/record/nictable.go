package record

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"zbench/bench/base/plain"
	"zbench/bench/base/unit"
	"zbench/bench/show/table"
)

// mostNICs is the number of NICs in a page's table; the record has all.
const mostNICs = 64

// nicsAlike is the largest deviation of a NIC's sent bytes from the median, as a share of it, that
// counts as normal.
const nicsAlike = 0.05

// NICsAlike is the title of NICTables' second table. NICNote is the note under both tables.
const (
	NICsAlike = "NICs within 5 % of the median, without retransmits and link-downs"
	NICNote   = "By how much each counter rose while the cases ran. All traffic of the node counts, that of other jobs too. – is a counter that the driver does not have."
)

// NICTables returns two tables with a row per NIC. The first has the NICs that stand out by a
// retransmit, a link-down or bytes far from the median, the worst first. The second has the other
// NICs.
func NICTables(nics []NICCounters) (apart, alike table.Table) {
	middle := MedianSent(nics)
	off := func(c NICCounters) float64 {
		if c.Sent == nil || middle == 0 {
			return 0
		}
		return math.Abs(float64(*c.Sent)/middle - 1)
	}
	sorted := slices.Clone(nics)
	slices.SortStableFunc(sorted, func(a, b NICCounters) int {
		return cmp.Or(cmp.Compare(count64(b.LinkDowns), count64(a.LinkDowns)), cmp.Compare(count64(b.Retransmits), count64(a.Retransmits)),
			cmp.Compare(off(b), off(a)))
	})
	var out, in []NICCounters
	for _, c := range sorted {
		if count64(c.LinkDowns) > 0 || count64(c.Retransmits) > 0 || off(c) > nicsAlike || c.Sent == nil && middle > 0 {
			out = append(out, c)
		} else {
			in = append(in, c)
		}
	}
	return nicTable(out, middle), nicTable(in, middle)
}

func nicTable(nics []NICCounters, middle float64) table.Table {
	t := table.Of([]string{"node", "NIC", "GPU", "sent", "from median", "received", "retransmits", "CNPs", "pauses", "link-downs"})
	for i := 2; i < len(t.Columns); i++ {
		t.Columns[i].Right = true
	}
	for _, c := range nics[:min(len(nics), mostNICs)] {
		gpu, share := "–", "–"
		if c.GPU >= 0 {
			gpu = fmt.Sprint(c.GPU)
		}
		if c.Sent != nil && middle > 0 {
			share = fmt.Sprintf("%+.0f %%", 100*(float64(*c.Sent)/middle-1))
		}
		t.Add(plain.Line(c.Node), plain.Line(c.NIC), gpu, bytes64(c.Sent), share, bytes64(c.Received), events(c.Retransmits), events(c.CNPs), events(c.Pauses), events(c.LinkDowns))
	}
	if more := len(nics) - mostNICs; more > 0 {
		t.Notes = append(t.Notes, fmt.Sprintf("%d more NICs are in the JSON.", more))
	}
	return t
}

func count64(v *uint64) uint64 {
	return *cmp.Or(v, new(uint64))
}

func bytes64(v *uint64) string {
	if v == nil {
		return "–"
	}
	return unit.Bytes(int64(min(*v, 1<<62))) //nolint:gosec // it is bounded
}

func events(v *uint64) string {
	if v == nil {
		return "–"
	}
	return fmt.Sprint(*v)
}
