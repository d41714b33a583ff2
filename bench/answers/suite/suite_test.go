package suite

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/answers/fleet/rails"
	"zbench/bench/base/exit"
	"zbench/bench/base/finding"
	"zbench/bench/base/jsonfile"
	"zbench/bench/base/stat"
	"zbench/bench/run/record"
	"zbench/bench/show/document"
	"zbench/test/schematest"
)

// Every suite of zbench's own can be read, and its placeholders resolve.
func TestShippedSuites(t *testing.T) {
	require.Equal(t, []string{"acceptance", "characterise", "nightly"}, Names())
	for _, name := range Names() {
		text, err := Shipped(name)
		require.NoError(t, err)
		s, err := Read(text, 12, "read", "copy", "triad", "gemm", "rmsnorm")
		require.NoError(t, err, name)
		require.Equal(t, name, s.Name)
		for _, r := range s.Rows {
			for _, gpu := range []bool{false, true} {
				args, why := r.Args(World{Nodes: 12, GPU: gpu, Rows: "now", Before: "then"})
				require.Empty(t, why)
				require.NotContains(t, strings.Join(args, " "), "{", r.Name)
			}
			for _, f := range r.Figures {
				for _, p := range f.Published {
					require.NotEmpty(t, p.Source, f.What)
				}
			}
		}
	}
	_, err := Shipped("characterize-all")
	require.ErrorContains(t, err, "unknown suite")
}

func TestPlaceholders(t *testing.T) {
	r := Row{Name: "a", Run: "compare {before}/a {rows}/a --scale {powers} --n {nodes}", WithoutGPU: "list"}
	args, why := r.Args(World{Nodes: 12, GPU: true, Rows: "now", Before: "then"})
	require.Empty(t, why)
	require.Equal(t, []string{"compare", "then/a", "now/a", "--scale", "1,2,4,8,12", "--n", "12"}, args)
	r.Nodes = OneNode
	args, _ = r.Args(World{Nodes: 16, GPU: true, Before: "then"})
	require.Equal(t, "1", args[len(args)-1])
	_, why = r.Args(World{Nodes: 1, GPU: true})
	require.Contains(t, why, "no earlier suite")
	args, _ = r.Args(World{Nodes: 1})
	require.Equal(t, []string{"list"}, args, "without a GPU")
}

const head = "name: x\nrows:\n  - {name: a, title: A, run: list"

func TestSuitesAreRefused(t *testing.T) {
	for text, why := range map[string]string{
		"":                    "it is empty",
		"name: [":             "it is no suite",
		"name: X\nrows: [{}]": "the suite needs a name",
		"name: x":             "and rows",
		head + "}\n  - {name: a, title: A, run: list}":                                                               "an earlier row has this name",
		"name: x\nrows: [{name: A, title: a, run: list}]":                                                            "other characters",
		"name: x\nrows: [{name: a, run: list}]":                                                                      "needs a title",
		head + ", nodes: some}":                                                                                      "nodes is",
		head + " --out x}":                                                                                           "leave --out out",
		head + " --nodes=3}":                                                                                         "leave --nodes out",
		"name: x\nrows: [{name: a, title: A, run: 'list {node}'}]":                                                   "{node} is unknown",
		"name: x\nrows: [{name: a, title: A, run: suite y}]":                                                         "cannot run a suite",
		head + ", figures: [{pick: all_reduce busbw}]}":                                                              "it needs what",
		head + ", figures: [{what: w}]}":                                                                             "one of pick, finding and rule",
		head + ", figures: [{what: w, pick: all_reduce busbw, rule: groups}]}":                                       "one of pick, finding and rule",
		head + ", figures: [{what: w, rule: grops}]}":                                                                "unknown rule",
		head + ", figures: [{what: w, rule: groups, knee: true}]}":                                                   "belong to a pick",
		head + ", figures: [{what: w, pick: busbw}]}":                                                                "is no figure",
		head + ", figures: [{what: w, pick: all_reduce nodes=x busbw}]}":                                             "nodes=x",
		head + ", figures: [{what: w, pick: all_reduce busbw, over: all_reduce, knee: true}]}":                       "exclude each other",
		head + ", figures: [{what: w, pick: all_reduce busbw, published: [{value: 0, of: o, source: s, date: d}]}]}": "needs its value",
	} {
		_, err := Read([]byte(text), 1)
		require.Error(t, err, text)
		require.ErrorContains(t, err, why, text)
	}
}

