package report

import (
	"fmt"
	"strings"
)

// colour is the colour of a role on a light and on a dark background.
type colour struct{ role, light, dark string }

// curveColours is the number of series colours, s0 to s8, one per collective. A tenth series has
// the first colour and another marker.
const curveColours = 9

// palette is the only table of colours. The page's style sheet, the pictures and the contrast test
// use it. Series colours have a contrast of at least 3:1 against the background, text at least
// 4.5:1.
func palette() []colour {
	return []colour{
		{"bg", "#ffffff", "#0f1419"},
		{"panel", "#f6f8fa", "#171d24"},
		{"text", "#1b1f24", "#e6eaef"},
		{"muted", "#57606a", "#9ba7b4"},
		{"line", "#c9d1d9", "#38424d"},
		{"grid", "#e8ebef", "#222a33"},
		{"band", "#e3eefb", "#16293d"},
		{"roof", "#6e5494", "#b79ce0"},
		{"link", "#0b5cad", "#7cbcff"},
		{"warnbg", "#fff3cd", "#3a2e0c"},
		{"warntext", "#5a3d00", "#ffdf8f"},
		{"badbg", "#fde7e4", "#431a17"},
		{"badtext", "#8a1c12", "#ffb4a9"},
		{"s0", "#0b5fae", "#4da5f2"},
		{"s1", "#b8480a", "#f59042"},
		{"s2", "#15783f", "#57d173"},
		{"s3", "#8d31dc", "#d3aded"},
		{"s4", "#9c1f1d", "#ff7d9d"},
		{"s5", "#4a6272", "#a9bac7"},
		{"s6", "#766000", "#d9b918"},
		{"s7", "#0c7369", "#4fd1c5"},
		{"s8", "#7a4a22", "#d6a77a"},
	}
}

// light returns the colour of a role on a light background. An unknown role has the colour of text.
func light(role string) string {
	for _, c := range palette() {
		if c.role == role {
			return c.light
		}
	}
	return light("text")
}

// variables returns the palette as CSS. Colours are light by default and in print, and dark if the
// reader's system or the switch of the page says so.
func variables() string {
	var l, d strings.Builder
	for _, c := range palette() {
		fmt.Fprintf(&l, "--%s:%s;", c.role, c.light)
		fmt.Fprintf(&d, "--%s:%s;", c.role, c.dark)
	}
	return ":root{color-scheme:light;" + l.String() + "}\n" +
		"@media screen{\n" +
		"@media (prefers-color-scheme:dark){:root:not([data-theme=light]){color-scheme:dark;" + d.String() + "}}\n" +
		":root[data-theme=dark]{color-scheme:dark;" + d.String() + "}\n}\n"
}

// seriesRole is the colour role of the i-th series.
func seriesRole(i int) string { return fmt.Sprintf("s%d", i%curveColours) }

// dashOf returns the dash pattern of the i-th series, which distinguishes curves without colour.
// The lengths are in pixels. There are five patterns and eight markers, so that their combinations
// repeat only after forty series.
func dashOf(i int) []float64 {
	return [][]float64{nil, {7, 3}, {2, 3}, {9, 3, 2, 3}, {5, 5}}[i%5]
}

// markerOf returns the outline of the i-th series' marker around the origin, for a radius of 1; nil
// means a circle.
func markerOf(i int) []vec {
	const t = 0.36 // half the thickness of the arms of plus and cross
	return [][]vec{
		nil,
		{{-.88, -.88}, {.88, -.88}, {.88, .88}, {-.88, .88}},
		{{0, -1.15}, {1.1, .8}, {-1.1, .8}},
		{{0, -1.3}, {1.1, 0}, {0, 1.3}, {-1.1, 0}},
		{{0, 1.15}, {1.1, -.8}, {-1.1, -.8}},
		{{-t, -1.2}, {t, -1.2}, {t, -t}, {1.2, -t}, {1.2, t}, {t, t}, {t, 1.2}, {-t, 1.2}, {-t, t}, {-1.2, t}, {-1.2, -t}, {-t, -t}},
		{{0, -1.2}, {1.14, -.37}, {.71, .97}, {-.71, .97}, {-1.14, -.37}},
		{{0, -.5}, {.7, -1.2}, {1.2, -.7}, {.5, 0}, {1.2, .7}, {.7, 1.2}, {0, .5}, {-.7, 1.2}, {-1.2, .7}, {-.5, 0}, {-1.2, -.7}, {-.7, -1.2}},
	}[i%8]
}
