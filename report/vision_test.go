package report

import (
	"fmt"
	"math"
	"strconv"
	"testing"

	"zbench/bench/show/document"

	"github.com/stretchr/testify/require"
)

// visions turn linear RGB into what an eye makes of it. The matrices are those of
// Machado, Oliveira and Fernandes, "A Physiologically-based Model for Simulation of
// Color Vision Deficiency", IEEE TVCG 15(6), 2009, for severity 1.0. Greyscale is the
// luminance of Rec. 709.
var visions = map[string][3][3]float64{
	"normal":       {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
	"protanopia":   {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}},
	"deuteranopia": {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}},
	"greyscale":    {{0.2126, 0.7152, 0.0722}, {0.2126, 0.7152, 0.0722}, {0.2126, 0.7152, 0.0722}},
}

// seen is a colour in CIE L*a*b* (D65) as an eye sees it.
func seen(t *testing.T, colour string, eye [3][3]float64) [3]float64 {
	t.Helper()
	var rgb, through [3]float64
	for i := range rgb {
		v, err := strconv.ParseUint(colour[1+2*i:3+2*i], 16, 8)
		require.NoError(t, err)
		c := float64(v) / 255
		if c <= 0.04045 {
			rgb[i] = c / 12.92
		} else {
			rgb[i] = math.Pow((c+0.055)/1.055, 2.4)
		}
	}
	for i, row := range eye {
		for k, w := range row {
			through[i] += w * rgb[k]
		}
		through[i] = min(1, max(0, through[i]))
	}
	var xyz [3]float64
	for i, row := range [3][3]float64{{0.4124, 0.3576, 0.1805}, {0.2126, 0.7152, 0.0722}, {0.0193, 0.1192, 0.9505}} {
		for k, w := range row {
			xyz[i] += w * through[k]
		}
		xyz[i] /= []float64{0.95047, 1, 1.08883}[i]
		if xyz[i] > 216.0/24389 {
			xyz[i] = math.Cbrt(xyz[i])
		} else {
			xyz[i] = (24389.0/27*xyz[i] + 16) / 116
		}
	}
	return [3]float64{116*xyz[1] - 16, 500 * (xyz[0] - xyz[1]), 200 * (xyz[1] - xyz[2])}
}

// apart is the distance of two colours: CIE76's ΔE, of which about 2.3 is just
// noticeable.
func apart(a, b [3]float64) float64 {
	return math.Sqrt((a[0]-b[0])*(a[0]-b[0]) + (a[1]-b[1])*(a[1]-b[1]) + (a[2]-b[2])*(a[2]-b[2]))
}

// Six series of one chart can be told apart by every eye: by colour where that
// reaches ΔE 10, four times what is just noticeable, and in any case by marker and by
// dash. Greyscale has marker and dash alone.
func TestSixSeriesAreToldApart(t *testing.T) {
	schemes := map[string]map[string]string{"light": {}, "dark": {}}
	for _, c := range palette() {
		schemes["light"][c.role], schemes["dark"][c.role] = c.light, c.dark
	}
	for i := range document.SeriesPerChart {
		for k := range i {
			require.NotEqual(t, markerOf(i), markerOf(k), "the markers of %d and %d", i, k)
			require.NotEqual(t, fmt.Sprint(markerOf(i), dashOf(i)), fmt.Sprint(markerOf(k), dashOf(k)))
			for scheme, colours := range schemes {
				for name, eye := range visions {
					if name == "greyscale" {
						continue
					}
					d := apart(seen(t, colours[seriesRole(i)], eye), seen(t, colours[seriesRole(k)], eye))
					if d < 10 {
						t.Errorf("%s, %s: series %d and %d are ΔE %.1f apart", scheme, name, k, i, d)
					}
				}
			}
		}
	}
}

// The simulation against its own definition: a protanope tells no red from a dark
// yellow-green, and everybody tells black from white.
func TestVisionIsSimulated(t *testing.T) {
	red, green := "#ff0000", "#008000"
	normal := apart(seen(t, red, visions["normal"]), seen(t, green, visions["normal"]))
	for _, eye := range []string{"protanopia", "deuteranopia"} {
		require.Less(t, apart(seen(t, red, visions[eye]), seen(t, green, visions[eye])), normal/2, eye)
	}
	for name, eye := range visions {
		require.InDelta(t, 100, apart(seen(t, "#000000", eye), seen(t, "#ffffff", eye)), 1, name)
	}
}
