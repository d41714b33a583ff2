package trainers

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/answers/recommend"
	"zbench/bench/base/stat"
	rules "zbench/bench/job/trainer"
	"zbench/bench/run/record"
	"zbench/test/project"
)

// recording is what scripts/ddp-steps.sh measured of one configuration. Times are in seconds,
// settings in MiB, nil for the default.
type recording struct {
	name, file        string
	Machine, Torch    string
	Ranks             int
	Link              float64 // bytes a second
	Delay             float64 // seconds, one way
	Threads           int     // of gloo's
	Accumulate        int
	View              bool
	FindUnused        bool `json:"find_unused"`
	Model             string
	Forward, Backward float64 // of a microbatch alone
	// Tensors are as the model registers them, Order is their places in forward.
	Tensors []struct {
		Name     string
		Elements int64
		Seconds  float64
	}
	Order []int
	Curve []struct {
		Bytes   int64
		Seconds []float64
	}
	Steps []struct {
		Cap *float64
		// Seconds are those of two blocks of steps.
		Seconds [2][]float64
		// Buckets are what the reducer logged, in bytes.
		Buckets []int64
	}
}

// cell is a setting of a recording: the median step, and how much it differs between blocks of the same setting, as
// a share.
type cell struct {
	cap                    *float64
	real, floor, predicted float64
	buckets                []int64
}

// undecided is the floor above which a cell says nothing about a prediction.
const undecided = 0.02

func (c cell) decided() bool  { return c.floor <= undecided }
func (c cell) error() float64 { return c.predicted/c.real - 1 }

func readRecording(t testing.TB, file string) recording {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	r := recording{name: strings.TrimSuffix(filepath.Base(file), ".json"), file: file}
	require.NoError(t, json.Unmarshal(text, &r))
	return r
}

// params are the tensors in the order of forward.
func (r recording) params() []rules.Param {
	var all []rules.Param
	for place := range r.Tensors {
		x := r.Tensors[slices.Index(r.Order, place)]
		all = append(all, rules.Param{Name: x.Name, Elements: x.Elements, Work: &x.Seconds})
	}
	return all
}

func (r recording) run() rules.Run {
	return rules.Run{DP: r.Ranks, GradDtype: "float", ParamDtype: "float", Accum: r.Accumulate, FindUnused: r.FindUnused}
}

// question is what a user asks who has measured the curve, and a microbatch without communication.
func (r recording) question(t testing.TB) recommend.Question {
	t.Helper()
	rec := &record.Record{Schema: record.Schema, Source: record.Source{Kind: record.Measured}}
	for _, p := range r.Curve {
		rec.Results = append(rec.Results, record.Result{
			Case: record.Case{Key: record.Key("all_reduce", "float", "sum", p.Bytes, r.Ranks, 1, true), Status: record.OK}, Collective: "all_reduce", Dtype: "float", Op: "sum", InPlace: true,
			Bytes: p.Bytes, BytesRequested: p.Bytes, Ranks: r.Ranks, Nodes: r.Ranks, GPUsPerProcess: 1, Groups: 1,
			Isolated: &record.Timing{Iterations: 1, MaxOfRanks: stat.Summarize(p.Seconds)},
		})
	}
	curves, err := recommend.Curves([]recommend.Source{{Record: rec}})
	require.NoError(t, err)
	return recommend.Question{Curves: curves, Trainer: "ddp", Params: r.params(), Run: r.run(), Forward: r.Forward, Backward: r.Backward}
}

// elements of a setting in MiB of float32.
func elements(mib float64) int64 { return int64(mib * (1 << 18)) }

// cells are the settings, ascending, the default last, with zbench's prediction of each.
func (r recording) cells(t testing.TB) (all []cell, answer recommend.Answer) {
	t.Helper()
	q := r.question(t)
	answer, err := recommend.Ask(q)
	require.NoError(t, err)
	require.Equal(t, recommend.Recommended, answer.Verdict, "%+v", answer.Refusal)
	var defaults []float64
	for _, s := range r.Steps {
		c := cell{cap: s.Cap, buckets: s.Buckets, real: stat.Quantile(slices.Concat(s.Seconds[0], s.Seconds[1]), 0.5)}
		c.floor = difference(stat.Quantile(s.Seconds[0], 0.5), stat.Quantile(s.Seconds[1], 0.5))
		if s.Cap == nil {
			defaults = append(defaults, c.real)
			c.predicted = answer.Default.Step
		} else {
			q.Current = elements(*s.Cap)
			a, err := recommend.Ask(q)
			require.NoError(t, err)
			c.predicted = a.Current.Step
		}
		all = append(all, c)
	}
	require.Len(t, defaults, 2, "the default is measured as two settings")
	for i := range all {
		all[i].floor = max(all[i].floor, difference(defaults[0], defaults[1]))
	}
	return slices.Clip(all[1:]), answer
}

func difference(a, b float64) float64 { return max(a, b)/min(a, b) - 1 }

func (c cell) name() string {
	if c.cap == nil {
		return "default"
	}
	return fmt.Sprintf("%g", *c.cap)
}

