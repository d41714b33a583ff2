package plan_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"zbench/bench/run/plan"
	"zbench/bench/run/record"
	"zbench/test/mutate"
)

// drawnReport is any report that a process can make.
func drawnReport(t *rapid.T) plan.Report {
	finite := rapid.Float64().Filter(func(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) })
	r := plan.Report{
		Stop: rapid.Bool().Draw(t, "stop"), StartedEarly: rapid.Bool().Draw(t, "started_early"),
		Hold:     rapid.Float64Range(0, 10).Draw(t, "hold"),
		Seconds:  rapid.SliceOf(finite).Draw(t, "seconds"),
		Budget:   plan.Room{Bytes: rapid.Int64Min(0).Draw(t, "bytes"), Cache: rapid.Int64Min(0).Draw(t, "cache")},
		Verified: plan.Verification{Wrong: rapid.Int64Min(0).Draw(t, "wrong"), First: rapid.String().Draw(t, "first")},
	}
	if len(r.Seconds) == 0 {
		r.Seconds = nil
	}
	if rapid.Bool().Draw(t, "excused") {
		r.Unverifiable = rapid.String().Draw(t, "unverifiable")
	}
	for i := range rapid.IntRange(0, 3).Draw(t, "ids") {
		r.IDs = append(r.IDs, plan.CommID{Group: i, ID: rapid.SliceOfN(rapid.Byte(), 128, 128).Draw(t, "id")})
	}
	if rapid.Bool().Draw(t, "taken") {
		r.Parts = []record.Part{{Key: "a@0", Pass: 1, Status: record.OK, Kernel: &record.KernelSamples{Launches: 2, Seconds: []float64{rapid.Float64Range(0, 1).Draw(t, "sample")}}}}
	}
	if rapid.Bool().Draw(t, "failed") {
		f := plan.Failure{
			Kind:    rapid.SampledFrom([]plan.FailureKind{plan.FailedLost, plan.FailedCall, plan.FailedOrder, plan.FailedAsync, plan.FailedLate}).Draw(t, "kind"),
			Message: rapid.StringN(1, -1, -1).Draw(t, "message"),
		}
		if rapid.Bool().Draw(t, "evidence") {
			e := &record.Evidence{During: record.DuringBurst, Deadline: new(rapid.Float64Range(0, 1e6).Draw(t, "deadline")), Iterations: 20}
			e.SetRanksFrom(rapid.IntRange(0, 1016).Draw(t, "rank"), []record.RankProgress{
				{Enqueued: 20, Started: rapid.IntRange(0, 20).Draw(t, "started"), Ended: rapid.IntRange(0, 20).Draw(t, "ended"), Error: rapid.String().Draw(t, "error")},
				{Enqueued: 20, Started: 3, Ended: 3},
				{Failed: true, Error: "link down"},
				{Lost: true},
			})
			f.Evidence = e
		}
		r.Failure = &f
	}
	return r
}

// A report comes back from JSON as it was, to the last bit.
func TestReportsTravelAsText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawnReport(t)
		text, err := json.Marshal(want)
		require.NoError(t, err)
		var got plan.Report
		require.NoError(t, json.Unmarshal(text, &got))
		require.Equal(t, want, got)
		for i := range want.Seconds {
			require.Equal(t, math.Float64bits(want.Seconds[i]), math.Float64bits(got.Seconds[i]))
		}
	})
}

