package plan_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/stat"
	"zbench/bench/run/plan"
	"zbench/bench/run/record"
)

// script is a driver that answers from functions and remembers what it was
// asked. Ranks is the number of ranks it plays.
type script struct {
	asked    []string
	bursts   int
	ranks    int
	burst    func(call int) ([]float64, error)
	isolated func(launch, rank int) float64
	launches int
	verified plan.Verification
	// unverifiable is why nothing can be verified.
	unverifiable string
}

func (s *script) Begin(c plan.Case, pass int) error {
	s.asked = append(s.asked, c.Key[len("all_reduce/float/sum/"):len(c.Key)-len("/r8/g1/oop")]+map[int]string{0: " up", 1: " down"}[pass])
	return nil
}

func (s *script) Verify(context.Context, plan.Case, int) (plan.Verification, error) {
	s.asked = append(s.asked, "verify")
	return s.verified, nil
}

func (s *script) Unverifiable(plan.Case) string { return s.unverifiable }

func (s *script) WarmUp(ctx context.Context, n int) ([]float64, error) {
	return s.Burst(ctx, plan.Bursts{Count: 1, Iterations: n})
}

func (s *script) Burst(_ context.Context, b plan.Bursts) ([]float64, error) {
	var out []float64
	for range b.Count {
		s.bursts++
		if s.burst == nil {
			out = append(out, make1(s.ranks, 1e-3)...)
			continue
		}
		one, err := s.burst(s.bursts - 1)
		if err != nil {
			return nil, err
		}
		out = append(out, one...)
	}
	return out, nil
}

func (s *script) Isolated(_ context.Context, iterations int) ([]float64, error) {
	out := make([]float64, 0, iterations*s.ranks)
	for range iterations {
		for rank := range s.ranks {
			v := 1e-3
			if s.isolated != nil {
				v = s.isolated(s.launches, rank)
			}
			out = append(out, v)
		}
		s.launches++
	}
	return out, nil
}

func (*script) Held() bool { return true }

func (s *script) EventFloor() float64 { return 1e-6 }

func make1(n int, v float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = v
	}
	return out
}

// alone is a sweep on one rank.
func alone(t *testing.T) plan.Axes {
	t.Helper()
	a := axes(t, "all_reduce")
	a.World.GPUsPerNode = 1
	return a
}

// options take a fixed number of samples.
func options(bursts, launches int) plan.Effort {
	return plan.Effort{Iterations: 20, Checks: 1, Burst: stat.Fixed(bursts), Isolated: stat.Fixed(launches)}
}

func run(t *testing.T, d plan.Driver, cases []plan.Case, o plan.Effort) []record.Result {
	t.Helper()
	require.NoError(t, o.Validate())
	return plan.Run(context.Background(), cases, d, o, func(record.Result) {})
}

// Sizes go up, then down; verification is in the first pass alone; each result
// is reported when its second pass is done.
func TestTwoPassesOverTheSizes(t *testing.T) {
	d := &script{ranks: 8}
	var done []int64
	cases := axes(t, "all_reduce").Cases()[:3]
	results := plan.Run(context.Background(), cases, d, options(4, 4), func(r record.Result) { done = append(done, r.BytesRequested) })
	require.Equal(t, []string{"1024 up", "verify", "2048 up", "verify", "4096 up", "verify", "4096 down", "2048 down", "1024 down"}, d.asked)
	require.Equal(t, []int64{4096, 2048, 1024}, done)
	require.Equal(t, int64(1024), results[0].BytesRequested, "results are in the order of the cases")
	require.Equal(t, 4, results[0].Burst.MeanOfRanks.N)
	require.Equal(t, 4, results[0].Isolated.MaxOfRanks.N)
}

// The warm-up counts nowhere; a burst is one sample of the ranks' mean and of the
// slowest.
func TestBurstsAreSummarised(t *testing.T) {
	d := &script{ranks: 2, burst: func(call int) ([]float64, error) {
		if call == 0 || call == 5 { // the warm-up of each pass
			return []float64{100, 100}, nil
		}
		return []float64{1 + float64(call), 3 + float64(call)}, nil
	}}
	a := axes(t, "all_reduce")
	a.MaxBytes, a.World.GPUsPerNode = a.MinBytes, 2
	o := options(8, 2)
	o.Warmup = 5
	r := run(t, d, a.Cases(), o)[0]
	require.Equal(t, stat.Summarize([]float64{3, 4, 5, 6, 8, 9, 10, 11}), r.Burst.MeanOfRanks)
	require.InDelta(t, 8, r.Burst.MaxOfRanks.Median, 0)
	require.InDelta(t, 1024/7.0, *r.AlgBW, 1e-9)
	require.InDelta(t, 1024/7.0, *r.BusBW, 1e-9, "the factor of two ranks is 1")
	require.Equal(t, stat.StopMaxSamples, r.Burst.Stop)
}

// The value of an isolated launch is that of the slowest rank; the rank with the
// shortest interval came last.
func TestIsolatedLaunches(t *testing.T) {
	d := &script{ranks: 8, isolated: func(_, rank int) float64 {
		if rank == 5 {
			return 1e-3
		}
		return 1.5e-3 + 1e-6*float64(rank)
	}}
	r := run(t, d, axes(t, "all_reduce").Cases()[:1], options(2, 20))[0]
	require.InDelta(t, 1.507e-3, r.Isolated.MaxOfRanks.Median, 1e-12)
	require.InDelta(t, 0.507e-3, r.Isolated.Spread.Median, 1e-12)
	require.Equal(t, []record.LateCount{{Rank: 5, Count: 20}}, r.Isolated.Late)
	require.InDelta(t, 1e-6, *r.Isolated.EventFloor, 0)
	require.Equal(t, "skew", r.Warnings[0].Code)
	require.NotEmpty(t, r.Warnings[0].Hint)
}

