package plan_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/run/plan"
)

// The warning names what is left of the job, and comes only where the sweep may take longer.
func TestEstimateAgainstTheEndOfAJob(t *testing.T) {
	e := plan.Estimate{Seconds: plan.Span{Low: 60, High: 600}}
	require.Empty(t, e.Against(600))
	require.Regexp(t, "^The job ends in 8.33 min, and the sweep can take longer: .*--resume", e.Against(500))
	require.Regexp(t, "^The job ends in 30.0 s, before the sweep does: .*Take a longer job", e.Against(30))
	require.Regexp(t, "^The time of the job is over: ", e.Against(-1))
	require.Empty(t, plan.Estimate{}.Against(-1))
}
