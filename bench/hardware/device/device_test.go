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
// CDNA 2 at 1.7 GHz and 1,024 FLOP a clock and unit, CDNA 3 at 2.1 GHz and 2,048,
// CDNA 4 at 2.2 and 2.4 GHz and 4,096, Hopper's SXM at 1.83 GHz and 4,096, Ampere at
// 1.41 GHz and 2,048. Only MI355X's is published rounded, to 2.5.
func TestRatesFollowFromTheSilicon(t *testing.T) {
	for name, rate := range map[string]float64{
		"MI250X": 1.7e9 * 1024, "MI300X": 2.1e9 * 2048, "MI325X": 2.1e9 * 2048, "MI300A": 2.1e9 * 2048, "MI350X": 2.2e9 * 4096, "MI355X": 2.4e9 * 4096,
		"NVIDIA H200": 1.83e9 * 4096, "NVIDIA H100 80GB HBM3": 1.83e9 * 4096, "NVIDIA A100-SXM4-80GB": 1.41e9 * 2048,
	} {
		d, _ := Lookup(name)
		require.InEpsilon(t, float64(d.Units)*rate, d.BF16, 0.007, name)
	}
}

func TestEveryEntryIsWhole(t *testing.T) {
	require.NotEmpty(t, All())
	whole := string(text)
	for gone, instead := range map[string]string{
		"  arch: gfx942\n": "", "    date: ROCm 7.13\n": "", "  bandwidth: 5.3e+12\n": "",
		"rocm-mi300: [bandwidth, bf16, fp16]": "rocm-mi300: [bf16, fp16]", // no source
		"mi300a-overview: [bandwidth]":        "mi300a-overview: [bandwidth, bf16]",
		"from: {rocm-specs: [units, memory":   "from: {rocm-spex: [units, memory",
		"  from: {":                           "  form: {",
	} {
		require.Contains(t, whole, gone)
		_, err := read([]byte(strings.Replace(whole, gone, instead, 1)))
		require.Error(t, err, gone)
	}
}

// Each figure says where it is from, and one that no page confirms says so.
func TestSourceOfEachFigure(t *testing.T) {
	for _, d := range All() {
		for figure := range d.figures() {
			require.NotEmpty(t, sourceOf(d, figure), "%s %s", d.Name, figure)
		}
		require.Empty(t, sourceOf(d, "price"), d.Name)
	}
	h200, _ := Lookup("NVIDIA H200")
	require.Contains(t, sourceOf(h200, "cache"), "not confirmed")
	require.Contains(t, sourceOf(h200, "bandwidth"), "2026-06-21")
	require.Equal(t, sourceOf(h200, "bandwidth"), h200.Source+", "+h200.Date)
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

// What others reached is that of the device and the type, of no other.
func TestReachOfAnotherType(t *testing.T) {
	known := 0
	for _, d := range table() {
		if r, ok := ReachOf(d.Match[0], "bfloat16"); ok {
			require.Equal(t, [2]string{d.Name, "bfloat16"}, [2]string{r.Device, r.Dtype})
			known++
		}
		_, ok := ReachOf(d.Match[0], "int3")
		require.False(t, ok, d.Name)
	}
	require.Positive(t, known)
}

// sourceOf says where a figure is published and when, or that no page confirms
// it and how it was worked out. Empty for what the entry does not have.
func sourceOf(d Device, figure string) string {
	s, found := d.find(figure)
	if found == 0 && d.Computed {
		return d.Source
	}
	return strings.TrimSuffix(s.Text+", "+s.Date, ", ")
}
