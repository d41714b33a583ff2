package bisect

import (
	"encoding/csv"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/answers/compare"
	"zbench/bench/base/exit"
	"zbench/bench/base/finding"
	"zbench/test/rendertest"
	"zbench/test/schematest"
)

// documented is the document of a search with names.
func documented(t *testing.T, p *planted, variants, cases int, o Criteria) *Document {
	t.Helper()
	s := p.search(t, variants, cases, o)
	h := Header{Timing: "burst", GPUs: 8}
	var entries []Entry
	for i := range variants {
		name := string(rune('a' + i))
		h.Variants = append(h.Variants, Given{Name: "build-" + name, Settings: "--rocm-path /opt/" + name})
		if s.out[i] {
			entries = append(entries, Entry{Variant: "build-" + name, Reason: "its child run failed (exit code 1)", Evidence: []string{"zbench: it crashed"}})
		}
	}
	for i := range cases {
		h.Cases = append(h.Cases, Planned{Key: "all_reduce/" + string(rune('0'+i)), Collective: "all_reduce float sum", Bytes: 1 << (20 + i)})
	}
	d := s.Document(h, entries)
	d.Seconds, d.Children, d.Complete = 100, len(p.children), true
	return d
}

func slower5(t *testing.T) *compare.FailOn {
	t.Helper()
	f, err := compare.ParseFailOn("slower:5%")
	require.NoError(t, err)
	return f
}

func TestDocuments(t *testing.T) {
	unordered := Defaults()
	unordered.Unordered = true
	short := Defaults()
	short.MaxRounds = 2
	for _, x := range []struct {
		name    string
		p       planted
		o       Criteria
		verdict compare.Verdict
		says    string
		failed  finding.State
	}{
		{"slower", planted{slow: from(2, 4, 1, 0.1), noise: 0.003}, Defaults(), Slower, "FIRST SLOW VARIANT: build-c. It is slower than build-b in 1 of 3 cases.", finding.Fail},
		{"slower by less than the gate asks", planted{slow: from(2, 4, 1, 0.03), noise: 0.003}, Defaults(), Slower, "FIRST SLOW VARIANT: build-c.", finding.Pass},
		{"none", planted{noise: 0.003}, Defaults(), Same, "NO SLOW VARIANT: build-e is not slower than build-a by 2 % or more in any of 3 cases.", finding.Pass},
		{"broken", planted{noise: 0.003, broken: map[int]bool{4: true}}, Defaults(), Same, "NO SLOW VARIANT: build-d is not slower", finding.Fail},
		{"unclear", planted{slow: from(1, 4, 1, 0.02), noise: 0.05}, short, Unclear, "UNCLEAR: 3 of 3 cases are not decided after 2 rounds.", finding.NotChecked},
		{"nothing works", planted{broken: map[int]bool{0: true, 1: true, 2: true, 3: true}}, Defaults(), NotChecked, "NOT CHECKED: fewer than two variants could be compared.", finding.Fail},
		{"ranked", planted{slow: map[int]map[int]float64{0: {0: 0.1}, 3: {0: 0.2}}, noise: 0.003}, unordered, Ranked, "FASTEST: build-b and build-c and build-e: no variant is faster in 3 of 3 cases.", finding.Pass},
		{"all equal", planted{noise: 0.003}, unordered, Same, "SAME: no two variants differ by 2 % or more in any of 3 cases.", finding.Pass},
	} {
		x.p.seed = 3
		d := documented(t, &x.p, 5, 3, x.o)
		require.Equal(t, x.verdict, d.Verdict, x.name)
		require.Contains(t, d.Headline(), x.says, x.name)
		d.Simulated = true
		require.Contains(t, d.Headline(), "SIMULATED: "+x.says, x.name)
		require.Equal(t, x.failed, d.Gate(slower5(t)).State, x.name)
		code := exit.OK
		if e, ok := errors.AsType[*exit.Error](d.Gate(slower5(t)).Err(false)); ok {
			code = e.Code
		}
		require.Equal(t, map[finding.State]int{finding.Pass: exit.OK, finding.Fail: exit.Regression, finding.NotChecked: exit.Want}[x.failed], code, x.name)
		d.Gated = d.Gate(slower5(t))

		require.NoError(t, schematest.Fits(t, schematest.Compile(t, schematest.Read(t, "schema/v1.json")), schematest.Written(t, d)), x.name)
		require.NotContains(t, rendertest.Text(t, d.Shown(), 100, true)+rendertest.Markdown(t, d.Shown()), "NaN", x.name)
	}
}