func FuzzRead(f *testing.F) {
	for _, name := range Names() {
		text, err := Shipped(name)
		require.NoError(f, err)
		f.Add(text)
	}
	f.Add([]byte(head + "}"))
	f.Fuzz(func(_ *testing.T, text []byte) {
		s, err := Read(text, 3, "read", "copy", "triad", "gemm", "rmsnorm")
		if err != nil {
			return
		}
		for _, r := range s.Rows {
			r.Args(World{Nodes: 3, Rows: "now"})
		}
	})
}

func FuzzReadJournal(f *testing.F) {
	text, err := jsonfile.Lines(strings.Repeat("0", 32), Header{Schema: JournalSchema, Text: head + "}", Nodes: 2}, []Entry{{Row: "a"}})
	require.NoError(f, err)
	f.Add(text)
	f.Fuzz(func(t *testing.T, text []byte) {
		h, entries, err := ReadJournal(text)
		if err != nil {
			return
		}
		again, err := jsonfile.Lines(h.Run, h, entries)
		require.NoError(t, err)
		_, same, err := ReadJournal(again)
		require.NoError(t, err)
		require.Equal(t, entries, same)
	})
}

func TestJournals(t *testing.T) {
	h := Header{Schema: JournalSchema, Run: strings.Repeat("a", 32), Text: "t", Nodes: 2, Common: []string{"--seed=2"}}
	entries := []Entry{{Row: "a", Seconds: 2}, {Row: "b", Code: 3, Evidence: []string{"x"}}}
	text, err := jsonfile.Lines(h.Run, h, entries)
	require.NoError(t, err)
	got, same, err := ReadJournal(text)
	require.NoError(t, err)
	require.Equal(t, h, got)
	require.Equal(t, entries, same)
	_, same, err = ReadJournal(text[:len(text)-3])
	require.NoError(t, err, "the last line was cut off")
	require.Len(t, same, 1)
	_, _, err = ReadJournal(bytes.Replace(text, []byte(`"b"`), []byte(`"c"`), 1))
	require.Error(t, err)
	_, _, err = ReadJournal(nil)
	require.ErrorContains(t, err, "empty")
}

// summary is times of a launch with their interval.
func summary(seconds, part float64) *stat.Summary {
	lo, hi := seconds*(1-part), seconds*(1+part)
	return &stat.Summary{N: 20, Median: seconds, Lo: &lo, Hi: &hi}
}

// swept is a record of all_reduce on groups of 2, 4 and 8 ranks.
func swept() *record.Record {
	rec := &record.Record{Source: record.Source{Kind: record.Measured}}
	for ranks, rate := range map[int]float64{2: 47.671e9, 4: 138e9, 8: 312.912e9} {
		r := record.Result{Collective: "all_reduce", Ranks: ranks, Nodes: 1, Bytes: 4 << 30, BytesRequested: 4 << 30, BusBW: &rate}
		r.Status, r.Burst = record.OK, &record.Timing{MeanOfRanks: summary(1, 0.001)}
		rec.Results = append(rec.Results, r)
	}
	return rec
}

func shown(said finding.List) *document.Document { return &document.Document{Findings: said} }

func outcomes(t *testing.T, r Row, e *Entry, result *Result) Outcome {
	t.Helper()
	for i := range r.Figures {
		require.NoError(t, r.Figures[i].fill(1, nil))
	}
	return r.Outcome(e, result, []string{"collectives"}, "rows/a")
}

