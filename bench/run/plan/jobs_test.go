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

// jobs of the names, each on two devices, which remember what was asked of them.
func jobsOf(asked *[]string, part func(key string, pass int) record.Part, names ...string) []plan.Job {
	var all []plan.Job
	for _, name := range names {
		keys := []string{name + "@0", name + "@1"}
		all = append(all, plan.Job{Keys: keys, Take: func(_ context.Context, pass int) ([]record.Part, bool) {
			*asked = append(*asked, fmt.Sprint(name, pass))
			return []record.Part{part(keys[0], pass), part(keys[1], pass)}, true
		}})
	}
	return all
}

func timed(key string, pass int) record.Part {
	return record.Part{Key: key, Pass: pass, Status: record.OK, Burst: &record.BurstSamples{}}
}

// Jobs go up, then down, each pass with a part for each of their rows; a job that
// ended before one of its rows was logged is taken again for that row alone.
func TestJobsOfSeveralRows(t *testing.T) {
	var asked, logged []string
	log := func(p record.Part) error {
		logged = append(logged, fmt.Sprint(p.Key, p.Pass))
		return nil
	}
	taken := plan.NewTaken([]record.Part{timed("b@0", 0)})
	var done []int
	jobs := append(jobsOf(&asked, timed, "a", "b", "c"), plan.Job{Keys: []string{"s"}, Skipped: true})
	require.NoError(t, taken.Run(context.Background(), jobs, log, func(i int) { done = append(done, i) }))
	require.Equal(t, []string{"a0", "b0", "c0", "c1", "b1", "a1"}, asked)
	require.Equal(t, []string{"a@00", "a@10", "b@10", "c@00", "c@10", "c@01", "c@11", "b@01", "b@11", "a@01", "a@11"}, logged)
	require.Equal(t, []int{3, 2, 1, 0}, done)
	require.Empty(t, taken.Failed)
}

// A row that has ended keeps what it has while the others of its job go on; a pass
// that ended well without samples, as of kernels that are checked alone, ends a row.
func TestJobsEndRowByRow(t *testing.T) {
	var asked []string
	jobs := jobsOf(&asked, func(key string, pass int) record.Part {
		p := timed(key, pass)
		if key == "a@1" {
			p.Status = record.WrongData
		}
		if key[0] == 'b' {
			p.Burst = nil
		}
		return p
	}, "a", "b")
	taken := plan.NewTaken(nil)
	require.NoError(t, taken.Run(context.Background(), jobs, nil, func(int) {}))
	require.Equal(t, []string{"a0", "b0", "a1"}, asked)
	require.Len(t, taken.Parts["a@0"], 2)
	require.Len(t, taken.Parts["a@1"], 1)
	require.Len(t, taken.Parts["b@0"], 1)
}

// After a failure, a cancellation, or a log that cannot be written nothing runs.
func TestJobsStop(t *testing.T) {
	var asked []string
	failing := jobsOf(&asked, func(key string, pass int) record.Part {
		return record.Part{Key: key, Pass: pass, Status: record.Failed}
	}, "a", "b")
	taken := plan.NewTaken(nil)
	require.NoError(t, taken.Run(context.Background(), failing, nil, func(int) {}))
	require.Equal(t, []string{"a0"}, asked)
	require.Equal(t, "a@0", taken.Failed)

	full := errors.New("disk full")
	asked = nil
	require.ErrorIs(t, plan.NewTaken(nil).Run(context.Background(), jobsOf(&asked, timed, "a", "b"), func(record.Part) error { return full }, func(int) {}), full)
	require.Equal(t, []string{"a0"}, asked)

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	asked = nil
	require.NoError(t, plan.NewTaken(nil).Run(ctx, jobsOf(&asked, timed, "a"), nil, func(int) {}))
	require.Empty(t, asked)
}

// The loop asks for what the rule wants, and its time counts.
func TestSample(t *testing.T) {
	var series []float64
	take := func(n int) (float64, error) {
		for range n {
			series = append(series, 1)
		}
		return float64(n), nil
	}
	rule := stat.Rule{MinSamples: 4, MaxSamples: 100, MaxTime: 25}
	why, err := plan.Sample(rule, &series, take)
	require.NoError(t, err)
	require.Equal(t, stat.StopMaxTime, why)
	require.Len(t, series, 25)
	_, err = plan.Sample(rule, new([]float64), func(int) (float64, error) { return 0, context.Canceled })
	require.ErrorIs(t, err, context.Canceled)
}
