package plan_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/hardware/collective"
	"zbench/bench/run/plan"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
)

// clockwork is a driver whose times depend on the case, the pass and the call
// alone. It fails in the pass named fail, by why if that is set, and calls cut before the pass
// named cut.
type clockwork struct {
	begun     []string
	at        string
	call      int
	fail, bad string
	why       error
	cut       string
	stop      func()
}

func (d *clockwork) Begin(c plan.Case, pass int) error {
	d.at, d.call = fmt.Sprintf("%s#%d", c.Key, pass), 0
	d.begun = append(d.begun, d.at)
	if d.at == d.fail {
		return cmp.Or(d.why, errors.New("link down"))
	}
	return nil
}

func (d *clockwork) Verify(context.Context, plan.Case, int) (plan.Verification, error) {
	if d.at == d.bad {
		return plan.Verification{Wrong: 3, First: "rank 1"}, nil
	}
	return plan.Verification{}, nil
}

func (d *clockwork) times(n int) []float64 {
	var out []float64
	for i := range n {
		d.call++
		out = append(out, 1e-5*(1+float64(len(d.at)%7)/10+float64((d.call*7+i)%11)/3000))
	}
	return out
}

func (d *clockwork) Unverifiable(plan.Case) string { return "" }

func (d *clockwork) WarmUp(ctx context.Context, n int) ([]float64, error) {
	return d.Burst(ctx, plan.Bursts{Count: 1, Iterations: n})
}

func (d *clockwork) Burst(_ context.Context, b plan.Bursts) ([]float64, error) {
	if d.at == d.cut {
		d.stop()
		return nil, context.Canceled
	}
	return d.times(2 * b.Count), nil
}

func (d *clockwork) Isolated(_ context.Context, n int) ([]float64, error) { return d.times(2 * n), nil }
func (*clockwork) Held() bool                                             { return true }
func (d *clockwork) EventFloor() float64                                  { return 1e-7 }

func smallSweep(t *testing.T) []plan.Case {
	t.Helper()
	c, err := collective.ByName("all_reduce")
	require.NoError(t, err)
	dtype, err := collective.DtypeByName("float")
	require.NoError(t, err)
	a := plan.Axes{
		Collectives: []collective.Collective{c}, Dtypes: []collective.Dtype{dtype}, Ops: collective.Ops()[:1], InPlace: []bool{false},
		MinBytes: 1 << 10, MaxBytes: 1 << 13, Factor: 2, World: spec.World{Nodes: 1, GPUsPerNode: 2, GPUsPerProcess: 1},
	}
	cases := a.Cases()
	cases[1].Skip = "memory"
	return cases
}

func keepTo(parts *[]record.Part, atMost int) func(record.Part) error {
	return func(p record.Part) error {
		if len(*parts) == atMost {
			return errors.New("disk full")
		}
		*parts = append(*parts, p)
		return nil
	}
}

func none(record.Result) {}

// resume is plan.Resume with the results in place of the passes.
func resume(ctx context.Context, cases []plan.Case, d plan.Driver, o plan.Effort, kept plan.Log, done func(record.Result)) ([]record.Result, error) {
	taken, err := plan.Resume(ctx, cases, d, o, kept, done)
	return taken.Results(cases), err
}

// Wherever a sweep ends, what its log has is not run again, and the results are
// those of one that was never stopped.
func TestResumeAfterEveryPass(t *testing.T) {
	o := plan.DefaultOptions()
	o.EveryRank = true
	whole := &clockwork{}
	want := plan.Run(context.Background(), smallSweep(t), whole, o, none)
	require.Len(t, whole.begun, 6, "three cases, twice")
	require.NotNil(t, want[0].BusBW)
	for n := range 7 {
		var parts []record.Part
		results, err := resume(context.Background(), smallSweep(t), &clockwork{}, o, plan.Log{Append: keepTo(&parts, n)}, none)
		require.Len(t, results, 4, "nothing vanishes")
		require.Equal(t, n < 6, err != nil)
		require.Equal(t, "memory", results[1].Reason)
		rest, reported := &clockwork{}, 0
		got, err := resume(context.Background(), smallSweep(t), rest, o, plan.Log{Parts: parts, Append: keepTo(&parts, 6)}, func(record.Result) { reported++ })
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.Equal(t, whole.begun[n:], append([]string{}, rest.begun...), "n = %d", n)
		require.Len(t, parts, 6)
		require.Equal(t, 4-max(0, n-3), reported, "the skipped case and those that were not done")
		require.Len(t, parts[0].Isolated.Ranks, 8*(len(parts[0].Isolated.Max)+parts[0].Isolated.Discarded))
	}
}

