package engine_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/answers/advice"
	"zbench/bench/engine"
	"zbench/bench/run/plan"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
	"zbench/bench/work/fabric"
	"zbench/test/foldertest"
	"zbench/test/longtest"
)

// unasked asks for a sweep alone, of the collectives that gradients take. It ends too
// early for a bucket size.
func unasked(nodes int) spec.Spec {
	s := served()
	s.Advice, s.World.Nodes = nil, nodes
	s.Sweep.Collectives = []string{"all_reduce", "reduce_scatter", "all_gather"}
	return s
}

// outcome runs a request on a driver that other may change.
func outcome(t *testing.T, want spec.Spec, other func(*fabric.Machine)) (*engine.Outcome, map[string]string) {
	t.Helper()
	files, d := foldertest.New(), &modelled{}
	e := at(files, d)
	open := e.Open
	e.Open = func(ctx context.Context, u *engine.Setup) (engine.Ranks, error) {
		driver, err := open(ctx, u)
		changed := *u.Machine
		other(&changed)
		d.machine = &changed
		return extrapolating{driver}, err
	}
	out, err := runWith(context.Background(), t, e, want)
	require.NoError(t, err)
	return out, files.Files("out")
}

func asItIs(*fabric.Machine) {}

// extrapolating is a driver whose model is measured for no case, as the loopback's
// above two nodes.
type extrapolating struct{ engine.Ranks }

func (d extrapolating) Facts() (engine.Facts, error) {
	f, err := d.Ranks.Facts()
	f.Extrapolated = func(plan.Case) bool { return true }
	return f, err
}

// Where nothing is asked the assumed question is answered, of the sweep as it was
// asked for: it adds no size. The same question asked adds some.
func TestLongAssumedAddsNoSize(t *testing.T) {
	longtest.Only(t)
	out, files := outcome(t, unasked(16), asItIs)
	require.True(t, out.Advice.IsAssumed())
	require.True(t, out.Advice.Answered())
	require.Empty(t, out.Record.Added)
	require.Empty(t, out.Journal.Rounds)
	require.Nil(t, out.Record.Spec.Advice, "the request has no question")
	require.Len(t, out.Record.Results, 3*6, "64 KiB to 64 MiB by fours")
	require.Contains(t, files, engine.AdviceFile)
	d, err := advice.Read(strings.NewReader(files[engine.AdviceFile]))
	require.NoError(t, err)
	require.Equal(t, out.Advice.Assumed, d.Assumed)
	require.NotNil(t, d.Answer.Rule)

	asked := unasked(16)
	asked.Advice = advice.Assumed()
	longer, _ := outcome(t, asked, asItIs)
	require.NotEmpty(t, longer.Record.Added, "the same question, asked, extends the sweep")
	asked.Sweep.FixedSizes = true
	fixed, _ := outcome(t, asked, asItIs)
	require.Equal(t, fixed.Advice.Answer, out.Advice.Answer, "the assumed answer is that of the same flags")
	require.Equal(t, fixed.Advice.Bracket, out.Advice.Bracket)
	require.False(t, fixed.Advice.IsAssumed())
}

// A sweep of a collective that trains nothing alone leaves no recommendation, and is no failure; the
// outcome says what is missing.
func TestAssumedWithoutItsCollectives(t *testing.T) {
	want := unasked(16)
	want.Sweep.Collectives = []string{"all_gather"}
	out, files := outcome(t, want, asItIs)
	require.NotContains(t, files, engine.AdviceFile)
	require.Equal(t, []string{"reduce_scatter"}, out.Advice.Answer.Refusal.Missing)
}

// The answers at the ends of the bracket are those of two sweeps simulated with the
// ends' constants, computed here by hand.
func TestLongBracketEqualsSimulationsAtItsEnds(t *testing.T) {
	longtest.Only(t)
	want := unasked(128)
	// To beyond the largest message of the slow end: no percentage is given of what was not swept.
	want.Sweep.MinBytes, want.Sweep.MaxBytes, want.Sweep.Factor = 4<<20, 16<<30, 2
	middle, _ := outcome(t, want, asItIs)
	require.NotNil(t, middle.Record.Results[0].Bracket)
	require.NotNil(t, middle.Advice.Bracket)
	simulated := func(change func(collective string, c *fabric.Curve)) (elements int64, cost float64, to int64) {
		out, _ := outcome(t, want, func(m *fabric.Machine) {
			curves := map[string]fabric.Curve{}
			for name, c := range m.Curves[m.Whole()] {
				change(name, &c)
				curves[name] = c
			}
			m.Curves = map[fabric.Group]map[string]fabric.Curve{m.Whole(): curves}
		})
		a := out.Advice.Answer
		return a.Least.Elements, math.Max(a.Default.Step/a.Least.Step-1, a.Default.Score-a.Least.Score), a.Rule.To
	}
	fast, fastCost, fastTo := simulated(func(_ string, c *fabric.Curve) { c.R = 320e-6 })
	slow, slowCost, slowTo := simulated(func(name string, c *fabric.Curve) {
		c.R = 4.2e-6 * 2 * 1023
		if name == "reduce_scatter" || name == "all_gather" {
			c.A, c.B = c.R, c.B*(1-5*0.0556)
		}
	})
	b := middle.Advice.Bracket
	require.Equal(t, fast, b.Fastest.Elements)
	require.Equal(t, slow, b.Slowest.Elements)
	require.InDelta(t, fastCost, *b.Fastest.DefaultCost, 1e-3)
	require.InDelta(t, slowCost, *b.Slowest.DefaultCost, 1e-3)
	require.InEpsilon(t, fastTo, b.Fastest.To, 0.1)
	require.InEpsilon(t, slowTo, b.Slowest.To, 0.1)
	require.NotEqual(t, b.Fastest.To, b.Slowest.To)
}

// A sweep that was killed and resumed, or is drawn again, has the same assumed answer.
func TestLongAssumedSurvivesResuming(t *testing.T) {
	longtest.Only(t)
	want := unasked(2)
	whole := whole(t, want)
	files := foldertest.New()
	ctx, cancel := context.WithCancelCause(context.Background())
	d := &modelled{at: 40, stop: func() { cancel(context.Canceled) }}
	_ = run(ctx, t, files, want, d)
	require.NotContains(t, files.Files("out"), engine.AdviceFile, "an interrupted sweep has no answer yet")
	require.NoError(t, resume(t, files))
	same(t, whole, files.Files("out"))
	require.NoError(t, resume(t, files))
	same(t, whole, files.Files("out"))
	rec, err := record.Decode(strings.NewReader(whole[engine.ResultsFile]))
	require.NoError(t, err)
	require.Nil(t, rec.Results[0].Bracket, "2 nodes are measured")
}
