package rails_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/answers/fleet/rails"
	"zbench/bench/run/record"
)

// A NIC named n1 is the expected one of the ring's GPU.
func TestActualRails(t *testing.T) {
	const sent = 1000
	nic := func(name string, bytes uint64) record.NICCounters {
		return record.NICCounters{Node: "a", NIC: name, Sent: &bytes}
	}
	silent := record.NICCounters{Node: "a", NIC: "n1"}
	named := func(name string) func(int, record.NICCounters) bool {
		return func(_ int, n record.NICCounters) bool { return n.NIC == name }
	}
	for name, x := range map[string]struct {
		nics []record.NICCounters
		use  rails.Use
		by   []string
		why  string
	}{
		"the expected NIC":                  {[]record.NICCounters{nic("n0", 3), nic("n1", 1040), nic("n2", 0)}, rails.AsExpected, []string{"n1"}, ""},
		"another NIC":                       {[]record.NICCounters{nic("n0", 3), nic("n1", 20), nic("n2", 1040)}, rails.Crossed, []string{"n2"}, ""},
		"two others":                        {[]record.NICCounters{nic("n0", 501), nic("n1", 0), nic("n2", 510)}, rails.Crossed, []string{"n2", "n0"}, ""},
		"most through the expected":         {[]record.NICCounters{nic("n0", 300), nic("n1", 720)}, rails.SharedUse, []string{"n1", "n0"}, ""},
		"most through another":              {[]record.NICCounters{nic("n0", 700), nic("n1", 320)}, rails.Crossed, []string{"n0", "n1"}, ""},
		"other traffic beside the ring":     {[]record.NICCounters{nic("n0", 1400), nic("n1", 1010)}, rails.AsExpected, []string{"n0", "n1"}, ""},
		"the expected NIC has no counter":   {[]record.NICCounters{nic("n0", 800), silent}, rails.UseUnknown, []string{"n0"}, "the expected NIC has no counter"},
		"a reading that lags":               {[]record.NICCounters{nic("n0", 0), nic("n1", 1990)}, rails.AsExpected, []string{"n1"}, ""},
		"no NIC":                            {nil, rails.UseUnknown, nil, "no NIC of the node was read"},
		"no counter":                        {[]record.NICCounters{silent}, rails.UseUnknown, nil, "no counter of the bytes"},
		"bytes elsewhere":                   {[]record.NICCounters{nic("n0", 40), nic("n1", 40)}, rails.UseUnknown, nil, "did not count the bytes of the ring"},
		"the expected NIC alone is unread":  {[]record.NICCounters{silent, nic("n2", 10)}, rails.UseUnknown, nil, "did not count the bytes of the ring"},
		"traffic of another job":            {[]record.NICCounters{nic("n0", 9000), nic("n1", 1000)}, rails.UseUnknown, []string{"n0", "n1"}, "other traffic"},
		"without topology":                  {[]record.NICCounters{nic("n0", 1000)}, rails.UseUnknown, []string{"n0"}, "by PCI parents"},
		"counters of huge value (overflow)": {[]record.NICCounters{nic("n0", 1<<64-1), nic("n1", 1<<64-1)}, rails.UseUnknown, []string{"n0", "n1"}, "other traffic"},
	} {
		t.Run(name, func(t *testing.T) {
			a := rails.ActualRails([]string{"a"}, rails.Ring{GPU: 5, Bytes: sent, NICs: x.nics}, named("n1"))
			require.Len(t, a, 1)
			require.Equal(t, rails.Place{GPU: 5}, a[0].Place)
			require.Equal(t, x.use, a[0].Use)
			require.Equal(t, append([]string{}, x.by...), a[0].Actual)
			require.Contains(t, a[0].Why, x.why)
			require.Equal(t, x.use == rails.UseUnknown, a[0].Why != "")
			require.NotEmpty(t, a[0].Says())
		})
	}
	none := uint64(0)
	ring := rails.Ring{Bytes: sent, NICs: []record.NICCounters{{Node: "b", NIC: "x", Sent: nic("", sent).Sent}, {Node: "b", NIC: "y", Sent: &none}}}
	two := rails.ActualRails([]string{"a", "b"}, ring, named("y"))
	require.Equal(t, rails.UseUnknown, two[0].Use)
	require.Equal(t, "crossed rail: GPU 0 sent through NIC x; the expected NIC by PCI parents is y", two[1].Says())
	require.Equal(t, "b", two[1].Node)
}
