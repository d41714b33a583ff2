package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/answers/fleet/nodescreen"
	"zbench/bench/base/exit"
	"zbench/bench/base/finding"
	"zbench/bench/engine"
	"zbench/report"
	"zbench/test/longtest"
)

// printed runs a command and returns its exit code and both outputs.
func printed(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	s, out := testState(t, args...)
	var b bytes.Buffer
	s.Stderr = Stream{Writer: &b}
	s.Start = func(c Command) (Child, error) { return inThisProcess(s, c), nil }
	code = Main(context.Background(), s)
	return code, out.String(), b.String()
}

// tags are what a page has around its texts.
var tags = regexp.MustCompile(`<[^>]*>`)

// words are a text without its layout: what a page marks up, Markdown escapes and a terminal folds.
func words(text string) string {
	text = strings.NewReplacer(`\_`, "_", `\*`, "*", `\[`, "[", `\|`, "|", "**", "").Replace(text)
	return unfolded(html.UnescapeString(text))
}

// A document has its findings in its JSON, and all of its forms show these and no others.
func TestLongFormsShowTheSameFindings(t *testing.T) {
	longtest.OnlyOrDetected(t)
	besideScripts(t)
	dir := t.TempDir()
	swept := filepath.Join(dir, "swept")
	require.Zero(t, first(printed(t, small(swept, "--nodes", "2", "-q")...)))
	again := filepath.Join(dir, "again")
	require.Zero(t, first(printed(t, small(again, "--nodes", "2", "--seed", "2", "-q")...)))
	fleet := filepath.Join(dir, "fleet")
	for i := range 4 {
		s, _ := testState(t)
		n := &nodescreen.Node{Schema: nodescreen.NodeSchema, Host: fmt.Sprintf("n%d", i), Facts: []nodescreen.Fact{{Name: "RCCL", Value: fmt.Sprintf("2.2%d", max(i, 2))}}}
		require.NoError(t, keepNode(s, fleet, n))
	}
	matrix := filepath.Join(dir, "pairs.csv")
	require.NoError(t, os.WriteFile(matrix, []byte("a,b,46\na,c,46\na,d,20\nb,c,46\nb,d,20\nc,d,20\n"), 0o600))
	wide := filepath.Join(dir, "wide")
	require.Zero(t, first(printed(t, "collectives", "all_reduce", "--nodes", "2", "-b", "64K", "-e", "8G", "-f", "8", "-n", "5", "--out", wide, "-q")))
	for i, x := range []struct {
		line string
		// file has the JSON of the document beside its page; empty is no folder.
		file string
	}{
		{"collectives all_reduce --nodes 2 -b 1K -e 64K -f 4 --fault late_gpu:node=1,gpu=3,seconds=1e-3 --threshold all_reduce\x00busbw>=900GB/s", "results.json"},
		{"hbm --backend loopback --size 64K --max-time 0.001 --kernels copy --dtype float32", "results.json"},
		{"kernels rmsnorm --backend loopback --rows 2 --hidden 64", "results.json"},
		{"kernels muon --backend loopback --shape 16x8", "results.json"},
		{"gemm --backend loopback --mnk 300x200x100 --choices 2", "results.json"},
		{"compare " + swept + " " + again + " --fail-on slower", "compare.json"},
		{"rails --matrix " + matrix, "rails.json"},
		{"rails --nodes 2 --gpus-per-node 2 --fault slow_node:node=0,left=0.5", "rails.json"},
		{"soak --nodes 2 --gpus-per-node 2 --sizes 64K --attempts 20 --fault stale_send:node=1,gpu=0", "soak.json"},
		{"suite testdata/suite.yaml --backend loopback --nodes 2 -q", "suite.json"},
		{"screen --judge " + fleet, "screen.json"},
		{"topo --root " + dir, ""},
		{"watch --root " + dir + " --state " + filepath.Join(dir, "state"), "watch.json"},
		{"doctor --backend rocm", ""},
		{"recommend " + swept + " --framework ddp --preset llama3-8b --backward-ms 80", "recommend.json"},
		{"replay " + wide + " --framework ddp --preset llama3-8b --backward-ms 80 -q", "replay.json"},
	} {
		args := strings.Fields(x.line)
		for i, a := range args {
			args[i] = strings.ReplaceAll(a, "\x00", " ")
		}
		forms, out := map[string]string{}, filepath.Join(dir, strconv.Itoa(i))
		for _, format := range report.FormatNames() {
			more := []string{"--format", format}
			switch {
			case x.file == "results.json" && len(forms) > 0: // times of a host are others in each run
				given := slices.Index(args, "--threshold")
				if given < 0 {
					given = len(args)
				}
				args = append([]string{"report", out}, args[given:]...)
			case x.file != "":
				more = append(more, "--out", out, "--force")
			}
			code, stdout, stderr := printed(t, append(args, more...)...)
			require.NotEqual(t, exit.Usage, code, "%q: %s", args, stderr)
			forms[format] = stdout
		}
		shown(t, x.line, forms, out, x.file)
	}
	bisection := filepath.Join(dir, "bisection")
	forms := map[string]string{}
	for _, format := range report.FormatNames() {
		args := []string{"--resume", bisection}
		if len(forms) == 0 {
			args = bisected(bisection)
		}
		s, found, _, _ := bisectState(t, nil, append(args, "--format", format)...)
		require.Zero(t, Main(context.Background(), s))
		forms[format] = found.String()
	}
	shown(t, "bisect", forms, bisection, "bisect.json")
}

