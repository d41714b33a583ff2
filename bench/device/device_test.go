package device

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Names as drivers give them.
func TestLookup(t *testing.T) {
	for name, want := range map[string]string{
		"AMD Instinct MI300X": "MI300X", "AMD Instinct MI300X OAM": "MI300X", "MI300X": "MI300X", "AMD Instinct MI300A": "MI300A",
		"AMD Instinct MI325X": "MI325X", "AMD Instinct MI355X": "MI355X", "AMD Instinct MI250X": "MI250X (one die)",
		"NVIDIA H200": "H200 SXM", "NVIDIA H100 80GB HBM3": "H100 SXM", "NVIDIA H100 PCIe": "H100 PCIe",
		"NVIDIA A100-SXM4-80GB": "A100 SXM 80 GB", "NVIDIA A100-SXM4-40GB": "A100 SXM 40 GB", "NVIDIA A100 80GB PCIe": "A100 PCIe 80 GB",
	} {
		d, ok := Lookup(name)
		require.True(t, ok, name)
		require.Equal(t, want, d.Name, name)
	}
	for _, name := range []string{"", "NVIDIA H100 NVL", "AMD Radeon RX 7900 XTX", "NVIDIA GH200 480GB"} {
		d, ok := Lookup(name)
		require.False(t, ok, "%s is %s", name, d.Name)
	}
}

// Figures of one kind of silicon hang together: units × clock × rate of a unit.
// CDNA 3 at 2.1 GHz and 2,048 FLOP a clock and unit, Hopper's SXM at 1.83 GHz and
// 4,096 (the vendors' white papers).
func TestRatesFollowFromTheSilicon(t *testing.T) {
	for name, rate := range map[string]float64{"MI300X": 2.1e9 * 2048, "MI325X": 2.1e9 * 2048, "MI300A": 2.1e9 * 2048, "NVIDIA H200": 1.83e9 * 4096, "NVIDIA H100 80GB HBM3": 1.83e9 * 4096} {
		d, _ := Lookup(name)
		require.InEpsilon(t, float64(d.Units)*rate, d.BF16, 0.002, name)
	}
}

func TestEveryEntryIsWhole(t *testing.T) {
	require.NotEmpty(t, All())
	whole := string(text)
	for _, gone := range []string{"  arch: gfx942\n", "  source: ", "  date: 2023-12\n", "  bandwidth: 5.3e+12\n"} {
		broken := strings.Replace(whole, gone, "", 1)
		if gone == "  source: " {
			broken = strings.Replace(whole, gone, "  scource: ", 1)
		}
		_, err := read([]byte(broken))
		require.Error(t, err, gone)
	}
}

// The attributes of an H200 (3,201 MHz, 6,144 bits) give 2 % more than its
// nominal 4.8 TB/s; an MI300X's half of its peak. So the table comes first.
func TestByAttributesIsMarked(t *testing.T) {
	d := ByAttributes(Attributes{Name: "x", MemoryClock: 3.201e9, BusWidth: 6144})
	require.InEpsilon(t, 4.917e12, d.Bandwidth, 1e-3)
	require.True(t, d.Computed)
	require.Zero(t, d.BF16)
	mi300x, _ := Lookup("MI300X")
	require.InEpsilon(t, mi300x.Bandwidth/2, ByAttributes(Attributes{MemoryClock: 1.3e9, BusWidth: 8192}).Bandwidth, 0.01)
	require.False(t, mi300x.Computed)
}
