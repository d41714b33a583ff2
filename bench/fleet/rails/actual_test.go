package rails_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/fleet/rails"
)

// A NIC named n1 is the expected one of the ring's GPU.
func TestActualRails(t *testing.T) {
	const sent = 1000
	nic := func(name string, bytes uint64) rails.Carried {
		return rails.Carried{NIC: name, Bytes: bytes, Counted: true, Expected: name == "n1"}
	}
	silent := nic("n1", 0)
	silent.Counted = false
	for name, x := range map[string]struct {
		nics []rails.Carried
		use  rails.Use
		by   []string
		why  string
	}{
		"the expected NIC":                  {[]rails.Carried{nic("n0", 3), nic("n1", 1040), nic("n2", 0)}, rails.AsExpected, []string{"n1"}, ""},
		"another NIC":                       {[]rails.Carried{nic("n0", 3), nic("n1", 20), nic("n2", 1040)}, rails.Crossed, []string{"n2"}, ""},
		"two others":                        {[]rails.Carried{nic("n0", 501), nic("n1", 0), nic("n2", 510)}, rails.Crossed, []string{"n2", "n0"}, ""},
		"most through the expected":         {[]rails.Carried{nic("n0", 300), nic("n1", 720)}, rails.SharedUse, []string{"n1", "n0"}, ""},
		"most through another":              {[]rails.Carried{nic("n0", 700), nic("n1", 320)}, rails.Crossed, []string{"n0", "n1"}, ""},
		"other traffic beside the ring":     {[]rails.Carried{nic("n0", 1400), nic("n1", 1010)}, rails.AsExpected, []string{"n0", "n1"}, ""},
		"the expected NIC has no counter":   {[]rails.Carried{nic("n0", 800), silent}, rails.UseUnknown, []string{"n0"}, "the expected NIC has no counter"},
		"a reading that lags":               {[]rails.Carried{nic("n0", 0), nic("n1", 1990)}, rails.AsExpected, []string{"n1"}, ""},
		"no NIC":                            {nil, rails.UseUnknown, nil, "no NIC of the node was read"},
		"no counter":                        {[]rails.Carried{silent}, rails.UseUnknown, nil, "no counter of the bytes"},
		"bytes elsewhere":                   {[]rails.Carried{nic("n0", 40), nic("n1", 40)}, rails.UseUnknown, nil, "did not count the bytes of the ring"},
		"the expected NIC alone is unread":  {[]rails.Carried{silent, nic("n2", 10)}, rails.UseUnknown, nil, "did not count the bytes of the ring"},
		"traffic of another job":            {[]rails.Carried{nic("n0", 9000), nic("n1", 1000)}, rails.UseUnknown, []string{"n0", "n1"}, "other traffic"},
		"without topology":                  {[]rails.Carried{nic("n0", 1000)}, rails.UseUnknown, []string{"n0"}, "by PCI parents"},
		"counters of huge value (overflow)": {[]rails.Carried{nic("n0", 1<<64-1), nic("n1", 1<<64-1)}, rails.UseUnknown, []string{"n0", "n1"}, "other traffic"},
	} {
		t.Run(name, func(t *testing.T) {
			a := rails.ActualRails(1, 5, sent, x.nics)
			require.Len(t, a, 1)
			require.Equal(t, rails.Place{GPU: 5}, a[0].Place)
			require.Equal(t, x.use, a[0].Use)
			require.Equal(t, x.by, a[0].NICs)
			require.Contains(t, a[0].Why, x.why)
			require.Equal(t, x.use == rails.UseUnknown, a[0].Why != "")
			require.NotEmpty(t, a[0].Says())
		})
	}
	two := rails.ActualRails(2, 0, sent, []rails.Carried{{Node: 1, NIC: "x", Bytes: sent, Counted: true}, {Node: 1, NIC: "y", Counted: true, Expected: true}})
	require.Equal(t, rails.UseUnknown, two[0].Use)
	require.Equal(t, "crossed rail: GPU 0 sent through NIC x; the expected NIC by PCI parents is y", two[1].Says())
}