// Who came last is not known where the shortest interval is of several ranks: on a clock
// that ticks the first of them would be blamed for nothing. They take turns.
func TestTiesAreCountedByTurns(t *testing.T) {
	for _, x := range []struct {
		last func(launch, rank int) bool
		want []record.LateCount
	}{
		{func(launch, rank int) bool { return rank == 3 || rank == 5 && launch%2 == 0 }, []record.LateCount{{Rank: 3, Count: 16}, {Rank: 5, Count: 4}}},
		{func(_, rank int) bool { return rank >= 4 }, []record.LateCount{{Rank: 4, Count: 6}, {Rank: 5, Count: 6}, {Rank: 6, Count: 4}, {Rank: 7, Count: 4}}},
		{func(int, int) bool { return true }, nil},
	} {
		d := &script{ranks: 8, isolated: func(launch, rank int) float64 {
			if x.last(launch, rank) {
				return 1e-3
			}
			return 2e-3
		}}
		r := run(t, d, axes(t, "all_reduce").Cases()[:1], options(2, 20))[0]
		require.Equal(t, x.want, r.Isolated.Late)
	}
}

// stuck is an error with evidence.
type stuck struct{ error }

func (stuck) Evidence() *record.Evidence { return &record.Evidence{During: record.DuringBurst} }

// What an error knows of the ranks is in the result.
func TestEvidenceOfAnError(t *testing.T) {
	for _, x := range []struct {
		err  error
		want *record.Evidence
	}{{stuck{errors.New("stands still")}, stuck{}.Evidence()}, {errors.New("broken"), nil}} {
		d := &script{ranks: 8, burst: func(int) ([]float64, error) { return nil, fmt.Errorf("burst: %w", x.err) }}
		results := run(t, d, axes(t, "all_reduce").Cases()[:2], options(2, 2))
		require.Equal(t, record.Failed, results[0].Status)
		require.Equal(t, x.want, results[0].Evidence)
		require.Nil(t, results[1].Evidence)
	}
}

func TestWrongDataEndsTheCase(t *testing.T) {
	d := &script{ranks: 8, verified: plan.Verification{Wrong: 3, First: "first on rank 2"}}
	results := run(t, d, axes(t, "all_reduce").Cases()[:2], options(2, 2))
	require.Equal(t, record.WrongData, results[0].Status)
	require.Equal(t, int64(3), *results[0].Verified.Wrong)
	require.Contains(t, results[0].Reason, "first on rank 2")
	require.Nil(t, results[0].Burst, "wrong results are not timed")
	require.Equal(t, record.WrongData, results[1].Status, "the next case is tried")
}

func TestWhatIsNotVerifiedSaysWhy(t *testing.T) {
	d := &script{ranks: 8, unverifiable: "memory"}
	r := run(t, d, axes(t, "all_reduce").Cases()[:1], options(2, 2))[0]
	require.Equal(t, record.Verified{State: record.NotVerified, Reason: "memory"}, r.Verified)
	o := options(2, 2)
	o.Checks = 0
	r = run(t, d, axes(t, "all_reduce").Cases()[:1], o)[0]
	require.Contains(t, r.Verified.Reason, "-c 0")
}

// A machine that slows between the passes is noticed.
func TestDriftBetweenThePasses(t *testing.T) {
	for _, slower := range []float64{1, 1.1} {
		d := &script{ranks: 1}
		d.burst = func(call int) ([]float64, error) {
			v := 1e-3 * (1 + 1e-4*float64(call*7%5))
			if call >= 12 {
				v *= slower
			}
			return []float64{v}, nil
		}
		r := run(t, d, alone(t).Cases()[:1], options(24, 2))[0]
		drift := false
		for _, w := range r.Warnings {
			drift = drift || w.Code == "drift"
		}
		require.Equal(t, slower > 1, drift, "%v", r.Warnings)
	}
}

// A failed case keeps its reason, those after it say why they were not run, and
// those that were skipped anyway keep their own.
func TestFailureStopsTheRest(t *testing.T) {
	d := &script{ranks: 1, burst: func(call int) ([]float64, error) {
		if call >= 1 {
			return nil, errors.New("link down")
		}
		return []float64{1}, nil
	}}
	cases := alone(t).Cases()
	cases[3].Skip = "too large"
	results := run(t, d, cases, options(2, 2))
	require.Equal(t, record.Failed, results[1].Status)
	require.Equal(t, "link down", results[1].Reason)
	require.Nil(t, results[1].BusBW)
	require.Equal(t, record.Skipped, results[2].Status)
	require.Contains(t, results[2].Reason, results[1].Key)
	require.Equal(t, "too large", results[3].Reason)
	require.Equal(t, record.OK, results[0].Status, "its second pass could not be run: the first has its figures")
	require.NotNil(t, results[0].BusBW)
	require.Equal(t, "one_pass", results[0].Warnings[len(results[0].Warnings)-1].Code)
	require.Equal(t, "1 of 2 passes: "+results[1].Key+" failed before the next pass, so drift is not detected", results[0].Warnings[len(results[0].Warnings)-1].Message)
}

// An error that comes with the cancellation is an interruption, not a failure.
func TestCancellationDuringACase(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	d := &script{ranks: 1, burst: func(call int) ([]float64, error) {
		if call == 2 {
			cancel()
			return nil, context.Canceled
		}
		return []float64{1}, nil
	}}
	seen := 0
	results := plan.Run(ctx, alone(t).Cases(), d, options(2, 2), func(record.Result) { seen++ })
	require.Equal(t, 4, seen)
	for _, r := range results {
		require.Equal(t, record.Interrupted, r.Status)
	}
}
