package trace

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// bruteForce is the period by comparing every call with the one so many before.
func bruteForce(calls []Call) (period, from int) {
	n := len(calls)
	for p := 2; p <= min(n/2, maxPeriod); p++ {
		alike := 0
		for alike < n-p && kindOf(&calls[n-1-alike]) == kindOf(&calls[n-1-alike-p]) {
			alike++
		}
		unit := calls[n-p:]
		varied := slices.ContainsFunc(unit, func(c Call) bool { return kindOf(&c) != kindOf(&unit[0]) })
		if start := n - p - alike; alike >= p && 2*start <= n && varied {
			return p, start
		}
	}
	return 0, 0
}

func TestPeriodIsThatOfComparingAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var calls []Call
		unit := rapid.SliceOfN(rapid.Int64Range(1, 2), 1, 6).Draw(t, "unit")
		for range rapid.IntRange(0, 8).Draw(t, "times") {
			for _, b := range unit {
				calls = append(calls, Call{Bytes: b})
			}
		}
		for _, b := range rapid.SliceOfN(rapid.Int64Range(1, 3), 0, 6).Draw(t, "rest") {
			calls = append(calls, Call{Bytes: b})
		}
		p, from := (&Rank{Calls: calls}).period()
		if wantP, wantFrom := bruteForce(calls); p != wantP || from != wantFrom {
			t.Fatalf("%d from %d, and by comparing all %d from %d", p, from, wantP, wantFrom)
		}
	})
}

// A million calls, and as many marks, take a moment: neither is compared with all others.
func BenchmarkSteps(b *testing.B) {
	const n = 1 << 20
	alike, marked := &Rank{Calls: make([]Call, n)}, &Rank{Calls: make([]Call, n), Steps: make([]Step, n)}
	for i := range n {
		at := Span{float64(i), float64(i) + 1}
		marked.Calls[i].Enqueued, marked.Steps[i].Span = &at, at
	}
	for b.Loop() {
		alike.split()
		marked.split()
	}
}

// Steps are timed by the profiler's marks, or from one repetition to the next; the slowest rank counts.
func TestStepsAreTimed(t *testing.T) {
	marked := &Trace{Ranks: []*Rank{
		{Steps: []Step{{"1", Span{0, 2}}, {"2", Span{2, 5}}}},
		{Steps: []Step{{"1", Span{0, 2.5}}, {"2", Span{2.5, 5}}}},
		{},
	}}
	require.Equal(t, []float64{2.5, 3}, marked.StepTimes())
	r := &Rank{}
	for i := range 4 {
		for k, bytes := range []int64{1 << 20, 1 << 10} {
			at := float64(i*i + k)
			r.Calls = append(r.Calls, Call{Collective: "all_reduce", Bytes: bytes, Enqueued: &Span{at, at}})
		}
	}
	require.Equal(t, []float64{1, 3, 5}, (&Trace{Ranks: []*Rank{r}}).StepTimes())
	require.Empty(t, (&Trace{}).StepTimes())
}
