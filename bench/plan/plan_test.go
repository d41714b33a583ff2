package plan_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/collective"
	"zbench/bench/plan"
	"zbench/bench/record"
	"zbench/bench/stat"
)

func axes(t *testing.T, names ...string) plan.Axes {
	t.Helper()
	a := plan.Axes{MinBytes: 1 << 10, MaxBytes: 1 << 13, Factor: 2, Ranks: 8, Nodes: 1, GPUsPerProcess: 1}
	for _, n := range names {
		c, err := collective.ByName(n)
		require.NoError(t, err)
		a.Collectives = append(a.Collectives, c)
	}
	var err error
	a.Dtype, err = collective.DtypeByName("float")
	require.NoError(t, err)
	a.Op, err = collective.OpByName("sum")
	require.NoError(t, err)
	return a
}

func TestCasesAreTheProductOfTheAxes(t *testing.T) {
	cases := axes(t, "all_reduce", "all_gather").Cases()
	require.Len(t, cases, 8)
	require.Equal(t, "all_reduce/float/sum/1024/r8/g1/oop", cases[0].Key)
	require.Equal(t, "all_gather/float/none/8192/r8/g1/oop", cases[7].Key)
	keys := map[string]bool{}
	for _, c := range cases {
		require.Empty(t, c.Skip)
		require.False(t, keys[c.Key], "a key twice: %s", c.Key)
		keys[c.Key] = true
	}
}

// The largest sizes that fit neither overflow nor repeat.
func TestSizesEndWithoutOverflow(t *testing.T) {
	a := axes(t, "all_reduce")
	a.MinBytes, a.MaxBytes, a.Factor = 1, math.MaxInt64, 2
	cases := a.Cases()
	require.Len(t, cases, 63)
	require.Equal(t, int64(1)<<62, cases[62].Requested)
	a.MinBytes, a.MaxBytes, a.Factor = 5, 5, 3
	require.Len(t, a.Cases(), 1)
	a.MaxBytes, a.Factor = 44, 3
	require.Len(t, a.Cases(), 2, "5 and 15; 45 is beyond the end")
}

func TestSizeThatRoundsToNothingIsSkipped(t *testing.T) {
	a := axes(t, "reduce_scatter")
	a.MinBytes, a.MaxBytes = 64, 128
	cases := a.Cases()
	require.Contains(t, cases[0].Skip, "rounds to 0")
	require.Empty(t, cases[1].Skip, "16 bytes for each of 8 ranks")
}

func TestValidate(t *testing.T) {
	good := axes(t, "all_reduce")
	require.NoError(t, good.Validate())
	for says, breakIt := range map[string]func(*plan.Axes){
		"no collective":      func(a *plan.Axes) { a.Collectives = nil },
		"at least 1 byte":    func(a *plan.Axes) { a.MinBytes = 0 },
		"below the smallest": func(a *plan.Axes) { a.MaxBytes = 1 },
		"at least 2":         func(a *plan.Axes) { a.Factor = 1 },
		"at least one rank":  func(a *plan.Axes) { a.Ranks = 0 },
	} {
		a := good
		breakIt(&a)
		require.ErrorContains(t, a.Validate(), says)
	}
	require.NoError(t, plan.DefaultOptions().Validate())
	for _, o := range []plan.Options{{Warmup: -1, Iterations: 1, Bursts: 1}, {Iterations: 0, Bursts: 1}, {Iterations: 1, Bursts: 0}} {
		require.Error(t, o.Validate())
	}
}

// script is a driver that answers from a list and remembers what it was asked.
type script struct {
	begun      []string
	iterations []int
	answer     func(call int) ([]float64, error)
}

func (s *script) Begin(c plan.Case) { s.begun = append(s.begun, c.Key) }

func (s *script) Burst(_ context.Context, _ plan.Case, iterations int) ([]float64, error) {
	s.iterations = append(s.iterations, iterations)
	return s.answer(len(s.iterations) - 1)
}

// The warm-up counts nowhere; each later burst is one sample of the ranks' mean
// and of the slowest.
func TestRunSummarisesBursts(t *testing.T) {
	d := &script{answer: func(call int) ([]float64, error) {
		if call == 0 {
			return []float64{100, 100}, nil
		}
		return []float64{1 + float64(call), 3 + float64(call)}, nil
	}}
	a := axes(t, "all_reduce")
	a.MaxBytes, a.Ranks = a.MinBytes, 2
	o := plan.Options{Warmup: 5, Iterations: 20, Bursts: 7}
	r := plan.Run(context.Background(), a.Cases(), d, o, func(record.Result) {})[0]
	require.Equal(t, []int{5, 20, 20, 20, 20, 20, 20, 20}, d.iterations)
	require.Equal(t, []string{r.Key}, d.begun)
	require.Equal(t, stat.Summarize([]float64{3, 4, 5, 6, 7, 8, 9}), r.Burst.MeanOfRanks)
	require.InDelta(t, 7.0, r.Burst.MaxOfRanks.Median, 0)
	require.InDelta(t, 1024/6.0, *r.AlgBW, 1e-12)
	require.InDelta(t, 1024/6.0, *r.BusBW, 1e-12, "the factor of two ranks is 1")
	require.Equal(t, "noisy", r.Warnings[0].Code)
	require.NotEmpty(t, r.Warnings[0].Hint)
}

// A failed case keeps its reason, those after it say why they were not run, and
// those that were skipped anyway keep their own.
func TestFailureStopsTheRest(t *testing.T) {
	d := &script{answer: func(call int) ([]float64, error) {
		if call >= 3 {
			return nil, errors.New("link down")
		}
		return []float64{1}, nil
	}}
	cases := axes(t, "all_reduce").Cases()
	cases[3].Skip = "too large"
	results := plan.Run(context.Background(), cases, d, plan.Options{Iterations: 1, Bursts: 3}, func(record.Result) {})
	require.Equal(t, record.OK, results[0].Status)
	require.Equal(t, record.Failed, results[1].Status)
	require.Equal(t, "link down", results[1].Reason)
	require.Nil(t, results[1].BusBW)
	require.Equal(t, record.Skipped, results[2].Status)
	require.Contains(t, results[2].Reason, results[1].Key)
	require.Equal(t, "too large", results[3].Reason)
}

// An error that comes with the cancellation is an interruption, not a failure.
func TestCancellationDuringACase(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	d := &script{answer: func(call int) ([]float64, error) {
		if call == 4 {
			cancel()
			return nil, context.Canceled
		}
		return []float64{1}, nil
	}}
	seen := 0
	results := plan.Run(ctx, axes(t, "all_reduce").Cases(), d, plan.Options{Iterations: 1, Bursts: 3}, func(record.Result) { seen++ })
	require.Equal(t, 4, seen)
	require.Equal(t, []record.Status{record.OK, record.Interrupted, record.Interrupted, record.Interrupted},
		[]record.Status{results[0].Status, results[1].Status, results[2].Status, results[3].Status})
}
