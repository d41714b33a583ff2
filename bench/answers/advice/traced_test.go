package advice

import (
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/exit"
	"zbench/bench/files/trace"
	"zbench/bench/job/trainer"
	"zbench/bench/run/spec"
)

// jobOf is the trace of a rank of 8 that reduces two tensors in one bucket, with two backward passes a step
// of 3 ms each, of which the last tensor's gradient takes the first.
func jobOf() *trace.Trace {
	r := &trace.Rank{}
	at := 0.0
	for range 3 {
		for range 2 {
			for i, n := range []int64{3000, 1000} {
				r.Gradients = append(r.Gradients, trace.Gradient{Elements: n, Dtype: "bfloat16", Made: &trace.Span{Start: at + 1e-3*float64(i), End: at + 1e-3 + 2e-3*float64(i)}})
			}
			at++
		}
		r.Calls = append(r.Calls, trace.Call{Collective: "all_reduce", Dtype: "bfloat16", Bytes: 8000}, trace.Call{Collective: "broadcast", Dtype: "int64", Bytes: 8})
	}
	return &trace.Trace{Groups: []trace.Group{{Name: "dp", Size: 8}}, Ranks: []*trace.Rank{r}}
}

func codeOf(t *testing.T, err error) int {
	t.Helper()
	e, has := errors.AsType[*exit.Error](err)
	require.True(t, has)
	require.NotEmpty(t, e.Hint)
	return e.Code
}

func TestTraceCompletesTheQuestion(t *testing.T) {
	want := &spec.Advice{Framework: "ddp"}
	require.NoError(t, Traced(want, jobOf(), "rank0.json"))
	require.Equal(t, 8, want.DP)
	require.Equal(t, "bfloat16", want.GradDtype)
	require.Equal(t, 2, want.Accum)
	require.InDelta(t, 3e-3, want.Backward, 1e-12)
	require.Equal(t, []int64{1000, 3000}, []int64{want.Model.Params[0].Elements, want.Model.Params[1].Elements})
	require.InDelta(t, 1e-3, want.Model.Params[1].Ready, 1e-12)
	require.Equal(t, []string{"--framework", "ddp", "--trace", "rank0.json", "--backward-ms", "3", "--dp", "8", "--accum", "2", "--grad-dtype", "bfloat16"}, want.Line())
	q, err := Prepare(want)
	require.NoError(t, err)
	require.Contains(t, q.in.Compute.Source, "the trace")
	// What it says itself, given again, is no contradiction.
	again := &spec.Advice{Framework: "ddp", DP: 8, GradDtype: "bfloat16", Accum: 2, Backward: 3.001e-3}
	require.NoError(t, Traced(again, jobOf(), "rank0.json"))
	require.Equal(t, want.Model, again.Model)
}

func TestASimulatedTraceSaysSo(t *testing.T) {
	for _, device := range []string{"AMD Instinct MI300X", "SIMULATED MI300X"} {
		want, job := &spec.Advice{Framework: "ddp"}, jobOf()
		job.Device = device
		require.NoError(t, Traced(want, job, "rank0.json"))
		require.Equal(t, job.Simulated(), slices.Contains(want.Model.Notes, "SIMULATED (times of the trace): a model, not hardware, decided these times"))
	}
}

// The tensors of --params keep their names, and have the trace's times where they are the trace's.
func TestTraceOfAListedModel(t *testing.T) {
	listed := func(elements ...int64) *trainer.Model {
		m := &trainer.Model{Name: "list.csv", Listed: true}
		for i, n := range elements {
			m.Params = append(m.Params, trainer.Param{Name: string(rune('a' + i)), Elements: n})
		}
		m.Params = slices.Insert(m.Params, 1, trainer.Param{Name: "frozen", Frozen: 500})
		return m
	}
	want := &spec.Advice{Framework: "ddp", Model: listed(1000, 3000)}
	require.NoError(t, Traced(want, jobOf(), "rank0.json"))
	require.Equal(t, "a", want.Model.Params[0].Name)
	require.InDelta(t, 3e-3, want.Model.Params[0].Ready, 1e-12)
	require.Zero(t, want.Model.Params[1].Ready)
	require.InDelta(t, 1e-3, want.Model.Params[2].Ready, 1e-12)
	require.Contains(t, want.Line(), "list.csv")
	want = &spec.Advice{Framework: "ddp", Model: listed(2000, 2000)}
	require.NoError(t, Traced(want, jobOf(), "rank0.json"))
	require.Zero(t, want.Model.Params[0].Ready)
	require.Contains(t, want.Model.Notes[0], "in another order")
}

