package record

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// nics is a NIC with all counters.
func nics() []NICCounters {
	c := NICCounters{Node: "n0", NIC: "ionic_0", GPU: -1, PCI: []string{"0000:05:00.0"}}
	for i, to := range c.values() {
		v := uint64(i + 1)
		*to = &v
	}
	return []NICCounters{c}
}

// A rise is the difference of the same NIC's readings; one that fell, or that a reading lacks,
// is null and not zero. The passes of a case add up.
func TestRisesOfCounters(t *testing.T) {
	n := func(v uint64) *uint64 { return &v }
	before := []NICCounters{{Node: "a", NIC: "x", Sent: n(10), Received: n(10), CNPs: n(5)}, {Node: "b", NIC: "x", Sent: n(1)}}
	after := []NICCounters{{Node: "a", NIC: "x", Sent: n(30), Received: n(3), Pauses: n(2), CNPs: n(5)}, {Node: "b", NIC: "y", Sent: n(9)}}
	rose := RoseNICs(before, after)
	require.Equal(t, []NICCounters{{Node: "a", NIC: "x", Sent: n(20), CNPs: n(0)}}, rose)
	require.Equal(t, uint64(30), *after[0].Sent, "a reading is left as it was")
	require.Empty(t, RoseNICs(nil, after))
	parts := []Part{{Key: "k", Status: OK, NICs: rose}, {Key: "k", Pass: 1, Status: OK, NICs: []NICCounters{{Node: "a", NIC: "x", Sent: n(7)}, {Node: "c", NIC: "x"}}}}
	got := Assemble(Result{Case: Case{Key: "k"}, Ranks: 1}, parts).NICs
	require.Equal(t, []NICCounters{{Node: "a", NIC: "x", Sent: n(27)}, {Node: "c", NIC: "x"}}, got)
	require.Equal(t, uint64(20), *rose[0].Sent, "a part is left as it was")
}
