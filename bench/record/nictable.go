package record

import (
	"cmp"
	"fmt"
	"slices"

	"zbench/bench/plain"
	"zbench/bench/table"
	"zbench/bench/unit"
)

// mostNICs is the number of NICs in the table of the page; the record has all.
const mostNICs = 64

// NICTable is a row for each NIC, those that stand out first: events, then bytes furthest from the
// median.
func NICTable(nics []NICCounters) table.Table {
	middle := MedianSent(nics)
	off := func(c NICCounters) float64 {
		if c.Sent == nil || middle == 0 {
			return 0
		}
		return float64(*c.Sent)/middle - 1
	}
	sorted := slices.Clone(nics)
	slices.SortStableFunc(sorted, func(a, b NICCounters) int {
		return cmp.Or(cmp.Compare(count64(b.LinkDowns), count64(a.LinkDowns)), cmp.Compare(count64(b.Retransmits), count64(a.Retransmits)),
			cmp.Compare(max(off(b), -off(b)), max(off(a), -off(a))))
	})
	t := table.Of([]string{"node", "NIC", "GPU", "sent", "from median", "received", "retransmits", "CNPs", "pauses", "link-downs"})
	for i := 2; i < len(t.Columns); i++ {
		t.Columns[i].Right = true
	}
	for _, c := range sorted[:min(len(sorted), mostNICs)] {
		gpu, share := "–", "–"
		if c.GPU >= 0 {
			gpu = fmt.Sprint(c.GPU)
		}
		if c.Sent != nil && middle > 0 {
			share = fmt.Sprintf("%+.0f %%", 100*off(c))
		}
		t.Add(plain.Line(c.Node), plain.Line(c.NIC), gpu, bytes64(c.Sent), share, bytes64(c.Received), events(c.Retransmits), events(c.CNPs), events(c.Pauses), events(c.LinkDowns))
	}
	if more := len(sorted) - mostNICs; more > 0 {
		t.Notes = append(t.Notes, fmt.Sprintf("%d more NICs are in the JSON.", more))
	}
	t.Notes = append(t.Notes, "By how much each counter rose while the cases ran, those that stand out first. All traffic of the node counts, that of other jobs too. – is a counter that the driver does not have.")
	return t
}

func count64(v *uint64) uint64 {
	if v == nil {
		return 0
	}
	return *v
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
