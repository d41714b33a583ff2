package browser

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// axeSource is the text of axe.min.js, which scripts/axe.sh fetches; ZBENCH_AXE is its path.
func axeSource(t *testing.T) string {
	t.Helper()
	path := os.Getenv("ZBENCH_AXE")
	if path == "" {
		t.Skip("ZBENCH_AXE is not set: give the path that scripts/axe.sh prints")
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// finding is a rule of axe-core that the page breaks, and where.
type finding struct {
	ID     string   `json:"id"`
	Impact string   `json:"impact"`
	Help   string   `json:"help"`
	Where  []string `json:"where"`
}

// runAxe opens everything that folds, runs all rules of axe-core and keeps what is
// serious or critical. A table's rows are of one kind, as are a curve's points and a
// section's figures: a few of them tell as much as thousands, on which axe-core takes
// minutes. TestLooks looks at all.
const runAxe = `(async function (only) {
	document.querySelectorAll("details").forEach(function (d) { d.open = true; });
	document.querySelectorAll("tbody tr:nth-child(n+6)").forEach(function (r) { r.remove(); });
	document.querySelectorAll("svg [data-s]").forEach(function (g) { Array.from(g.children).slice(5).forEach(function (e) { e.remove(); }); });
	document.querySelectorAll("table").forEach(function (t) { Array.from(t.tBodies).slice(3).forEach(function (b) { b.remove(); }); });
	document.querySelectorAll("section").forEach(function (s) { Array.from(s.querySelectorAll("figure")).slice(3).forEach(function (f) { f.remove(); }); });
	var found = await axe.run(document, Object.assign({ resultTypes: ["violations"] }, only && { runOnly: only }));
	return JSON.stringify({
		passes: found.passes.length,
		violations: found.violations.filter(function (v) { return v.impact === "serious" || v.impact === "critical"; }).map(function (v) {
			return { id: v.id, impact: v.impact, help: v.help, where: v.nodes.slice(0, 3).map(function (n) { return n.html.slice(0, 160); }) };
		}),
	});
})(%s)`

// axe runs axe-core in the tab: the rules that are named, or all of them.
func axe(t *testing.T, l look, damage string, only ...string) []finding {
	t.Helper()
	source := axeSource(t)
	tab, tr := open(t, start(t), l)
	rules, err := json.Marshal(only)
	if err != nil {
		t.Fatal(err)
	}
	least := 10
	if len(only) > 0 {
		least = 0
	}
	var text string
	err = chromedp.Run(tab, chromedp.Evaluate(source+";"+damage+";null", nil), chromedp.Evaluate(fmt.Sprintf(runAxe, rules), &text, func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
	if err != nil {
		t.Fatal(err)
	}
	tr.check(t)
	var got struct {
		Passes     int
		Violations []finding
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	if got.Passes < least || got.Passes+len(got.Violations) == 0 {
		t.Fatalf("axe-core passed %d rules only: it did not look at the page", got.Passes)
	}
	return got.Violations
}

// colours are axe-core's rules on them that are on by default.
var colours = []string{"color-contrast", "link-in-text-block"}

// TestAxe runs axe-core's rules on the page, wide and narrow; in the dark those on colours,
// because nothing else differs there.
func TestAxe(t *testing.T) {
	for _, l := range looks() {
		if l.width == 800 {
			continue
		}
		var only []string
		if l.scheme == "dark" {
			only = colours
		}
		t.Run(l.name, func(t *testing.T) {
			for _, f := range axe(t, l, "", only...) {
				t.Errorf("%s (%s): %s: %q", f.ID, f.Impact, f.Help, f.Where)
			}
		})
	}
}

// TestAxeSeesFaults takes the name from a button and the contrast from the text: a
// check that cannot fail shows nothing.
func TestAxeSeesFaults(t *testing.T) {
	for rule, damage := range map[string]string{
		"button-name":    `document.querySelector("#theme").textContent = ""`,
		"color-contrast": `document.documentElement.style.setProperty("--text", "#aaaaaa")`,
	} {
		t.Run(rule, func(t *testing.T) {
			for _, f := range axe(t, look{"damaged", 1280, 900, "light", true}, damage, rule) {
				if f.ID == rule {
					return
				}
			}
			t.Errorf("axe-core does not see %s", rule)
		})
	}
}
