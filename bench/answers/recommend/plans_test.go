package recommend

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/job/trainer"
)

// related are questions of which each differs from the one before in one thing that may
// decide where buckets end, or in times alone.
func related(t testing.TB) []Question {
	t.Helper()
	slow, fast := bent(5e-4, 150e9, 100e6), bent(1e-4, 300e9, 10e6)
	q := megatron(t, slow)
	q.Bootstrap, q.Seed = 20, 1
	all := []Question{q}
	next := func(change func(q *Question)) {
		q := all[len(all)-1]
		change(&q)
		all = append(all, q)
	}
	next(func(q *Question) { q.Curves = megatron(t, fast).Curves })
	next(func(q *Question) { q.Backward, q.Forward = 0.05, 0.025 })
	next(func(q *Question) { q.Backward, q.Forward = 0, 0 })
	next(func(q *Question) { q.Current = 30_000_000 })
	next(func(q *Question) { q.Run.GradDtype = "bfloat16" })
	next(func(q *Question) { q.Run.PadBuckets = true })
	next(func(q *Question) { q.MemBudget = 8 << 20 })
	next(func(q *Question) { q.MemBudget, q.Backward, q.Forward = 0, 1000, 500 })
	next(func(q *Question) { q.Run.NoOverlap = true }) // which then costs little enough to keep
	next(func(q *Question) {                           // other sizes: a message lies elsewhere among them
		q.Curves = nil
		for _, name := range []string{"reduce_scatter", "all_gather"} {
			q.Curves = append(q.Curves, curve(t, name, 64, doubling(3<<16, 3<<32), slow))
		}
	})
	next(func(q *Question) {
		q.Trainer, q.Current, q.Run = "deepspeed", 0, trainer.Run{DP: 64, GradDtype: "bfloat16", ParamDtype: "bfloat16", Zero: 1}
		q.Curves = append([]Curve{curve(t, "all_reduce", 64, wide(), slow)}, q.Curves...)
	})
	next(func(q *Question) { q.Curves = q.Curves[:1] }) // no curve of the gathers at the end
	next(func(q *Question) { q.Trainer, q.Run.Zero = "ddp", 0 })
	next(func(q *Question) { q.Params = q.Params[:100] })
	next(func(q *Question) {
		q.Params = append([]trainer.Param{}, q.Params...)
		work := 1.0
		q.Params[50].Work = &work
	})
	return all
}

// A question that finds plans of the one before, which differs in one thing, has the answer
// that it has alone.
func TestPlansOfOtherQuestionsChangeNoAnswer(t *testing.T) {
	all := related(t)
	var alone []string
	for _, q := range all {
		alone = append(alone, text(t, ask(t, q)))
	}
	plans := &Plans{}
	for i := range 2 * len(all) { // up and down: all but the first find those of others
		i = min(i, 2*len(all)-1-i)
		q := all[i]
		q.Plans = plans
		require.Equal(t, alone[i], text(t, ask(t, q)), i)
	}
}

// Times of collectives and of computation leave the plans of a model's settings as they
// are: the second question plans none of its candidates again.
func TestOtherTimesFindThePlansThatWereKept(t *testing.T) {
	all := related(t)
	plans := &Plans{}
	for _, q := range all[:4] {
		q.Plans = plans
		ask(t, q)
	}
	kept := len(plans.kept)
	require.Positive(t, kept)
	for _, q := range all[:4] {
		q.Plans = plans
		ask(t, q)
	}
	require.Len(t, plans.kept, kept)
	require.LessOrEqual(t, kept, 3, "of the question, and of what would help: coarse, and in bfloat16")
	x, err := trainer.ByName(all[0].Trainer)
	require.NoError(t, err)
	engines := [2]*engine{}
	for i := range engines {
		q := all[i]
		q.Plans = plans
		e, refusal := newEngine(q, x, x.Advised(q.Run))
		require.Nil(t, refusal)
		engines[i] = e
	}
	for j, c := range engines[0].candidates {
		same := engines[1].candidates[j]
		require.Equal(t, reflect.ValueOf(c.passes[backward].bytes).Pointer(), reflect.ValueOf(same.passes[backward].bytes).Pointer())
		require.NotEqual(t, reflect.ValueOf(c.passes[backward].cost).Pointer(), reflect.ValueOf(same.passes[backward].cost).Pointer())
	}
}

// The bar is half the time of the first question: BenchmarkAskOfAThousandTensors.
func BenchmarkAskAgainOfAThousandTensors(b *testing.B) {
	q := ofAThousand(b)
	for _, one := range []struct {
		name  string
		plans *Plans
	}{{"alone", nil}, {"kept", &Plans{}}} {
		b.Run(one.name, func(b *testing.B) {
			q.Bootstrap, q.Plans = 0, one.plans
			for b.Loop() {
				_, err := Ask(q)
				require.NoError(b, err)
			}
		})
	}
}
