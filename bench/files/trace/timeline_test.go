package trace

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/finding"
)

// The exposed lane is the collectives less the computation, and nothing lies outside the axis.
func TestTimelineOfAStep(t *testing.T) {
	call := func(start, end float64) Call {
		return Call{Collective: "all_reduce", Bytes: 1 << 20, Stream: "4", Kernel: &Span{start, end}, Enqueued: &Span{start, start}}
	}
	r := &Rank{
		Whole: true, Calls: []Call{call(1, 2), call(11, 13), call(14, 15)}, Steps: []Step{{"1", Span{0, 10}}, {"2", Span{10, 20}}},
		Computing: []Span{{0, 0.5}, {3, 4}, {9, 12}, {14.25, 14.5}},
	}
	l := r.timelineOf(r.split().steps)
	require.Equal(t, []string{"computing", "stream 4", "exposed"}, []string{l.Lanes[0].Name, l.Lanes[1].Name, l.Lanes[2].Name})
	require.Len(t, l.Lanes[1].Spans, 2)
	sum := 0.0
	for _, lane := range l.Lanes {
		for _, s := range lane.Spans {
			require.GreaterOrEqual(t, s.Start, 0.0)
			require.LessOrEqual(t, s.End, l.Seconds+1e-12)
		}
	}
	for _, s := range l.Lanes[2].Spans {
		sum += s.End - s.Start
	}
	require.InDelta(t, 1+0.75, sum, 0.03, "12 to 13, and 14 to 15 less a quarter")
	require.Empty(t, (&Rank{}).timelineOf(nil).Lanes)
}

// A trace of the loopback says wherever it is shown that a model decided its times.
func TestTracesOfTheLoopbackSaySimulated(t *testing.T) {
	for device, want := range map[string]bool{"SIMULATED MI300X": true, "AMD Instinct MI300X": false, "": false} {
		trace := &Trace{Device: device}
		require.Equal(t, want, trace.Simulated(), device)
		out := Answer(trace, nil).Shown()
		require.Equal(t, want, out.Simulated, device)
		require.Equal(t, want, slices.ContainsFunc(out.Findings, func(f finding.Finding) bool { return f.Code == finding.CodeSimulated }), device)
	}
}
