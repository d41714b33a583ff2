package browser

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// TestChecksSeeFaults damages the page in one way after another and expects a
// complaint: a check that cannot fail shows nothing.
func TestChecksSeeFaults(t *testing.T) {
	browser := start(t)
	for name, fault := range map[string]struct{ damage, complaint string }{
		"wide page": {`document.querySelector("main").append(Object.assign(document.createElement("div"), {innerHTML: "<hr width=3000>"}))`, "px wide in a window"},
		"overlap":   {`var t = document.querySelector("svg.chart text"); t.after(t.cloneNode(true))`, "overlaps"},
		"clipped":   {`document.querySelector("svg.chart text").setAttribute("x", "-20")`, "sticks out"},
		"small":     {`document.querySelector("svg.chart text").setAttribute("font-size", "4")`, "px high"},
		"faint":     {`document.documentElement.style.setProperty("--muted", "#bbbbbb")`, "has contrast"},
	} {
		t.Run(name, func(t *testing.T) {
			tab, _ := open(t, browser, look{name, 1280, 900, "light", true})
			evaluate[any](t, tab, "(function () {"+fault.damage+"; return null; })()")
			complaints := strings.Join(evaluate[[]string](t, tab, checks), "\n")
			if !strings.Contains(complaints, fault.complaint) {
				t.Errorf("no complaint about %q in %q", fault.complaint, complaints)
			}
		})
	}
}

// TestTroubleIsSeen makes the page err, ask for a file and break its policy.
func TestTroubleIsSeen(t *testing.T) {
	browser := start(t)
	for name, fault := range map[string]struct{ damage, kind string }{
		"console":   {`console.error("broken")`, "console error"},
		"exception": {`setTimeout(function () { throw new Error("broken"); })`, "exception"},
		"image":     {`new Image().src = "http://127.0.0.1:9/x.png"`, "Content Security Policy"},
		"script":    {`document.body.append(Object.assign(document.createElement("script"), {textContent: "1"}))`, "Content Security Policy"},
		"style":     {`document.body.setAttribute("style", "color:red")`, "Content Security Policy"},
		"request":   {`location.href = "elsewhere.html"`, "request"},
	} {
		t.Run(name, func(t *testing.T) {
			tab, tr := open(t, browser, look{name, 1280, 900, "light", true})
			evaluate[any](t, tab, "(function () {"+fault.damage+"; return null; })()")
			for !strings.Contains(tr.text(), fault.kind) {
				if err := chromedp.Run(tab, chromedp.Sleep(10*time.Millisecond)); err != nil { // at the tab's limit
					t.Fatalf("no %q in what was gathered: %q: %v", fault.kind, tr.text(), err)
				}
			}
		})
	}
}
