package plan_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/run/plan"
)

// dictated is a leader with a list of orders; its context can end.
type dictated struct {
	ctx     context.Context
	orders  []plan.Order
	reports []plan.Report
}

func (d *dictated) Context() context.Context { return d.ctx }

func (d *dictated) Next() (plan.Order, error) {
	o := d.orders[0]
	d.orders = d.orders[1:]
	return o, nil
}

func (d *dictated) Report(r plan.Report) error {
	d.reports = append(d.reports, r)
	return nil
}

// A follower opens its ranks at the first order; its facts, or its error, reach the leader.
func TestFollowersOpenAtAnOrder(t *testing.T) {
	budget, open, end := plan.Order{Verb: plan.AskBudget{}}, plan.Order{Verb: plan.Open{}}, plan.Order{Verb: plan.End{}}
	d := &dictated{ctx: t.Context(), orders: []plan.Order{budget, open, budget, end}}
	require.NoError(t, plan.FollowOpening(t.Context(), func(context.Context) (plan.Process, json.RawMessage, error) {
		return &part{budget: 7}, json.RawMessage(`{"gpu":"MI300X"}`), nil
	}, d))
	require.Equal(t, plan.FailedOrder, d.reports[0].Failure.Kind)
	require.JSONEq(t, `{"gpu":"MI300X"}`, string(d.reports[1].Facts))
	require.Equal(t, int64(7), d.reports[2].Budget.Bytes)

	d = &dictated{ctx: t.Context(), orders: []plan.Order{open, budget, end}}
	require.NoError(t, plan.FollowOpening(t.Context(), func(context.Context) (plan.Process, json.RawMessage, error) {
		return nil, nil, errors.New("librccl.so.1 was not found")
	}, d))
	require.Equal(t, "librccl.so.1 was not found", d.reports[0].Failure.Message)
	require.NotNil(t, d.reports[1].Failure, "it stays closed")

	g, _ := plan.Lead(t.Context(), &part{}, told{{Facts: json.RawMessage(`1`)}, {Facts: json.RawMessage(`2`)}}, []plan.Member{{Ranks: 2}, {Ranks: 2}, {Ranks: 2}})
	facts, err := g.Open()
	require.NoError(t, err)
	require.Equal(t, "[1 2]", fmt.Sprintf("%s", facts))
	g, _ = plan.Lead(t.Context(), &part{}, told{d.reports[0]}, []plan.Member{{Ranks: 2}, {Host: "b", Ranks: 2}})
	_, err = g.Open()
	require.EqualError(t, err, "process 1 on b: librccl.so.1 was not found")
}

// Launches in progress end when a process is lost. The lost one is the cause; the others
// only waited.
func TestLossEndsLaunchesInProgress(t *testing.T) {
	ctx, lose := context.WithCancelCause(t.Context())
	d := &dictated{ctx: ctx, orders: []plan.Order{{Verb: plan.Open{}}, {Verb: plan.Batches{Isolated: 1}}, {Verb: plan.End{}}}}
	require.NoError(t, plan.FollowOpening(t.Context(), func(context.Context) (plan.Process, json.RawMessage, error) {
		return &waiting{began: func() { lose(errors.New("lost process 3 on c")) }}, nil, nil
	}, d))
	require.Equal(t, plan.FailedLate, d.reports[1].Failure.Kind)
	require.Equal(t, "stopped waiting: lost process 3 on c", d.reports[1].Failure.Message)

	g, sweep := plan.Lead(t.Context(), &part{}, told{d.reports[1], plan.Failing(plan.FailedLost, "its connection ended")}, []plan.Member{{Ranks: 2}, {Host: "b", Ranks: 2}, {Host: "c", Ranks: 2}})
	_, err := g.WarmUp(sweep, 1)
	require.ErrorContains(t, err, "process 2 on c: its connection ended; in the warm-up of 1 launches: ranks 4–5 lost contact;")
}

// waiting waits for launches that do not end.
type waiting struct {
	part
	began func()
}

func (w *waiting) Isolated(ctx context.Context, _ int) ([]float64, error) {
	w.began()
	<-ctx.Done()
	return nil, context.Cause(ctx)
}
