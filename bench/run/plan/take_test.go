package plan_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/run/plan"
	"zbench/bench/run/record"
)

// Take is a job of a process: the third one is cut short in process 1.
func (p *part) Take(_ context.Context, job, pass int) ([]record.Part, bool) {
	return []record.Part{{Key: fmt.Sprintf("%d on %d", job, p.number), Pass: pass, Status: record.OK}}, job != 3 || p.number != 1
}

// A pass is taken by all processes at once; the parts are in their order.
func TestGroupTakesPasses(t *testing.T) {
	inGroup(t, three(), backgrounds(3), func(_ context.Context, g *plan.Group) {
		got, err := g.Take(2, 1, 60)
		require.NoError(t, err)
		require.Len(t, got, 3)
		for i, parts := range got {
			require.Equal(t, []record.Part{{Key: fmt.Sprint("2 on ", i), Pass: 1, Status: record.OK}}, parts)
		}
		got, err = g.Take(3, 0, 0)
		require.NoError(t, err)
		require.Empty(t, got[1], "what was cut short has no part")
		require.NotEmpty(t, got[2])
	})
}

// Without jobs of its own a process says so, and the leader says which it is.
func TestTakingNeedsJobs(t *testing.T) {
	bare := struct{ plan.Process }{&part{}}
	l := oneOrder{order: plan.Order{Verb: plan.Take{}}}
	require.NoError(t, plan.Follow(context.Background(), bare, &l))
	require.Contains(t, l.report.Failure.Message, "this driver has no jobs")
}

// oneOrder is a leader that orders once.
type oneOrder struct {
	order  plan.Order
	sent   bool
	report plan.Report
}

func (l *oneOrder) Next() (plan.Order, error) {
	if l.sent {
		return plan.Order{Verb: plan.End{}}, nil
	}
	l.sent = true
	return l.order, nil
}

func (l *oneOrder) Report(r plan.Report) error {
	if l.report.Failure != nil {
		return errors.New("a second report")
	}
	l.report = r
	return nil
}
