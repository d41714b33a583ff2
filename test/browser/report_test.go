package browser

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

//go:embed checks.js
var checks string

// looks are the windows the page must be good in.
func looks() []look {
	var out []look
	for _, width := range []int64{1280, 800, 400} {
		for _, scheme := range []string{"light", "dark"} {
			out = append(out, look{fmt.Sprintf("%s-%d", scheme, width), width, 900, scheme, true})
		}
	}
	return out
}

// TestLooks checks geometry and contrast, and that the page asks for nothing.
func TestLooks(t *testing.T) {
	browser := start(t)
	for _, l := range looks() {
		t.Run(l.name, func(t *testing.T) {
			tab, tr := open(t, browser, l)
			for _, complaint := range evaluate[[]string](t, tab, checks) {
				t.Error(complaint)
			}
			ground := evaluate[string](t, tab, `getComputedStyle(document.body).backgroundColor`)
			if dark := ground != "rgb(255, 255, 255)"; dark != (l.scheme == "dark") {
				t.Errorf("the ground is %s in the %s scheme", ground, l.scheme)
			}
			shoot(t, tab, l.name)
			tr.check(t)
		})
	}
}

// TestSimulated checks that a simulated report says so where it is seen first,
// and in every picture.
func TestSimulated(t *testing.T) {
	tab, _ := open(t, start(t), look{"simulated", 1280, 900, "light", true})
	if !evaluate[bool](t, tab, `document.title.includes("SIMULATED")`) {
		t.Skip("the report is not of a simulation")
	}
	bad := evaluate[[]string](t, tab, `(function () {
		var bad = [];
		var banner = document.querySelector(".banner.simulated");
		if (!banner || !banner.innerText.includes("SIMULATED")) bad.push("no banner says SIMULATED");
		else if (banner.getBoundingClientRect().bottom > innerHeight) bad.push("the banner is below the fold");
		document.querySelectorAll("svg.chart").forEach(function (s) {
			if (!Array.from(s.querySelectorAll("text")).some(function (t) { return t.textContent.includes("SIMULATED"); }))
				bad.push(s.getAttribute("aria-labelledby") + " does not say SIMULATED");
		});
		return bad;
	})()`)
	for _, line := range bad {
		t.Error(line)
	}
}

// TestEveryPictureHasATable checks that what a picture shows can be read as
// text too, and that the pointer reads small pictures as it does large ones.
func TestEveryPictureHasATable(t *testing.T) {
	tab, tr := open(t, start(t), look{"tables", 1280, 900, "light", true})
	bad := evaluate[[]string](t, tab, `(function () {
		var bad = [];
		// A picture that is folded away has no place to point at.
		document.querySelectorAll("details").forEach(function (d) { d.open = true; });
		document.querySelectorAll("figure").forEach(function (f) {
			var rows = f.querySelectorAll("details table tbody tr").length;
			if (!rows) bad.push(f.id + " has no table");
			var svg = f.querySelector("svg.chart"), box = f.querySelector(".readout"), r = svg.getBoundingClientRect();
			svg.dispatchEvent(new PointerEvent("pointermove", { clientX: r.left + r.width / 2, clientY: r.top + r.height / 2 }));
			if (!box || box.hidden || !/iB|tokens|µs|ms/.test(box.innerText)) bad.push(f.id + " reads out nothing");
			svg.dispatchEvent(new PointerEvent("pointerleave"));
		});
		return bad;
	})()`)
	for _, line := range bad {
		t.Error(line)
	}
	tr.check(t)
}

// TestBucketSize checks that the answer is seen before the curves it is from, that
// it can be told from the others without colour, and that the lines to copy are whole.
func TestBucketSize(t *testing.T) {
	tab, tr := open(t, start(t), look{"bucket", 1280, 900, "light", true})
	if !evaluate[bool](t, tab, `!!document.querySelector("section[aria-labelledby=h-advice]")`) {
		t.Skip("the report has no bucket size")
	}
	bad := evaluate[[]string](t, tab, `(function () {
		var bad = [], s = document.querySelector("section[aria-labelledby=h-advice]");
		if (!/(set|use|keep) .*[0-9.]+ [kMGT]/i.test(s.querySelector(".answer").innerText)) bad.push("the sentence says no size: " + s.querySelector(".answer").innerText);
		var chips = document.querySelector(".verdict .chips").innerText;
		if (!/Bucket size\s+(use|keep) [0-9.]+/.test(chips) || !/Confidence\s+(low|medium|high)/.test(chips)) bad.push("the verdict lacks the setting or the confidence: " + chips);
		var best = s.querySelectorAll("table.settings:not(details:not(.fold) *) tr.best");
		var kept = best.length === 1 && best[0].innerText.includes("keep this");
		if (best.length !== 1 || !/(use|keep) this/.test(best[0].innerText)) bad.push(best.length + " rows are the answer");
		if (getComputedStyle(best[0].cells[0]).fontWeight < 600) bad.push("the answer's row looks like the others");
		var size = best[0].cells[0].innerText;
		var sentence = s.querySelector(".answer").innerText.split(". ")[0];
		if (!sentence.includes(size) || !(kept ? /keep /i : /(set|use) /i).test(sentence)) bad.push("the table says " + size + ", the sentence something else");
		var named = Array.from(s.querySelectorAll("svg.wide text")).map(function (t) { return t.textContent; });
		(kept ? ["keep ", "within "] : ["use ", "default ", "yours ", "within "]).forEach(function (w) {
			if (!named.some(function (n) { return n.startsWith(w); })) bad.push("the picture does not name " + w);
		});
		if (!s.querySelector("svg.wide rect")) bad.push("the plateau is not shaded");
		s.querySelectorAll("pre").forEach(function (p) {
			if (!p.textContent.includes("# zbench: ") || !p.textContent.includes("# check with")) bad.push("lines to copy are cut: " + p.textContent);
		});
		return bad;
	})()`)
	for _, line := range bad {
		t.Error(line)
	}
	tr.check(t)
}