// shown checks the forms of a document, its page and its file in a folder, if it has one.
func shown(t *testing.T, line string, forms map[string]string, folder, name string) {
	t.Helper()
	all := stored(t, line, forms["json"])
	if strings.HasPrefix(line, "collectives") {
		all = append(unlabelled(all), advised(t, folder)...)
	}
	showTheSame(t, line, all, forms)
	if name == "" {
		return
	}
	if args := strings.Fields(line); args[0] == "recommend" { // its page has the curves, with what they come to
		all = append(all, unlabelled(judged(t, line, readBytes(t, args[1], engine.ResultsFile)))...)
	}
	page, err := os.ReadFile(filepath.Join(folder, "report.html"))
	require.NoError(t, err)
	verdict := regexp.MustCompile(`(?s)<section class="verdict".*?</section>`).FindString(string(page))
	text := words(tags.ReplaceAllString(string(page), ""))
	for _, f := range all {
		_, says := f.Word()
		require.Contains(t, text, words(says), line)
	}
	if !strings.Contains(verdict, " more, listed below") {
		require.Equal(t, len(all)+thresholds(line), strings.Count(verdict, "<li"), line)
	}
	file, err := os.ReadFile(filepath.Join(folder, name))
	require.NoError(t, err)
	stored(t, line, string(file))
}

// unlabelled are a record's findings where a recommendation says that it is simulated.
func unlabelled(all finding.List) finding.List {
	return slices.DeleteFunc(all, func(f finding.Finding) bool { return f.Code == finding.CodeSimulated })
}

// advised are the findings of the recommendation for assumed settings, which has no file where it is refused.
func advised(t *testing.T, folder string) finding.List {
	t.Helper()
	s, _ := testState(t)
	rec, err := readAny(s, folder)
	require.NoError(t, err)
	source := sourceOf(s, folder, rec)
	source.Fault = faultOf(rec)
	return assumed(s, source).Judgement.Findings
}

// thresholds are how many findings a command adds that are of its flags, not of what it measured.
func thresholds(line string) int { return strings.Count(line, "--threshold") }