// The gate's line has the condition as it was given, then the worst case with its figure.
func TestTheGateNamesTheWorstCase(t *testing.T) {
	for want, p := range map[string]planted{
		`^✗ FAIL: slower:5%: no variant may be slower by 5 % or more; missed by 2 of 3 cases, the worst all_reduce float sum, 2 MiB: slower from build-c on, \+[12]\d %$`: {slow: map[int]map[int]float64{2: {0: 0.08, 1: 0.2}, 3: {0: 0.08, 1: 0.2}, 4: {0: 0.08, 1: 0.2}}, noise: 0.003},
		`^✓ PASS: slower:5%: no variant may be slower by 5 % or more; the worst of 3 cases is all_reduce float sum, 2 MiB: slower from build-c on, \+3\.\d %$`:            {slow: from(2, 4, 1, 0.03), noise: 0.003},
		`^✗ FAIL: slower:5%: no variant may be slower by 5 % or more; build-e could not be measured: its child run failed`:                                                {noise: 0.003, broken: map[int]bool{4: true}},
	} {
		p.seed = 3
		require.Regexp(t, want, documented(t, &p, 5, 3, Defaults()).Gate(slower5(t)).Findings()[0].Text)
	}
}

// A left-out variant is shown with its reason and its evidence, and fails in a test server's
// list if a gate was given.
func TestLeftOutIsShown(t *testing.T) {
	p := planted{noise: 0.003, broken: map[int]bool{2: true, 4: true}, seed: 1}
	d := documented(t, &p, 5, 3, Defaults())
	require.Equal(t, finding.List{{Code: CodeLeftOut, Text: "build-e is left out: its child run failed (exit code 1).", Hint: "zbench: it crashed", Severity: finding.Fault}}, d.Findings().Faults())
	states := map[string]finding.State{}
	d.Require(slower5(t), false)
	for _, o := range d.checks() {
		states[o.Name] = o.State
	}
	require.Equal(t, finding.Fail, states["build-e"])
	require.Equal(t, finding.Pass, states["build-a"])
	require.Equal(t, finding.Pass, states["all_reduce/0"])
	d.Require(nil, false)
	for _, o := range d.checks() {
		require.NotEqual(t, finding.Fail, o.State, o.Name)
	}
}

// The drift is that of the machine: it rises with a level that was planted, whatever variants
// and cases the children measured. Where variants were measured at different times, a part of
// it may be taken for their effects.
func TestDriftOfChildren(t *testing.T) {
	p := planted{slow: from(2, 4, 1, 0.1), noise: 0.001, drift: 0.01, seed: 5}
	d := documented(t, &p, 5, 6, Defaults())
	require.Len(t, d.Drift, len(p.children))
	first := *d.Drift[0].Change
	for i, l := range d.Drift {
		require.NotNil(t, l.Change)
		require.InDelta(t, 0.01*float64(i), math.Log1p(*l.Change)-math.Log1p(first), 0.004+0.003*float64(i), "child %d", i)
	}
}

// The CSV has a row for each variant of each case, and a name that a spreadsheet would
// compute is kept from that.
func TestWriteCSV(t *testing.T) {
	p := planted{slow: from(2, 4, 1, 0.1), noise: 0.003, broken: map[int]bool{4: true}, seed: 3}
	d := documented(t, &p, 5, 3, Defaults())
	d.Variants[0].Name, d.Cases[0].Variants[0].Name = "=1+1", "=1+1"
	rows, err := csv.NewReader(strings.NewReader(rendertest.CSV(t, d.Shown()))).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 1+5*3)
	require.Equal(t, []string{"all_reduce/1", "all_reduce float sum", "2097152", "slower", "build-c"}, rows[1+5][:5])
	require.NotEqual(t, "=1+1", rows[1][6])
	require.Equal(t, "true", rows[5][13])
}