func (c cell) String() string {
	mark := ""
	if !c.decided() {
		mark = " undecided"
	}
	return fmt.Sprintf("%s: %.3f s, predicted %.3f (%+.1f %%, floor %.1f %%)%s", c.name(), c.real, c.predicted, 100*c.error(), 100*c.floor, mark)
}

// regret is how much longer the real step is with the answer than with the best setting that was
// measured. A setting that was not is taken for the worse of its neighbours.
func regret(t testing.TB, r recording, cells []cell, a recommend.Answer) (share float64, measured bool) {
	t.Helper()
	best := slices.MinFunc(cells, func(a, b cell) int { return cmp.Compare(a.real, b.real) })
	ddp, err := rules.ByName("ddp")
	require.NoError(t, err)
	want := sizes(ddp.Plan(r.params(), a.Elements, r.run()))
	if a.Keep {
		return cells[len(cells)-1].real/best.real - 1, true
	}
	worst := cells[0].real // below all that were measured
	for i, c := range cells {
		if slices.Equal(c.buckets, want) {
			return c.real/best.real - 1, true
		}
		if c.cap == nil {
			continue
		}
		if next := i + 1; elements(*c.cap) <= a.Elements && (cells[next].cap == nil || elements(*cells[next].cap) > a.Elements) {
			worst = max(c.real, cells[next].real)
		}
	}
	return worst/best.real - 1, false
}

func sizes(p rules.Plan) []int64 {
	var all []int64
	for _, b := range p.Buckets {
		all = append(all, 4*b.Elements)
	}
	return all
}

func recordings(t testing.TB) []recording {
	t.Helper()
	return recordingsOf(t, "testdata/ddp")
}

func recordingsOf(t testing.TB, folder string) []recording {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(project.File(t, folder), "*.json"))
	if dir := os.Getenv("ZBENCH_STEPS"); dir != "" {
		files, err = filepath.Glob(filepath.Join(dir, "*.json"))
	}
	require.NoError(t, err)
	require.NotEmpty(t, files)
	var all []recording
	for _, f := range files {
		all = append(all, readRecording(t, f))
	}
	return all
}

// The reducer's own logging data has the buckets of the plan, in its order.
func TestRealBuckets(t *testing.T) {
	for _, r := range recordings(t) {
		structure(t, r)
	}
}

func structure(t *testing.T, r recording) {
	t.Helper()
	ddp, err := rules.ByName("ddp")
	require.NoError(t, err)
	for _, s := range r.Steps {
		setting := int64(0)
		if s.Cap != nil {
			setting = elements(*s.Cap)
		}
		require.Equal(t, s.Buckets, sizes(ddp.Plan(r.params(), setting, r.run())), "%s, %v", r.name, s.Cap)
	}
}

// judged is a recording beside what zbench says of it.
type judged struct {
	recording
	cells    []cell
	answer   recommend.Answer
	regret   float64
	measured bool // the answer is one of the settings
}

func judgedRecordings(t testing.TB) (all []judged) {
	t.Helper()
	for _, r := range recordings(t) {
		j := judged{recording: r}
		j.cells, j.answer = r.cells(t)
		j.regret, j.measured = regret(t, r, j.cells, j.answer)
		all = append(all, j)
	}
	return all
}

// errors are the sizes of the errors of the cells that are decided.
func (j judged) errors() (all []float64) {
	for _, c := range j.cells {
		if c.decided() {
			all = append(all, math.Abs(c.error()))
		}
	}
	return all
}

// The predicted step is that of real training: within 3 % in nine of ten settings, within 8 % in all. At most one
// in ten is undecided.
// The answer costs little over the best setting that was measured.
func TestRealSteps(t *testing.T) {
	var errors, regrets []float64
	cells, within := 0, 0
	for _, j := range judgedRecordings(t) {
		cells += len(j.cells)
		regrets = append(regrets, j.regret)
		t.Logf("%s: answer %.3f MiB (measured %t), regret %.1f %%", j.name, mebi(j.answer.Elements), j.measured, 100*j.regret)
		for _, c := range j.cells {
			t.Log("  ", c)
		}
		errors = append(errors, j.errors()...)
	}
	for _, e := range errors {
		if e <= 0.03 {
			within++
		}
	}
	summary := fmt.Sprintf("%d configurations, %d settings, of which %d are undecided: %.0f %% of the others are within 3 %%, and all within %.1f %%. The answer's real regret is %.1f %% at the median and %.1f %% at most.",
		len(regrets), cells, cells-len(errors), 100*float64(within)/float64(len(errors)), 100*slices.Max(errors), 100*stat.Quantile(regrets, 0.5), 100*slices.Max(regrets))
	t.Log(summary)
	require.GreaterOrEqual(t, float64(len(errors)), 0.9*float64(cells))
	require.GreaterOrEqual(t, float64(within), 0.9*float64(len(errors)))
	require.LessOrEqual(t, slices.Max(errors), 0.08)
	require.LessOrEqual(t, stat.Quantile(regrets, 0.5), 0.01)
	require.LessOrEqual(t, slices.Max(regrets), 0.03)
	documented(t, "docs/BUCKET.md", summary)
}

