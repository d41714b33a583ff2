package results

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/run/record"
	"zbench/bench/show/document"
)

// What stands out is first: a link that was lost, then bytes furthest from the median. A
// counter that a driver lacks is no zero.
func TestNICsThatStandOutAreFirst(t *testing.T) {
	n := func(v uint64) *uint64 { return &v }
	nic := func(name string, sent uint64, downs *uint64) record.NICCounters {
		return record.NICCounters{Node: "a", NIC: name, GPU: 1, Sent: n(sent), LinkDowns: downs}
	}
	rec := &record.Record{Results: []record.Result{
		{NICs: []record.NICCounters{nic("even", 500, n(0)), nic("even2", 500, n(0)), nic("idle", 0, n(0)), nic("lost", 500, n(0))}},
		{NICs: []record.NICCounters{nic("even", 500, n(0)), nic("even2", 500, n(0)), nic("idle", 100, n(0)), nic("lost", 500, n(1))}},
		{},
	}}
	blocks := nicBlocks(rec)
	sheet := blocks[0].(document.Sheet)
	require.Equal(t, []string{"a", "lost", "1", "1000 B", "+0 %", "–", "–", "–", "–", "1"}, sheet.Table.Groups[0].Rows[0].Cells)
	require.Equal(t, []string{"a", "idle", "1", "100 B", "-90 %", "–", "–", "–", "–", "0"}, sheet.Table.Groups[0].Rows[1].Cells)
	others := blocks[1].(document.Details) // those that are as the others are folded
	require.Equal(t, "NICs within 5 % of the median, without retransmits and link-downs", others.Summary)
	require.Len(t, others.Blocks[0].(document.Sheet).Groups[0].Rows, 2)
	require.Empty(t, nicBlocks(&record.Record{}))
}
