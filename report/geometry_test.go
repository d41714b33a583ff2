package report

import (
	"fmt"
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/unit"
	"zbench/bench/show/document"
	"zbench/test/longtest"
	"zbench/test/recordtest"
)

// checkGeometry holds for every scene: labels keep apart and inside the
// picture, and everything is somewhere.
func checkGeometry(t *testing.T, s scene, name string) {
	t.Helper()
	labels := s.labels()
	picture := box{-0.5, -0.5, s.width + 0.5, s.height + 0.5}
	for i, a := range labels {
		if !a.bounds().inside(picture) {
			t.Errorf("%s: %q sticks out of the picture: %v", name, a.text, a.bounds())
		}
		for _, b := range labels[i+1:] {
			if a.bounds().touches(b.bounds()) {
				t.Errorf("%s: %q overlaps %q", name, a.text, b.text)
			}
		}
	}
	for _, l := range s.layers {
		for _, d := range l.dots {
			if !unit.Finite(d.at.x) || !unit.Finite(d.at.y) || d.at.x < 0 || d.at.x > s.width || d.at.y < 0 || d.at.y > s.height {
				t.Errorf("%s: a marker lies at %v", name, d.at)
			}
		}
	}
}

// line is a chart with one curve between two sizes.
func line(q document.Quantity, lo, hi int64, least, most float64, roofs int) document.Chart {
	c := document.Chart{ID: "x", Title: "A chart", Subtitle: "1,024 ranks", Mark: "SIMULATED", Quantity: q, Series: []document.Series{{Name: "all_reduce"}}}
	for i := range roofs {
		c.Roofs = append(c.Roofs, document.Roof{Letter: document.Letter(i), Label: "measured on nodes", Value: most * (1 + float64(i)/20)})
	}
	c.Series[0].Points = []document.Point{{Bytes: lo, Value: least}, {Bytes: hi, Value: most}}
	return c
}

func TestLabelsKeepApart(t *testing.T) {
	longtest.OneGoroutine(t)
	for lo := int64(8); lo <= 16*unit.GiB; lo *= 2 {
		for hi := lo; hi <= 16*unit.GiB; hi *= 2 {
			for _, f := range []format{wide(), narrow(), alone()} {
				name := fmt.Sprintf("%s to %s at %v px", unit.Bytes(lo), unit.Bytes(hi), f.width)
				for q, roofs := range map[document.Quantity]int{document.BusBW: 3, document.Time: 0} {
					s := layOut(line(q, lo, hi, 2e-5, 2e-5*float64(hi/lo), roofs), f)
					checkGeometry(t, s, name)
					require.GreaterOrEqual(t, labelled(s.x), 2, "%s: x axis", name)
					require.GreaterOrEqual(t, labelled(s.y), 2, "%s: y axis", name)
				}
			}
		}
	}
}

func TestValuesOfAnyScale(t *testing.T) {
	for e := -9; e <= 14; e++ {
		for _, m := range []float64{1, 1.7, 3, 9.99} {
			v := m * math.Pow10(e)
			for _, f := range []format{wide(), narrow(), alone()} {
				checkGeometry(t, layOut(line(document.BusBW, 1024, 1<<20, v/3, v, 5), f), fmt.Sprint("busbw ", v))
				if e < 6 {
					checkGeometry(t, layOut(line(document.Time, 1024, 1<<20, v, v*1.01, 0), f), fmt.Sprint("time ", v))
				}
			}
		}
	}
}

func labelled(a axis) int {
	n := 0
	for _, t := range a.ticks {
		if t.label != "" {
			n++
		}
	}
	return n
}

func TestTickLabels(t *testing.T) {
	texts := func(a axis) (out []string) {
		for _, tk := range a.ticks {
			if tk.label != "" {
				out = append(out, tk.label)
			}
		}
		return out
	}
	fine := func(string) float64 { return 0.08 }
	coarse := func(string) float64 { return 0.12 }
	require.Equal(t, []string{"1 KiB", "4 KiB", "16 KiB", "64 KiB", "256 KiB", "1 MiB"}, texts(powerAxis(1<<10, 1<<20, "", unit.Bytes, coarse)))
	require.Equal(t, []string{"1 KiB", "32 KiB", "1 MiB", "32 MiB", "1 GiB"}, texts(powerAxis(1<<10, 8<<30, "", unit.Bytes, fine)))
	require.Equal(t, []string{"0", "100", "200", "300", "400"}, texts(rateAxis("bus bandwidth", 400e9, 6)))
	require.Equal(t, "bus bandwidth, MB/s", rateAxis("bus bandwidth", 3e6, 6).title)
	require.Equal(t, []string{"100 µs", "200 µs", "500 µs", "1 ms"}, texts(timeAxis(1e-4, 1e-3, 9)))
	require.Equal(t, []string{"1 µs", "1 ms", "1 s"}, texts(timeAxis(1e-6, 1, 3)))
}

func TestRoofsAreNamedInFullWhereThereIsRoom(t *testing.T) {
	c := sizeCharts(recordtest.Sweep(24))[0]
	require.True(t, namesRoofs(layOut(c, wide()), c))
	require.True(t, namesRoofs(layOut(c, alone()), c))
	require.False(t, namesRoofs(layOut(c, narrow()), c), "the list beneath names them")
}

// TestContrast computes WCAG 2's ratio for what stands on which ground.
func TestContrast(t *testing.T) {
	dark, bright := map[string]string{}, map[string]string{}
	for _, c := range palette() {
		bright[c.role], dark[c.role] = c.light, c.dark
	}
	on := map[string][]string{
		"bg":     {"text", "muted", "link", "roof", "warntext", "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8"},
		"panel":  {"text", "muted", "link", "warntext"},
		"warnbg": {"warntext"}, "badbg": {"badtext"},
	}
	for name, scheme := range map[string]map[string]string{"light": bright, "dark": dark} {
		for ground, roles := range on {
			for _, role := range roles {
				require.GreaterOrEqual(t, contrast(t, scheme[ground], scheme[role]), 4.5, "%s on %s, %s", role, ground, name)
			}
		}
	}
}

func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	x, y := luminance(t, a), luminance(t, b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

func luminance(t *testing.T, colour string) float64 {
	t.Helper()
	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		v, err := strconv.ParseUint(colour[1+2*i:3+2*i], 16, 8)
		require.NoError(t, err)
		c := float64(v) / 255
		if c <= 0.03928 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		sum += weight * c
	}
	return sum
}

func TestMarkersAndDashesTellCurvesApart(t *testing.T) {
	seen := map[string]bool{}
	for i := range 40 {
		key := fmt.Sprint(markerOf(i), dashOf(i))
		require.False(t, seen[key], "curve %d looks like another without colour", i)
		seen[key] = true
	}
}