// Figures of hardware are compared with what others published first-hand; a model's and claims at second hand are not.
func TestFiguresAreCompared(t *testing.T) {
	published := func(v float64, secondHand bool) Published {
		return Published{Value: v, Of: "o", Source: "s", Date: "d", SecondHand: secondHand}
	}
	row := Row{Name: "a", Title: "A", Figures: []Figure{
		{What: "agrees", Pick: "all_reduce ranks=8 busbw", Published: []Published{published(319e9, false), published(1, true)}},
		{What: "differs", Pick: "all_reduce ranks=8 busbw", Published: []Published{published(361e9, false)}},
		{What: "hearsay", Pick: "all_reduce ranks=8 busbw", Published: []Published{published(361e9, true)}},
		{What: "share", Pick: "all_reduce ranks=2 busbw", Over: "all_reduce ranks=8 busbw", Published: []Published{published(0.1523, false)}},
		{What: "time", Pick: "all_reduce time"},
		{What: "rule", Rule: "groups"},
		{What: "none", Pick: "all_gather busbw", Published: []Published{published(1, false)}},
		{What: "said", Finding: "no_fault"},
		{What: "rails", Rule: "between-nodes"},
	}}
	said := finding.List{{Code: "no_fault", Text: "SIMULATED: No fault."}}
	o := outcomes(t, row, &Entry{Row: "a"}, &Result{Record: swept(), Shown: shown(said)})
	require.Equal(t, Measured, o.Origin)
	f := o.Figures
	require.Equal(t, []string{Agrees, NotCompared}, []string{f[0].Published[0].Verdict, f[0].Published[1].Verdict})
	require.InEpsilon(t, -0.0191, *f[0].Published[0].Change, 0.01)
	require.InEpsilon(t, 312.912e9/1.001, *f[0].Lo, 1e-9)
	require.Equal(t, "313 GB/s ±0.1 %", f[0].here())
	require.Equal(t, Differs, f[1].Published[0].Verdict)
	require.Equal(t, NotCompared, f[2].Published[0].Verdict)
	_, verdict := f[2].beside(o.Origin)
	require.Equal(t, "second-hand", verdict)
	_, verdict = f[1].beside(o.Origin)
	require.Equal(t, "differs, −13 %", verdict)
	none, _ := f[4].beside(o.Origin)
	require.Equal(t, "nothing", none)
	require.Equal(t, Agrees, f[3].Published[0].Verdict)
	require.InEpsilon(t, 0.1523, *f[3].Value, 1e-3)
	require.Equal(t, "1.00 s ±0.1 %", f[4].here())
	require.Equal(t, "g reach (g−1)/7 within 6.6 %", f[5].Text)
	require.Contains(t, f[6].Why, "no case")
	require.Nil(t, f[6].Published[0].Change)
	require.Equal(t, "No fault.", f[7].Text, "the label of a model's figure stands beside it")
	require.Equal(t, "no message was timed", f[8].Why)

	simulated := swept()
	simulated.Simulated = true
	o = outcomes(t, row, &Entry{Row: "a"}, &Result{Record: simulated, Shown: shown(nil), Simulated: true})
	require.Equal(t, Simulated, o.Origin)
	require.Equal(t, NotCompared, o.Figures[0].Published[0].Verdict)
	_, verdict = o.Figures[1].beside(o.Origin)
	require.Equal(t, "simulated", verdict)
	simulated.World.Devices = []record.Device{{Kind: record.HostMemory}}
	require.Equal(t, HostMemory, outcomes(t, row, &Entry{Row: "a"}, &Result{Record: simulated, Shown: shown(nil)}).Origin)
	simulated.World.Devices[0].Kind = record.Checked
	o = outcomes(t, row, &Entry{Row: "a"}, &Result{Record: simulated, Shown: shown(nil)})
	require.Equal(t, Emulated, o.Origin)
	require.Equal(t, "results are checked, not timed", o.Figures[6].Why)
}