// What another version may mean is not guessed: it is refused with what to do.
func TestMessagesOfOtherVersionsAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		`{"protocol":13,"budget":{"bytes":1},"verified":{"Wrong":0,"First":""},"watts":3}`: `a report that this zbench does not know: json: unknown field "watts"`,
		`{"protocol":1,"budget":{"bytes":1}}`:                                              "a report of protocol 1, this zbench has 13",
		`{"budget":{"bytes":1}}`:                                                           "a report of protocol 0, this zbench has 13",
		`{"protocol":13,"seconds":["1"]}`:                                                  "a report that this zbench does not know",
		`{"protocol":13,"failure":{"kind":"asleep","message":"x"}}`:                        `the kind "asleep"`,
		`{"protocol":13,"failure":{"kind":"failed","message":""}}`:                         `the kind "failed", ""`,
		`{"protocol":13,"failure":{"kind":"late","message":"x","evidence":{"watts":1}}}`:   `unknown field "watts"`,
		`{"protocol":13,"verified":{"Wrong":-1}}`:                                          "a negative count",
		`{"protocol":13,"hold":-1}`:                                                        "a negative count",
		`{"protocol":13,"budget":{"bytes":-1}}`:                                            "a negative count",
		`[]`:                                                                               "a report that cannot be read",
	} {
		r := plan.Report{Stop: true}
		err := json.Unmarshal([]byte(text), &r)
		require.ErrorContains(t, err, want, text)
		require.Equal(t, plan.Report{Stop: true}, r, "nothing of it is taken")
		if strings.Contains(want, "unknown field") || strings.Contains(want, "protocol") {
			require.ErrorContains(t, err, "all processes must run the same version of zbench")
		}
	}
	for text, want := range map[string]string{
		`{"protocol":13,"do":"warm-up","with":{"launches":5},"colour":1}`: `an order that this zbench does not know: json: unknown field "colour"`,
		`{"protocol":13,"do":"warm-up","with":{"launches":5,"colour":1}}`: `an order that this zbench does not know: "warm-up": json: unknown field "colour"`,
		`{"protocol":13,"do":"warm-up"}`:                                  `"warm-up" lacks its arguments`,
		`{"protocol":13,"do":"warm-up","with":null}`:                      `"warm-up" lacks its arguments`,
		`{"protocol":11,"do":"warm-up","count":5}`:                        "an order of protocol 11, this zbench has 13",
		`{"do":"warm-up","count":5}`:                                      "an order of protocol 0, this zbench has 13",
	} {
		var o plan.Order
		require.ErrorContains(t, json.Unmarshal([]byte(text), &o), want)
	}
	var r plan.Report
	talk := strings.Repeat("x", 1<<20)
	require.NoError(t, json.Unmarshal([]byte(`{"protocol":13,"failure":{"kind":"failed","message":"`+talk+`"}}`), &r))
	require.Len(t, r.Failure.Message, 4<<10)
	long := `{"protocol":13,"unverifiable":"` + strings.Repeat("x", plan.MaxReport) + `"}`
	require.ErrorContains(t, json.Unmarshal([]byte(long), &plan.Report{}), "the limit is 2097152")
}

// reported is what the first follower reports on an order to take launches alone.
func reported(t *testing.T, p plan.Process, o plan.Order) (plan.Report, []byte) {
	t.Helper()
	l := line{make(chan []byte, 1), make(chan []byte, 1)}
	text, err := json.Marshal(o)
	require.NoError(t, err)
	l.orders <- text
	close(l.orders)
	require.ErrorContains(t, plan.Follow(context.Background(), p, l), "lost the process that leads")
	var r plan.Report
	text = <-l.reports
	require.NoError(t, json.Unmarshal(text, &r))
	return r, text
}

// scripted is a process with a set answer to launches alone.
type scripted struct {
	part
	seconds []float64
	err     error
}

func (s *scripted) Isolated(context.Context, int) ([]float64, error) { return s.seconds, s.err }