// A pass that was cut short is not logged; what was logged before it stays.
func TestInterruptedPassIsRepeated(t *testing.T) {
	cases := smallSweep(t)
	var parts []record.Part
	ctx, stop := context.WithCancel(context.Background())
	d := &clockwork{cut: cases[2].Key + "#1", stop: stop}
	results, err := resume(ctx, cases, d, plan.DefaultOptions(), plan.Log{Append: keepTo(&parts, 9)}, none)
	require.NoError(t, err)
	require.Len(t, parts, 4)
	require.Equal(t, record.OK, results[3].Status, "the way down begins with the largest")
	for _, i := range []int{0, 2} {
		require.Equal(t, record.Interrupted, results[i].Status)
		require.Equal(t, "stopped after 1 of 2 passes", results[i].Reason)
		require.NotNil(t, results[i].Burst)
		require.NotNil(t, results[i].BusBW, "the rates of its one pass")
	}
}

// A process that is lost, at any pass, ends the sweep and is no result of the case: no pass is
// logged, its evidence stands in the record, and the resumed sweep is the undisturbed one. So it
// is with a batch that was cancelled before the sweep's own context has ended.
func TestALostProcessIsNotAFailedCase(t *testing.T) {
	o := plan.DefaultOptions()
	want := plan.Run(context.Background(), smallSweep(t), &clockwork{}, o, none)
	whole := &clockwork{}
	plan.Run(context.Background(), smallSweep(t), whole, o, none)
	for kind, lost := range map[plan.FailureKind]bool{plan.FailedLost: true, plan.FailedUnreached: true, plan.FailedHanging: false, plan.FailedLate: false, plan.FailedAsync: false} {
		for n, pass := range whole.begun {
			var parts []record.Part
			why := &plan.GroupError{Failures: []plan.ProcessFailure{{Failure: plan.Failure{Kind: plan.FailedLate, Message: "waited"}}, {Process: 1, Failure: plan.Failure{Kind: kind, Message: "left"}}}}
			d := &clockwork{fail: pass, why: why}
			results, err := resume(context.Background(), smallSweep(t), d, o, plan.Log{Append: keepTo(&parts, 9)}, none)
			require.NoError(t, err)
			require.Equal(t, whole.begun[:n+1], d.begun, "nothing follows")
			i := slices.IndexFunc(results, func(r record.Result) bool { return r.Lost() || r.Status == record.Failed })
			require.Equal(t, pass[:len(pass)-2], results[i].Key)
			require.Contains(t, results[i].Reason, "left")
			if !lost {
				require.Equal(t, record.Failed, results[i].Status, kind)
				continue
			}
			require.Equal(t, record.Interrupted, results[i].Status, kind)
			require.Len(t, parts, n)
			got, err := resume(context.Background(), smallSweep(t), &clockwork{}, o, plan.Log{Parts: parts, Append: keepTo(&parts, 9)}, none)
			require.NoError(t, err)
			require.Equal(t, want, got)
		}
	}
	var parts []record.Part
	d := &clockwork{fail: whole.begun[1], why: fmt.Errorf("process 1 was asked to stop: %w", context.Canceled)}
	results, err := resume(context.Background(), smallSweep(t), d, o, plan.Log{Append: keepTo(&parts, 9)}, none)
	require.NoError(t, err)
	require.Equal(t, record.Interrupted, results[2].Status)
	require.False(t, results[2].Lost())
}

// What ended a case is logged: it is not run again. Those that its failure kept
// from running are, on the new communicator.
func TestEndedCasesStayEnded(t *testing.T) {
	cases := smallSweep(t)
	var parts []record.Part
	d := &clockwork{bad: cases[0].Key + "#0", fail: cases[2].Key + "#0"}
	results, err := resume(context.Background(), cases, d, plan.DefaultOptions(), plan.Log{Append: keepTo(&parts, 9)}, none)
	require.NoError(t, err)
	require.Equal(t, []record.Status{record.WrongData, record.Skipped, record.Failed, record.Skipped},
		[]record.Status{results[0].Status, results[1].Status, results[2].Status, results[3].Status})
	require.Contains(t, results[3].Reason, cases[2].Key+" failed before it")
	require.Len(t, parts, 2)
	next := &clockwork{}
	got, err := resume(context.Background(), cases, next, plan.DefaultOptions(), plan.Log{Parts: parts}, none)
	require.NoError(t, err)
	require.Equal(t, []string{cases[3].Key + "#0", cases[3].Key + "#1"}, next.begun)
	require.Equal(t, results[:3], got[:3])
	require.Equal(t, record.OK, got[3].Status)
	require.Equal(t, "3 wrong elements; rank 1", got[0].Reason)
}