// The exit code of a row decides its state; its first fault is the reason.
func TestRowsHaveStates(t *testing.T) {
	fault := finding.List{{Code: "x", Severity: finding.Warning, Text: "a limit"}, {Code: "y", Severity: finding.Fault, Text: "FAULT: rail 2 is slow."}}
	unclear := finding.List{fault[0], {Code: finding.CodeUnclear, Severity: finding.Warning, Text: "it is one of two"}}
	require.Equal(t, "it is one of two", Entry{Code: exit.Want}.reason(&Result{Shown: shown(unclear)}))
	for _, x := range []struct {
		entry  *Entry
		state  finding.State
		code   string
		reason string
	}{
		{&Entry{Code: exit.OK}, finding.Pass, "", ""},
		{&Entry{Code: exit.Regression}, finding.Fail, CodeRow, "rail 2 is slow"},
		{&Entry{Code: exit.WrongData}, finding.Fail, finding.CodeWrongData, "rail 2 is slow"},
		{&Entry{Code: exit.Run}, finding.Fail, finding.CodeFailed, "rail 2 is slow"},
		{&Entry{Code: -1}, finding.Fail, finding.CodeFailed, "rail 2 is slow"},
		{&Entry{Code: exit.Want}, finding.Unclear, finding.CodeUnclear, "rail 2 is slow"},
		{&Entry{Code: exit.Unavailable}, finding.NotChecked, finding.CodeNotChecked, "rail 2 is slow"},
		{&Entry{Why: "no earlier"}, finding.NotChecked, finding.CodeNotChecked, "no earlier"},
		{nil, finding.NotChecked, finding.CodeNotChecked, "not run yet"},
	} {
		o := outcomes(t, Row{Name: "a", Title: "A"}, x.entry, &Result{Shown: shown(fault)})
		require.Equal(t, x.state, o.State)
		require.Equal(t, x.reason, o.Reason)
		d := New(&Suite{Name: "x"}, 1, []Outcome{o})
		require.Equal(t, x.entry != nil, d.Complete)
		if x.code == "" {
			require.Equal(t, finding.Pass, d.Judgement.State)
			require.Equal(t, exit.OK, exit.Of(d.Judgement.State, d.Judgement.Findings))
			continue
		}
		require.NotEqual(t, finding.Pass, d.Judgement.State)
		require.Equal(t, x.code, d.Judgement.Findings[0].Code)
		if x.entry != nil && x.entry.Why == "" && x.entry.Code > 0 && x.entry.Code != exit.Unavailable {
			require.Equal(t, x.entry.Code, exit.Of(d.Judgement.State, d.Judgement.Findings))
		}
		require.Equal(t, x.entry != nil && x.entry.Ended(), x.entry != nil && x.entry.Why == "" && x.entry.Code > 0 && x.entry.Code != exit.Unavailable && x.entry.Code != exit.Run)
	}
}

// A row without a chart draws its bandwidths, and every picture has a name and a mark of its own.
func TestPictures(t *testing.T) {
	seconds := 1e-3
	r := Row{Name: "a", Title: "Rails", Figures: []Figure{
		{What: "b", Rule: "between-nodes", Published: []Published{{Value: 80e9, Of: "o", Source: "s", Date: "d"}}}, {What: "w", Rule: "within-a-node"},
	}}
	survey := &rails.Survey{Bytes: 64e6, NetworkSeconds: &seconds, XGMISeconds: &seconds}
	o := outcomes(t, r, &Entry{}, &Result{Survey: survey, Shown: shown(nil), Simulated: true})
	d := New(&Suite{Name: "x"}, 2, []Outcome{o})
	bars, ok := (&Row{Name: "b"}).chart(d.Shown(), Simulated).(document.Bars)
	require.True(t, ok)
	require.Equal(t, "b-a-figures", bars.ID)
	require.Equal(t, "Rails, GB/s, SIMULATED", bars.Title)
	require.True(t, bars.File)
	require.InDelta(t, 80e9, bars.Most, 1)
	require.Equal(t, []document.BarMark{{At: 80e9, Letter: "A"}}, bars.Bars[0].Marks)
	require.Nil(t, (&Row{Chart: "other"}).chart(d.Shown(), Simulated))
	plot := shown(nil)
	plot.Add("c", "C", document.Plot{Chart: document.Chart{ID: "busbw"}})
	o = outcomes(t, r, &Entry{}, &Result{Record: swept(), Shown: plot})
	require.Equal(t, "a-busbw", o.chart.(document.Plot).ID)
}

func TestSchemaRefuses(t *testing.T) {
	row := Row{Name: "a", Title: "A", Figures: []Figure{{What: "w", Pick: "all_reduce busbw", Published: []Published{{Value: 3e11, Of: "o", Source: "s", Date: "d"}}}}}
	o := outcomes(t, row, &Entry{Row: "a"}, &Result{Record: swept(), Shown: shown(nil)})
	schema := schematest.Read(t, "schema/v1.json")
	schematest.Refuses(t, schema, schematest.Changes{Good: schematest.Written(t, New(&Suite{Name: "x"}, 2, []Outcome{o})), Bad: map[string]string{
		"/schema":                               `"zbench.suite/0"`,
		"/sha256":                               `"none"`,
		"/rows/0/state":                         `"fine"`,
		"/rows/0/origin":                        `"guessed"`,
		"/rows/0/figures/0/published/0/verdict": `"better"`,
		"/rows/0/figures":                       `null`,
	}})
}