// The largest reports of a process with 1,024 ranks stay within MaxReport, whatever
// their texts hold; that of a process with one rank is small.
func TestReportsAreBounded(t *testing.T) {
	order := plan.Order{Verb: plan.Batches{Isolated: plan.MaxBatch}}
	longest := -1.2345678901234567e-300
	_, text := reported(t, &scripted{seconds: slices.Repeat([]float64{longest}, plan.MaxBatch*1024)}, order)
	require.LessOrEqual(t, len(text), plan.MaxReport)
	_, text = reported(t, &scripted{seconds: slices.Repeat([]float64{longest}, plan.MaxBatch)}, order)
	require.LessOrEqual(t, len(text), 2<<10)

	hostile := strings.Repeat("\x01\xff<", 1<<13)
	e := &record.Evidence{During: record.DuringIsolated, Iterations: plan.MaxBatch, Deadline: new(180.0)}
	ranks := make([]record.RankProgress, 1024)
	for i := range ranks {
		ranks[i] = record.RankProgress{Enqueued: i % 65, Started: i % 65, Ended: i % 64, Error: hostile}
	}
	e.SetRanksFrom(1<<20, ranks)
	err := stuckError{plainly(hostile), e}
	r, text := reported(t, &scripted{err: err}, order)
	require.LessOrEqual(t, len(text), plan.MaxReport)
	require.Len(t, r.Failure.Evidence.Ranks, len(e.Ranks), "texts are cut, ranks are not")
	require.Len(t, e.Ranks[0].Error, len(hostile), "the driver's own is not")
	got, err2 := r.Failure.Evidence.Progress(1<<20, 1024)
	require.NoError(t, err2)
	require.Equal(t, 63, got[63].Ended)
}

// A time that is no number cannot travel: it is a failure of the process that took
// it, and not a leader that waits for a report.
func TestTimesThatAreNoNumbers(t *testing.T) {
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		r, _ := reported(t, &scripted{seconds: []float64{1, bad}}, plan.Order{Verb: plan.Batches{Isolated: 2}})
		require.Equal(t, plan.FailedCall, r.Failure.Kind)
		require.Contains(t, r.Failure.Message, "time 2 of 2 is ")
		require.Empty(t, r.Seconds)
	}
}

// told are followers that report what they are given.
type told []plan.Report

func (told) Send(plan.Order)                     {}
func (r told) Reports(plan.Report) []plan.Report { return r }

// Whatever text arrives as a report, it is refused, or stays the same on its way and
// leaves the leader evidence that holds all ranks.
func TestChangedReports(t *testing.T) {
	mutate.Each(t, 1, 2000, []string{
		`{"protocol":13,"seconds":"je21oPfGsD6N7bWg98bAPg==","budget":{"bytes":1},"verified":{"Wrong":0,"First":""}}`,
		`{"protocol":13,"failure":{"kind":"lost","message":"left"}}`,
		`{"protocol":13,"failure":{"kind":"late","message":"x","evidence":{"during":"warm_up","deadline":180,"iterations":5,"ranks":[{"state":"not_started","ranks":"2-3","count":2,"enqueued":5,"started":1,"ended":1}]}}}`,
		`{"protocol":13,"failure":{"kind":"async","message":"x","evidence":{"during":"burst","deadline":null,"iterations":-1,"ranks":[{"state":"","ranks":"2-999999999999","count":2,"enqueued":5,"started":null,"ended":9}]}}}`,
	}, func(t *testing.T, text string) {
		var r plan.Report
		if json.Unmarshal([]byte(text), &r) != nil {
			return
		}
		out, err := json.Marshal(r)
		require.NoError(t, err)
		var again plan.Report
		require.NoError(t, json.Unmarshal(out, &again))
		final, err := json.Marshal(again)
		require.NoError(t, err)
		require.Equal(t, string(out), string(final))

		g, ctx := plan.Lead(context.Background(), &part{}, told{r}, []plan.Member{{Ranks: 2}, {Ranks: 2}})
		_, err = g.WarmUp(ctx, 5)
		if failed, ok := errors.AsType[*plan.GroupError](err); ok && failed.Evidence() != nil {
			_, err = failed.Evidence().Progress(0, 4)
			require.NoError(t, err)
			require.NotEmpty(t, failed.Error())
		}
	})
}