func TestTraceRefusesWhatContradictsIt(t *testing.T) {
	for _, x := range []struct {
		want spec.Advice
		says string
	}{
		{spec.Advice{DP: 16}, "--dp 16 contradicts the trace, which has group dp, 8 ranks"},
		{spec.Advice{GradDtype: "float"}, "--grad-dtype float contradicts the trace, which has gradients of bfloat16"},
		{spec.Advice{Accum: 4}, "--accum 4 contradicts the trace, which has 2 backward passes per step"},
		{spec.Advice{Backward: 4e-3}, "--backward-ms 4.00 ms contradicts the trace, which has a backward of 3.00 ms"},
		{spec.Advice{Step: 9e-3}, "--step-ms 9.00 ms contradicts the trace"},
		{spec.Advice{Flops: 5e14}, "--tflops 500 contradicts the trace"},
		{spec.Advice{Preset: "llama3-8b"}, "--preset llama3-8b contradicts the trace, which has 4.00 k elements"},
		{spec.Advice{Total: 5e9}, "--total-params 5.00 G contradicts the trace, which has 4.00 k elements"},
		{spec.Advice{Model: &trainer.Model{Name: "list.csv", Params: []trainer.Param{{Name: "a", Elements: 5}}}}, "--params list.csv has 5 elements that are trained, and the trace has 4000"},
	} {
		err := Traced(&x.want, jobOf(), "rank0.json")
		require.ErrorContains(t, err, x.says)
		require.Equal(t, exit.Usage, codeOf(t, err))
	}
}

// What a trace does not hold is asked for by the name of the flag.
func TestTraceAsksForWhatItLacks(t *testing.T) {
	tr := jobOf()
	tr.Groups[0].Size = 0
	err := Traced(&spec.Advice{}, tr, "rank0.json")
	require.ErrorContains(t, err, "does not tell how many ranks are in group dp")
	require.Equal(t, exit.Want, codeOf(t, err))
	require.NoError(t, Traced(&spec.Advice{DP: 4}, tr, "rank0.json"))
	err = Traced(&spec.Advice{}, &trace.Trace{}, "rank0.json")
	require.ErrorContains(t, err, "no gradient buckets in rank0.json")
	require.Equal(t, exit.Want, codeOf(t, err))
	for i := range tr.Ranks[0].Gradients {
		tr.Ranks[0].Gradients[i].Made = nil
	}
	want := &spec.Advice{DP: 4}
	require.NoError(t, Traced(want, tr, "rank0.json"))
	require.Contains(t, want.Model.Notes[0], "--backward-ms")
	for i := range tr.Ranks[0].Gradients {
		tr.Ranks[0].Gradients[i].Made = &trace.Span{Start: 1, End: 1e9}
	}
	require.ErrorContains(t, Traced(&spec.Advice{DP: 4}, tr, "rank0.json"), "is ready after 9.99999999e+08 s")
	tr.Ranks[0].Gradients = nil
	want = &spec.Advice{DP: 4, Backward: 1}
	require.NoError(t, Traced(want, tr, "rank0.json"))
	require.Equal(t, int64(4000), want.Model.Params[0].Elements)
	require.Contains(t, want.Model.Notes[0], "buckets stand for them")
}

// A list with the types of its tensors decides that of the gradients of a trainer that keeps them.
func TestTypesOfTheTensors(t *testing.T) {
	ask := func(framework, given string, types ...string) *Question {
		q, err := Prepare(&spec.Advice{Framework: framework, GradDtype: given, DP: 4, Model: &trainer.Model{Name: "a", Dtypes: types, Params: []trainer.Param{{Name: "a", Elements: 5}}}})
		require.NoError(t, err)
		return q
	}
	require.Equal(t, "bfloat16", ask("ddp", "").in.Run.GradDtype)
	require.Equal(t, "float", ask("ddp", "", "float").in.Run.GradDtype)
	require.Equal(t, "half", ask("ddp", "half", "float").in.Run.GradDtype)
	require.Equal(t, "float", ask("megatron", "", "bfloat16").in.Run.GradDtype, "Megatron accumulates in float32")
	require.Contains(t, ask("ddp", "", "float", "bfloat16").in.Model.Notes[0], "buckets of their own")
}

// A bucket leaves when its last gradient is ready: one that comes late is exposed.
func TestReadyTimesMoveTheAnswer(t *testing.T) {
	even := []trainer.Param{{Name: "a", Elements: 100, Ready: 2}, {Name: "b", Elements: 100, Ready: 1}}
	late := []trainer.Param{{Name: "a", Elements: 100, Ready: 2}, {Name: "b", Elements: 100, Ready: 1.8}}
	require.Equal(t, []float64{1, 1}, trainer.BackwardWork(even))
	require.InDeltaSlice(t, []float64{0.2, 1.8}, trainer.BackwardWork(late), 1e-12)
	require.False(t, even[1].Equal(late[1]), "plans of other times are not reused")
	late[0].Ready = 0
	require.Equal(t, []float64{100, 100}, trainer.BackwardWork(late), "not all are known: by size")
	require.Error(t, (&trainer.Model{Params: []trainer.Param{{Name: "a", Elements: 1, Ready: -1}}}).Check())
}
