// Package browser looks at a report the way a reader does: in Chromium, wide
// and narrow, light and dark, with and without script. It is a module of its
// own so that zbench itself needs no browser.
//
//	ZBENCH_REPORT=/path/report.html go test ./...
//
// The report must have results: without any there is little to look at. Several paths
// with a colon between them are looked at one after another, in one browser; RUN@SKIP@ before
// one are the values of -run and -skip from there on.
// ZBENCH_SHOTS names a folder for screenshots; CHROMIUM names the browser.
package browser

import (
	"context"
	"flag"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// report is the path of the page under test; TestMain sets it.
var report string

// reportURL is the page under test.
func reportURL(t *testing.T) string {
	t.Helper()
	if report == "" {
		t.Fatal("ZBENCH_REPORT is not set: give the path of a report.html")
	}
	path, err := filepath.Abs(report)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("ZBENCH_REPORT: %v", err)
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

// shared is the browser of all tests: it is started once, and ended by TestMain.
var shared struct {
	once sync.Once
	ctx  context.Context
	err  error
	end  []func()
}

// TestMain runs the tests on each page, to the first one with a failure.
func TestMain(m *testing.M) {
	code := 0
	for _, page := range filepath.SplitList(os.Getenv("ZBENCH_REPORT")) {
		words := strings.Split(page, "@")
		for i, name := range []string{"test.run", "test.skip"} {
			if len(words) == 3 && flag.Set(name, words[i]) != nil {
				panic(name)
			}
		}
		report = words[len(words)-1]
		fmt.Println(report)
		if code = m.Run(); code != 0 {
			break
		}
	}
	if report == "" {
		code = m.Run() // each test says what is missing
	}
	for _, end := range slices.Backward(shared.end) {
		end()
	}
	os.Exit(code)
}

// start returns the browser. Each tab has a profile of its own (see open), so that no
// test depends on what another left.
func start(t *testing.T) context.Context {
	t.Helper()
	shared.once.Do(launch)
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.ctx
}

func launch() {
	binary := os.Getenv("CHROMIUM")
	if binary == "" {
		binary = "/usr/bin/chromium"
	}
	// Without a folder of ours chromedp makes a fresh profile and removes it
	// when the browser is gone.
	opts := append([]chromedp.ExecAllocatorOption{}, chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck,
		chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.ExecPath(binary),
		chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true),
		chromedp.Flag("disable-dev-shm-usage", true),
		chromedp.WSURLReadTimeout(2*time.Minute), // a machine with other work starts it slowly
	)
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), opts...)
	shared.end = append(shared.end, cancel)
	shared.ctx, cancel = chromedp.NewContext(ctx)
	shared.end = append(shared.end, cancel)
	if err := chromedp.Run(shared.ctx); err != nil {
		shared.err = fmt.Errorf("start %s: %w", binary, err)
	}
}

// look is one way of looking at the page.
type look struct {
	name          string
	width, height int64
	scheme        string
	script        bool
}

// trouble gathers what the browser complains about and what it asks for.
type trouble struct {
	mu   sync.Mutex
	list []string
}

func (tr *trouble) add(kind, text string) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.list = append(tr.list, kind+": "+text)
}

// text is all of it, one complaint to a line.
func (tr *trouble) text() string {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return strings.Join(tr.list, "\n")
}

// check fails the test for everything that was gathered.
func (tr *trouble) check(t *testing.T) {
	t.Helper()
	if text := tr.text(); text != "" {
		t.Error(text)
	}
}

// watch listens to the tab: errors, policy violations, and any request but the
// page's own.
func (tr *trouble) watch(ctx context.Context, page string) {
	chromedp.ListenTarget(ctx, func(event any) {
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			tr.add("exception", e.ExceptionDetails.Error())
		case *runtime.EventConsoleAPICalled:
			if e.Type == runtime.APITypeError || e.Type == runtime.APITypeWarning || e.Type == runtime.APITypeAssert {
				tr.add("console "+string(e.Type), string(e.Args[0].Value))
			}
		case *log.EventEntryAdded:
			tr.add("log "+string(e.Entry.Level), e.Entry.Text)
		case *network.EventRequestWillBeSent:
			if strings.SplitN(e.Request.URL, "#", 2)[0] != page {
				tr.add("request", e.Request.URL)
			}
		}
	})
}

// open shows the page in a new tab with a fresh profile and returns it with what it
// complains about.
func open(t *testing.T, browser context.Context, l look) (context.Context, *trouble) {
	t.Helper()
	ctx, cancel := context.WithTimeout(browser, 5*time.Minute)
	t.Cleanup(cancel)
	tab, cancel := chromedp.NewContext(ctx, chromedp.WithTargetID(window(t, ctx)))
	t.Cleanup(cancel)
	page, tr := reportURL(t), &trouble{}
	tr.watch(tab, page)
	err := chromedp.Run(tab, log.Enable(), network.Enable(), runtime.Enable(),
		emulation.SetDeviceMetricsOverride(l.width, l.height, 1, l.width < 600),
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: l.scheme}}),
		emulation.SetScriptExecutionDisabled(!l.script),
		chromedp.Navigate(page))
	if err != nil {
		t.Fatal(err)
	}
	return tab, tr
}

// window opens an empty window with a fresh profile.
func window(t *testing.T, browser context.Context) target.ID {
	t.Helper()
	browser = cdp.WithExecutor(browser, chromedp.FromContext(browser).Browser)
	profile, err := target.CreateBrowserContext().Do(browser)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = target.DisposeBrowserContext(profile).Do(browser) }) // it goes with the browser at the latest
	id, err := target.CreateTarget("about:blank").WithBrowserContextID(profile).WithNewWindow(true).Do(browser)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// evaluate runs an expression in the page and reads its value.
func evaluate[T any](t *testing.T, tab context.Context, expression string) T {
	t.Helper()
	var out T
	if err := chromedp.Run(tab, chromedp.Evaluate(expression, &out)); err != nil {
		t.Fatalf("evaluate: %v", err)
	}
	return out
}

// shots is the folder for screenshots; empty where none were asked for.
func shots() string { return os.Getenv("ZBENCH_SHOTS") }

// shoot saves the whole page as a picture, where that was asked for.
func shoot(t *testing.T, tab context.Context, name string) {
	t.Helper()
	if shots() == "" {
		return
	}
	var png []byte
	if err := chromedp.Run(tab, chromedp.FullScreenshot(&png, 100)); err != nil {
		t.Fatal(err)
	}
	save(t, name, png)
}

// save writes a screenshot.
func save(t *testing.T, name string, png []byte) {
	t.Helper()
	if err := os.MkdirAll(shots(), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(shots(), name+".png"), png, 0o644); err != nil {
		t.Fatal(err)
	}
}
