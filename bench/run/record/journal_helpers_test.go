package record

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/stat"
)

// begun is the header of a sweep over two cases and one that is skipped.
func begun() Header {
	rec := *full()
	rec.Results = nil
	rec.Added = nil
	for _, key := range []string{"a", "b"} {
		rec.Results = append(rec.Results, Result{
			Case: Case{Key: key, Status: Interrupted, Reason: "stopped", Verified: Verified{State: NotVerified, Reason: "not run"}, Warnings: []Warning{}}, Collective: "all_reduce", Bytes: 1 << 20, Ranks: 2,
		})
	}
	rec.Results = append(rec.Results, Result{Case: Case{Key: "s", Status: Skipped, Reason: "memory", Warnings: []Warning{}}, Collective: "all_gather", Ranks: 2})
	return Header{Schema: JournalSchema, Record: rec, Machine: strings.Repeat("0f", 32)}
}

// taken is a pass with samples of its own.
func taken(key string, pass int) Part {
	p := Part{
		Key: key, Pass: pass, Status: OK,
		Burst:    &BurstSamples{Iterations: 20, Stop: stat.StopPrecision},
		Isolated: &IsolatedSamples{Stop: stat.StopMaxTime, Discarded: 1 + pass, EventFloor: 1e-6, Late: []LateCount{{1, 4 + pass}}},
	}
	if pass == 0 {
		p.Verified = &Verified{State: VerifiedOK, Wrong: new(int64), Launches: 1}
	}
	for _, i := range []int{0, 9, 4, 7, 1, 8} {
		s := (1+float64(key[0]))*(1+float64(pass)/2) + float64(i)/64
		p.Burst.Mean, p.Burst.Max = append(p.Burst.Mean, s), append(p.Burst.Max, s+1)
		p.Isolated.Max, p.Isolated.Spread = append(p.Isolated.Max, s+2), append(p.Isolated.Spread, s/32)
		p.Isolated.Ranks = append(p.Isolated.Ranks, pack([]float64{s, s + 2})...)
	}
	return p
}

func journalOf(t testing.TB, h Header, parts ...Part) []byte {
	t.Helper()
	text, err := h.Line()
	require.NoError(t, err)
	for _, p := range parts {
		line, err := p.Line(h.Record.Run)
		require.NoError(t, err)
		text = append(text, line...)
	}
	return text
}

// parts is a whole sweep in the order in which it runs.
func parts() []Part { return []Part{taken("a", 0), taken("b", 0), taken("b", 1), taken("a", 1)} }
