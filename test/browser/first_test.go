package browser

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestFirstScreen checks that what to set, or of kernels whether the data are right, how
// far to trust it and that the times are simulated is seen without scrolling, in a small
// window too.
func TestFirstScreen(t *testing.T) {
	browser := start(t)
	for _, width := range []int64{1280, 400} {
		tab, tr := open(t, browser, look{"first", width, 800, "light", true})
		if !evaluate[bool](t, tab, `!!document.querySelector(".verdict")`) {
			t.Skip("the page has no verdict")
		}
		bad := evaluate[[]string](t, tab, `(function () {
			var bad = [], chips = Array.from(document.querySelectorAll(".verdict .chips div"));
			var kernels = /^(Memory bandwidth|rmsnorm|layernorm|Muon) /.test(document.querySelector("h1").innerText);
			var want = kernels ? ["Data"] : /^Bisection /.test(document.querySelector("h1").innerText) ? ["Verdict"] : ["Bucket size"];
			if (document.querySelector("figure#bucket")) want.push("Confidence");
			if (document.title.includes("SIMULATED")) want.push("SIMULATED");
			want.forEach(function (w) {
				var c = chips.find(function (c) { return c.innerText.includes(w); });
				if (!c) bad.push("the verdict has no " + w);
				else if (c.getBoundingClientRect().bottom > innerHeight) bad.push(w + " is below the first screen");
			});
			return bad;
		})()`)
		for _, line := range bad {
			t.Errorf("%d px: %s", width, line)
		}
		if folder := shots(); folder != "" {
			var png []byte
			if err := chromedp.Run(tab, chromedp.CaptureScreenshot(&png)); err != nil {
				t.Fatal(err)
			}
			save(t, fmt.Sprintf("first-%d", width), png)
		}
		tr.check(t)
	}
}

// TestScreens checks that a page as it opens is at most eight screens high.
func TestScreens(t *testing.T) {
	tab, _ := open(t, start(t), look{"screens", 1280, 800, "light", true})
	if high := evaluate[int](t, tab, `document.documentElement.scrollHeight`); high > 8*800 {
		t.Errorf("the page is %d px high, more than 8 screens of 800", high)
	}
}

// TestContents checks that a link of the contents opens what it leads to.
func TestContents(t *testing.T) {
	tab, tr := open(t, start(t), look{"contents", 1280, 800, "light", true})
	for _, line := range evaluate[[]string](t, tab, `(function () {
		var bad = [];
		document.querySelectorAll("nav a").forEach(function (a) {
			var h = document.getElementById(a.getAttribute("href").slice(1));
			if (!h) bad.push(a.innerText + " leads nowhere");
		});
		return bad;
	})()`) {
		t.Error(line)
	}
	if err := chromedp.Run(tab, chromedp.Click(`nav a[href="#h-method"]`, chromedp.ByQuery), chromedp.Poll(`document.querySelector("section[aria-labelledby=h-method] details").open`, nil)); err != nil {
		t.Error("the contents do not open a folded section: ", err)
	}
	tr.check(t)
}

// TestZoom drags across a chart and uses keys and buttons: both pictures show a part of
// the sizes, with labels of that part, and all of it again.
func TestZoom(t *testing.T) {
	tab, tr := open(t, start(t), look{"zoom", 1280, 900, "light", true})
	const labels = `Array.from(document.querySelectorAll("figure svg.wide")[0].querySelectorAll("text")).filter(function (t) {
		return t.getBoundingClientRect().width > 0 && /iB$/.test(t.textContent); }).map(function (t) { return t.textContent; }).join(" ")`
	whole := evaluate[string](t, tab, labels)
	drag := func(from, to float64) {
		evaluate[any](t, tab, fmt.Sprintf(`(function () {
			var svg = document.querySelector("figure svg.wide"), r = svg.getBoundingClientRect();
			svg.setPointerCapture = function () {};
			function at(type, share) { svg.dispatchEvent(new PointerEvent(type, { pointerType: "mouse", button: 0, pointerId: 1, clientX: r.left + r.width * share, clientY: r.top + r.height / 2 })); }
			at("pointerdown", %g); at("pointermove", %g); at("pointerup", %g);
			return null;
		})()`, from, to, to))
	}
	drag(0.4, 0.6)
	part := evaluate[string](t, tab, labels)
	if part == whole || part == "" {
		t.Errorf("the labels are %q, then %q", whole, part)
	}
	if n := evaluate[int](t, tab, `document.querySelector("figure.zoomed").querySelectorAll("svg [clip-path]").length`); n < 4 {
		t.Errorf("%d groups of the two pictures are clipped", n)
	}
	outside := evaluate[[]string](t, tab, `(function () {
		var svg = document.querySelector("figure svg.wide"), box = svg.getBoundingClientRect(), bad = [];
		svg.querySelectorAll("text").forEach(function (e) {
			var r = e.getBoundingClientRect();
			if (r.width && (r.left < box.left - 1 || r.right > box.right + 1)) bad.push(e.textContent);
		});
		return bad;
	})()`)
	if len(outside) > 0 {
		t.Errorf("%q stick out of the picture", outside)
	}
	shoot(t, tab, "zoomed")
	evaluate[any](t, tab, `document.querySelector("figure svg.wide").focus()`)
	press(t, tab, "0")
	if got := evaluate[string](t, tab, labels); got != whole {
		t.Errorf("after 0 the labels are %q, not %q", got, whole)
	}
	evaluate[any](t, tab, `document.querySelector("figure .zoom button").click()`)
	if evaluate[string](t, tab, labels) == whole {
		t.Error("the button does not zoom in")
	}
	press(t, tab, "-")
	if got := evaluate[string](t, tab, labels); got != whole {
		t.Errorf("after + and − the labels are %q, not %q", got, whole)
	}
	tr.check(t)
}

// TestCopy presses every copy button and reads what was copied.
func TestCopy(t *testing.T) {
	tab, tr := open(t, start(t), look{"copy", 1280, 900, "light", true})
	bad := evaluate[[]string](t, tab, `(function () {
		var bad = [], got = "", all = document.querySelectorAll("button.copy");
		Object.defineProperty(navigator, "clipboard", { value: { writeText: function (text) { got = text; return Promise.resolve(); } } });
		document.querySelectorAll("details").forEach(function (d) { d.open = true; });
		if (all.length < 3) bad.push(all.length + " copy buttons");
		all.forEach(function (b) {
			got = "";
			b.click();
			if (got.trim().length < 10) bad.push(b.getAttribute("aria-label") + " copies " + JSON.stringify(got));
		});
		return bad;
	})()`)
	for _, line := range bad {
		t.Error(line)
	}
	tr.check(t)
}
