package browser

import (
	"context"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// press sends keys to the focused element.
func press(t *testing.T, tab context.Context, keys string) {
	t.Helper()
	if err := chromedp.Run(tab, chromedp.KeyEvent(keys)); err != nil {
		t.Fatal(err)
	}
}

// pressTheme goes through the theme button's states: system, light, dark.
func pressTheme(t *testing.T, tab context.Context) {
	t.Helper()
	const ground = `getComputedStyle(document.body).backgroundColor`
	before := evaluate[string](t, tab, ground)
	press(t, tab, kb.Enter)
	press(t, tab, kb.Enter)
	if evaluate[string](t, tab, ground) == before {
		t.Error("the theme button does not change the ground")
	}
	if got := evaluate[string](t, tab, `document.getElementById("theme").textContent`); got != "Theme: dark" {
		t.Errorf("the theme button says %q", got)
	}
	press(t, tab, kb.Enter)
}

// readChart walks along the sizes with the arrow keys.
func readChart(t *testing.T, tab context.Context) {
	t.Helper()
	const text = `(function () {
		var box = document.activeElement.parentElement.querySelector(".readout");
		return box.hidden ? "" : box.innerText;
	})()`
	press(t, tab, kb.ArrowRight)
	first := evaluate[string](t, tab, text)
	press(t, tab, kb.ArrowRight)
	second := evaluate[string](t, tab, text)
	sizes := evaluate[int](t, tab, `new Set(JSON.parse(document.querySelector("script#data").textContent)[0].series
		.flatMap(function (s) { return s.points.map(function (p) { return p.b; }); })).size`)
	if first == "" || first == second && sizes > 1 {
		t.Errorf("the read-out shows %q, then %q", first, second)
	}
	shoot(t, tab, "readout")
	press(t, tab, kb.Escape)
	if got := evaluate[string](t, tab, text); got != "" {
		t.Errorf("the read-out stays after Escape: %q", got)
	}
}

// switchSeries hides a curve and shows it again.
func switchSeries(t *testing.T, tab context.Context) {
	t.Helper()
	const hidden = `(function () {
		var b = document.activeElement, i = b.parentElement.getAttribute("data-key");
		return b.closest("figure").querySelectorAll(".chart [data-s='" + i + "'].off").length;
	})()`
	press(t, tab, kb.Enter)
	if n := evaluate[int](t, tab, hidden); n != 2 {
		t.Errorf("%d of 2 pictures hide the curve", n)
	}
	if got := evaluate[string](t, tab, `document.activeElement.getAttribute("aria-pressed")`); got != "false" {
		t.Errorf("aria-pressed is %q for a hidden curve", got)
	}
	press(t, tab, kb.Enter)
	if n := evaluate[int](t, tab, hidden); n != 0 {
		t.Errorf("the curve stays hidden in %d pictures", n)
	}
}