// TestTimingsAreApart checks that the results table keeps the two timings under
// headings of their own, wherever the report has both.
func TestTimingsAreApart(t *testing.T) {
	tab, _ := open(t, start(t), look{"timings", 1280, 900, "light", true})
	if !evaluate[bool](t, tab, `!!document.querySelector("figure#alone")`) {
		t.Skip("the report has no launches timed alone")
	}
	heads := evaluate[[]string](t, tab, `Array.from(document.querySelectorAll("table.results .over th")).map(function (h) { return h.textContent; })`)
	if len(heads) != 2 || !strings.Contains(heads[0], "burst") || !strings.Contains(heads[1], "isolated") {
		t.Errorf("the results table's headings are %q", heads)
	}
	if text := evaluate[string](t, tab, `(document.querySelector("section[aria-labelledby=h-late]") || document.body).textContent`); !strings.Contains(text, "launches of") {
		t.Errorf("who is late is not said of how many launches: %q", text)
	}
}

// TestWithoutScript checks that the page is whole when script is off.
func TestWithoutScript(t *testing.T) {
	browser := start(t)
	for _, width := range []int64{1280, 400} {
		l := look{fmt.Sprintf("noscript-%d", width), width, 900, "light", false}
		tab, tr := open(t, browser, l)
		var text, html string
		if err := chromedp.Run(tab, chromedp.Text("body", &text, chromedp.ByQuery), chromedp.OuterHTML("html", &html, chromedp.ByQuery)); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(html, `class="readout"`) {
			t.Error("the script ran: this test shows nothing")
		}
		for _, want := range []string{"Results", "by message size", "How it was measured", "Verdict", "busbw", "KiB"} {
			if !strings.Contains(text, want) {
				t.Errorf("without script the page does not show %q", want)
			}
		}
		if !strings.Contains(html, "algbw") {
			t.Error("without script the page does not have the results that fold")
		}
		if strings.Contains(text, "Theme:") {
			t.Error("without script the theme button shows and does nothing")
		}
		if n := strings.Count(html, "<table"); n < 3 {
			t.Errorf("%d tables, want one for the results and one beside each chart", n)
		}
		shoot(t, tab, l.name)
		for line := range strings.Lines(tr.text()) {
			// The browser itself notes that it blocked the script.
			if !strings.Contains(line, "JavaScript") && !strings.Contains(line, "script execution") {
				t.Error(line)
			}
		}
	}
}

// TestKeyboard reaches every control with Tab and works them.
func TestKeyboard(t *testing.T) {
	tab, tr := open(t, start(t), look{"keyboard", 1280, 900, "light", true})
	seen := map[string]bool{}
	reach := []string{"skip", "theme", "legend", "chart", "scroll"}
	for range 200 {
		if !slices.ContainsFunc(reach, func(w string) bool { return !seen[w] }) {
			break
		}
		if err := chromedp.Run(tab, chromedp.KeyEvent(kb.Tab)); err != nil {
			t.Fatal(err)
		}
		what := evaluate[string](t, tab, `(function () {
			var e = document.activeElement;
			if (e.id) return e.id;
			if (e.matches(".legend button")) return "legend";
			return e.matches("svg.chart") ? "chart" : e.className || e.tagName;
		})()`)
		if what == "theme" && !seen[what] {
			pressTheme(t, tab)
		}
		if what == "chart" && !seen[what] {
			readChart(t, tab)
		}
		if what == "legend" && !seen[what] {
			switchSeries(t, tab)
		}
		seen[what] = true
	}
	for _, want := range reach {
		if !seen[want] {
			t.Errorf("Tab does not reach %s", want)
		}
	}
	tr.check(t)
}