// stored are the findings in the JSON of a command's document, whose schema is one of the command's.
func stored(t *testing.T, line, text string) finding.List {
	t.Helper()
	var file struct{ Schema string }
	require.NoError(t, json.Unmarshal([]byte(text), &file), line)
	i := slices.IndexFunc(commands, func(c command) bool { return c.name == strings.Fields(line)[0] })
	require.Contains(t, commands[i].schemas, file.Schema, line)
	return judged(t, line, text)
}

// judged are the findings in a file.
func judged(t *testing.T, line, text string) finding.List {
	t.Helper()
	var file struct{ Judgement *finding.Judgement }
	require.NoError(t, json.Unmarshal([]byte(text), &file), line)
	require.NotNil(t, file.Judgement, line)
	return file.Judgement.Findings
}

// showTheSame checks that the findings are in every form: of a terminal and of Markdown those that they
// say that they show.
func showTheSame(t *testing.T, line string, all finding.List, forms map[string]string) {
	t.Helper()
	require.NotEmpty(t, all, line)
	var suite struct {
		Output string `xml:"testsuite>system-out"`
	}
	require.NoError(t, xml.Unmarshal([]byte(forms["junit"]), &suite), line)
	_, err := csv.NewReader(strings.NewReader(forms["csv"])).ReadAll()
	require.NoError(t, err, line)
	require.Len(t, strings.Split(strings.TrimSpace(suite.Output), "\n"), len(all)+thresholds(line), line)
	for i, f := range all {
		require.Contains(t, words(suite.Output), words(f.Text), line)
		_, says := f.Word()
		for _, name := range []string{"table", "markdown"} {
			if cut := regexp.MustCompile(`(\d+) more, listed below`).FindStringSubmatch(forms[name]); cut != nil && i > 0 {
				continue
			}
			require.Contains(t, words(forms[name]), words(says), "%s --format %s", line, name)
		}
	}
}

func first(code int, _, _ string) int { return code }

// What there is no form for is refused before anything is run, with the forms that there are.
func TestUnknownFormats(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	for _, args := range [][]string{
		{"collectives", "--out", out},
		{"import", "none.log"},
		{"report", "none"},
		{"hbm", "--out", out},
		{"kernels", "rmsnorm", "--out", out},
		{"recommend", "none.log"},
		{"compare", "a", "b"},
		{"bisect", "--variant", "a=", "--variant", "b="},
		{"doctor"},
		{"topo", "--out", out},
		{"topo", "a.json", "b.json"},
		{"rails", "--matrix", "none", "--out", out},
		{"screen", "--out", out},
	} {
		code, stdout, stderr := printed(t, append(args, "--format", "yaml")...)
		require.Equal(t, exit.Usage, code, "%q: %s", args, stderr)
		require.Contains(t, stderr, `unknown format "yaml": valid are `+strings.Join(report.FormatNames(), ", "), "%q", args)
		require.Empty(t, stdout, "%q", args)
		require.NoDirExists(t, out)
	}
}

// A record that is drawn again prints what its run printed.
func TestReportPrintsWhatTheRunPrinted(t *testing.T) {
	besideScripts(t)
	for _, args := range [][]string{
		{"collectives", "all_reduce", "-b", "1K", "-e", "4K", "--nodes", "2"},
		{"collectives", "all_reduce", "-b", "1K", "-e", "4K", "--nodes", "2", "--fault", "late_gpu:node=1,gpu=3,seconds=1e-3"},
		{"kernels", "muon", "--backend", "loopback", "--shape", "16x8"},
		{"gemm", "--backend", "loopback", "--mnk", "300x200x100", "--choices", "2"},
	} {
		dir := filepath.Join(t.TempDir(), "out")
		args = append(args, "--out", dir, "--force")
		for _, format := range report.FormatNames() {
			_, ran, stderr := printed(t, append(args, "--format", format)...)
			require.NotEmpty(t, ran, stderr)
			code, drawn, stderr := printed(t, "report", dir, "--format", format)
			require.Zero(t, code, stderr)
			require.Equal(t, ran, drawn, "%q --format %s", args, format)
		}
	}
}
