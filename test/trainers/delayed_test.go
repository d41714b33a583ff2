package trainers

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/answers/recommend"
	"zbench/bench/base/stat"
	"zbench/test/longtest"
)

// predicted are the steps that a question predicts of a recording's settings, the default last.
func (r recording) predicted(t *testing.T, q recommend.Question) (steps []float64) {
	t.Helper()
	for _, s := range r.Steps[1:] {
		q.Current = 0
		if s.Cap != nil {
			q.Current = elements(*s.Cap)
		}
		a, err := recommend.Ask(q)
		require.NoError(t, err)
		require.Equal(t, recommend.Recommended, a.Verdict, "%s: %+v", r.name, a.Refusal)
		if s.Cap == nil {
			steps = append(steps, a.Default.Step)
		} else {
			steps = append(steps, a.Current.Step)
		}
	}
	return steps
}

// Over links with a delay messages that go one at a time take what the model says. With gloo's two threads they share a part
// of their latencies: then the steps are between those of one and of two in flight, the answer says that it is unproved, and three
// observed settings repair it.
func TestLongDelayedSteps(t *testing.T) {
	longtest.OnlyOrDetected(t)
	table := "| configuration | ranks | Mbit/s | delay, ms | decided | median error, % | largest, % | answer, MiB | regret, % | latency, % | with three observed: largest, % | regret, % |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n"
	var errors []float64
	for _, r := range recordingsOf(t, "testdata/ddp/delayed") {
		structure(t, r)
		cells, answer := r.cells(t)
		j := judged{recording: r, cells: cells, answer: answer}
		j.regret, _ = regret(t, r, cells, answer)
		own := j.errors()
		require.GreaterOrEqual(t, len(own), len(cells)-1, "%s: undecided", r.name)
		line := fmt.Sprintf("| %s | %d | %.0f | %.0f | %d of %d | %.1f | %.1f | %g | %.1f | %.0f |", j.title(), r.Ranks, r.Link*8/1e6, 1e3*r.Delay, len(own), len(cells),
			100*stat.Quantile(own, 0.5), 100*slices.Max(own), mebi(answer.Elements), 100*j.regret, 100*answer.Latency)
		for _, c := range cells {
			t.Log(r.name, c)
		}
		if r.Threads == 1 {
			errors = append(errors, own...)
			require.LessOrEqual(t, slices.Max(own), 0.03, r.name)
			require.LessOrEqual(t, j.regret, 0.02, r.name)
			table += line + "  |  |\n"
			continue
		}
		q := r.question(t)
		q.Scenarios = recommend.Grid(false, false)
		for i := range q.Scenarios {
			q.Scenarios[i].Shared = 1
		}
		for i, least := range r.predicted(t, q) {
			if c := cells[i]; c.decided() {
				require.GreaterOrEqual(t, c.real, 0.97*least, "%s, %s", r.name, c.name())
				require.LessOrEqual(t, c.real, 1.03*c.predicted, "%s, %s", r.name, c.name())
			}
		}
		if answer.Latency == 0 {
			require.LessOrEqual(t, slices.Max(own), 0.08, r.name)
			require.LessOrEqual(t, j.regret, 0.02, r.name)
		}
		largest, after := r.observed(t, cells, answer)
		require.LessOrEqual(t, largest, 0.08, r.name)
		require.LessOrEqual(t, after, 0.02, r.name)
		table += line + fmt.Sprintf(" %.1f | %.1f |\n", 100*largest, 100*after)
	}
	require.LessOrEqual(t, stat.Quantile(errors, 0.5), 0.03)
	documented(t, "testdata/ddp/README.md", strings.TrimSpace(table))
}

// observed is what three observed settings come to, the default, the one nearest to the answer and the smallest: the largest
// error of the decided others, and the regret.
func (r recording) observed(t *testing.T, cells []cell, answer recommend.Answer) (largest, after float64) {
	t.Helper()
	all := r.observations(t)
	near := all[0]
	for _, o := range all[1 : len(all)-1] {
		if o.Elements <= answer.Elements {
			near = o
		}
	}
	q := r.question(t)
	q.Seed, q.Observed = 1, []recommend.Observation{all[0], near, all[len(all)-1]}
	a, err := recommend.Ask(q)
	require.NoError(t, err)
	require.Equal(t, recommend.Recommended, a.Verdict, "%s: %+v", r.name, a.Refusal)
	t.Log(r.name, "repaired by", a.Observed.Why, mebi(a.Elements))
	for i, step := range r.predicted(t, q) {
		if c := cells[i]; c.decided() {
			c.predicted = step
			t.Log("  observed:", c)
			largest = max(largest, c.error(), -c.error())
		}
	}
	after, _ = regret(t, r, cells, a)
	return largest, after
}