func mebi(elements int64) float64 { return float64(elements) / (1 << 18) }

// documented fails where a document lacks the lines, however they are wrapped: it then has to be edited.
func documented(t *testing.T, document, lines string) {
	t.Helper()
	if os.Getenv("ZBENCH_STEPS") != "" {
		t.Logf("\n%s", lines)
		return
	}
	words := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	if !strings.Contains(words(project.Read(t, document)), words(lines)) { // the document is too long to print
		t.Errorf("%s has not:\n%s", document, lines)
	}
}

// docs/BUCKET.md has the figures, testdata/ddp those of each configuration.
func TestRealStepsAreDocumented(t *testing.T) {
	all := "| configuration | ranks | Mbit/s | backward, s | undecided | largest error, % | answer, MiB | regret, % | default costs, % | predicted, % |\n|---|---|---|---|---|---|---|---|---|---|\n"
	for _, j := range judgedRecordings(t) {
		if j.name == "even" {
			documented(t, "docs/BUCKET.md", bySetting(j.cells))
		}
		if r := j.recording; !slices.IsSorted(r.Order) {
			r.Order = slices.Sorted(slices.Values(r.Order))
			registered := judged{}
			registered.cells, _ = r.cells(t)
			documented(t, "docs/BUCKET.md", fmt.Sprintf("in the order of registration its largest error is %.1f %%, in that of forward %.1f %%", 100*slices.Max(registered.errors()), 100*slices.Max(j.errors())))
		}
		best, least := math.Inf(1), math.Inf(1)
		for _, c := range j.cells {
			best, least = min(best, c.real), min(least, c.predicted)
		}
		last := j.cells[len(j.cells)-1]
		all += fmt.Sprintf("| %s | %d | %.0f | %.2f | %d of %d | %.1f | %g | %.1f | %.0f | %.0f |\n", j.title(), j.Ranks, j.Link*8/1e6, j.Backward,
			len(j.cells)-len(j.errors()), len(j.cells), 100*slices.Max(append(j.errors(), 0)), mebi(j.answer.Elements), 100*j.regret, 100*(last.real/best-1), 100*(last.predicted/least-1))
	}
	documented(t, "testdata/ddp/README.md", all)
}

// bySetting is a table of the settings of one recording.
func bySetting(cells []cell) string {
	lines := [4]string{"| bucket_cap_mb |", "|---|", "| real step, s |", "| predicted, s |"}
	for _, c := range cells {
		lines[0] += " " + c.name() + " |"
		lines[1] += "---|"
		lines[2] += fmt.Sprintf(" %.3f |", c.real)
		lines[3] += fmt.Sprintf(" %.3f |", c.predicted)
	}
	return strings.Join(lines[:], "\n") + "\n"
}

// title is the model and what is not as usual.
func (r recording) title() string {
	title := r.Model
	for _, x := range []struct {
		when bool
		what string
	}{
		{r.Threads == 1, "one thread"},
		{!r.View, "gradients copied"},
		{r.Accumulate > 1, fmt.Sprintf("%d microbatches", r.Accumulate)},
		{r.FindUnused, "unused parameters looked for"},
		{r.Backward < 0.2, "short backward"},
	} {
		if x.when {
			title += ", " + x.what
		}
	}
	return title
}

// The rule that needs no backward is on the side of the real steps: what is recorded has a backward at which the default
// costs 1 % or more in reality, or less. Without a delay no real step has so much latency that the model is unproved of it.
func TestRuleOnRealSteps(t *testing.T) {
	right, all, sides := 0, 0, map[bool]int{}
	for _, r := range slices.Concat(recordings(t), recordingsOf(t, "testdata/ddp/delayed"), recordingsOf(t, "testdata/ddp/long")) {
		structure(t, r)
		cells, answer := r.cells(t)
		if r.Delay == 0 {
			require.Zero(t, answer.Latency, r.name)
		}
		best := slices.MinFunc(cells, func(a, b cell) int { return cmp.Compare(a.real, b.real) })
		costs := cells[len(cells)-1].real/best.real - 1
		q := r.question(t)
		backward := q.Backward * 1e6
		q.Backward, q.Forward, q.Rule = 0, 0, &recommend.Pace{}
		a, err := recommend.Ask(q)
		require.NoError(t, err)
		rule := a.Rule
		require.NotNil(t, rule, r.name)
		set := rule.Elements > 0 && (rule.From == 0 || backward > float64(rule.From)) && (rule.To == 0 || backward < float64(rule.To))
		t.Logf("%s: the default really costs %.1f %%, the rule sets: %t (%d to %d µs, %.0f)", r.name, 100*costs, set, rule.From, rule.To, backward)
		all++
		sides[costs >= recommend.PlateauWidth]++
		if set == (costs >= recommend.PlateauWidth) {
			right++
		}
	}
	t.Logf("%d of %d, the default really costs 1 %% or more in %d", right, all, sides[true])
	if os.Getenv("ZBENCH_STEPS") == "" {
		require.Len(t, sides, 2, "real steps of both sides")
	}
	require.GreaterOrEqual(t, float64(right), 0.95*float64(all), "%d of %d", right, all)
}
