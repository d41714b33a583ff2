package plan_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"zbench/bench/run/plan"
)

// A time takes 8 bytes as base64, whatever its digits: 11 characters, and not the 24 of
// the longest decimal number.
func TestTimesArePacked(t *testing.T) {
	for _, n := range []int{1, 12, 64, 64 * 1024} {
		r := plan.Report{Seconds: make([]float64, n)}
		for i := range r.Seconds {
			r.Seconds[i] = 1e-4 / float64(3*i+7)
		}
		text, err := json.Marshal(r)
		require.NoError(t, err)
		require.Less(t, len(text), 11*n+40, n)
	}
}

// A packed time that is no number is a failure of its process; what is no packed time is
// refused.
func TestPackedTimesAreChecked(t *testing.T) {
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		text, err := json.Marshal(struct {
			Protocol int        `json:"protocol"`
			Seconds  plan.Times `json:"seconds"`
		}{plan.Protocol, plan.Times{1, bad}})
		require.NoError(t, err)
		var r plan.Report
		require.NoError(t, json.Unmarshal(text, &r))
		require.Equal(t, plan.FailedCall, r.Failure.Kind)
		require.Contains(t, r.Failure.Message, "time 2 of 2 is ")
		require.Empty(t, r.Seconds)
	}
	for text, want := range map[string]string{
		`{"protocol":13,"seconds":"AAAA"}`: "times of 3 bytes: a time has 8",
		`{"protocol":13,"seconds":"A"}`:    "times that cannot be read",
		`{"protocol":13,"seconds":[1]}`:    "a report that this zbench does not know",
	} {
		require.ErrorContains(t, json.Unmarshal([]byte(text), &plan.Report{}), want)
	}
}

// What is joined comes apart as it was, but for the hold, of which the longest counts.
func TestJoinedReportsComeApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		each := rapid.IntRange(0, 4).Draw(t, "each")
		var all []plan.Report
		var together plan.Joined
		hold, early := 0.0, false
		for i := range rapid.IntRange(1, 9).Draw(t, "processes") {
			r := plan.Report{Hold: rapid.Float64Range(0, 1).Draw(t, "hold"), StartedEarly: rapid.Bool().Draw(t, "early")}
			for range each {
				r.Seconds = append(r.Seconds, rapid.Float64Range(0, 1).Draw(t, "seconds"))
			}
			hold, early = max(hold, r.Hold), early || r.StartedEarly
			one, can := r.Joined()
			require.True(t, can)
			if together = together.With(one); i == 0 {
				together = one
			}
			all = append(all, r)
		}
		text, err := json.Marshal(together)
		require.NoError(t, err)
		var back plan.Joined
		require.NoError(t, json.Unmarshal(text, &back))
		got, err := back.Split(len(all))
		require.NoError(t, err)
		for i := range all {
			all[i].Hold, all[i].StartedEarly = hold, early
		}
		require.Equal(t, all, got)
	})
}

// A report that says anything of its process alone is not joined.
func TestReportsThatTravelAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawnReport(t)
		text, err := json.Marshal(r)
		require.NoError(t, err)
		bare, err := json.Marshal(plan.Report{Seconds: r.Seconds, Hold: r.Hold, StartedEarly: r.StartedEarly})
		require.NoError(t, err)
		_, can := r.Joined()
		require.Equal(t, string(text) == string(bare), can)
	})
}

// A joined report that is not that of so many processes is refused; a time that is no
// number is a failure of its process alone.
func TestJoinedReportsAreChecked(t *testing.T) {
	for n, j := range map[int]plan.Joined{0: {}, 2: {Seconds: plan.Times{1}}, 1: {Hold: -1}} {
		_, err := j.Split(n)
		require.ErrorContains(t, err, "a report of")
	}
	got, err := plan.Joined{Seconds: plan.Times{1, math.NaN()}}.Split(2)
	require.NoError(t, err)
	require.Nil(t, got[0].Failure)
	require.Equal(t, plan.FailedCall, got[1].Failure.Kind)
}
