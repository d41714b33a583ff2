package experiments

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/answers/recommend"
	"zbench/test/longtest"
)

const (
	fullClusters  = 400
	smallClusters = fullClusters / 20
)

// The promises: the mean, and what one in twenty may exceed; less where the
// answer calls itself sure. To keep what costs below 1 % may add keptRegret to the
// mean of the setting of least mean regret.
const (
	meanRegret = 0.005
	keptRegret = 0.001
	p95Regret  = 0.03
	p95High    = 0.02
)

func TestBucketsFull(t *testing.T) {
	if !*full {
		t.Skip("-args -full")
	}
	all := RunBuckets(0, fullClusters, Hidden, Nominal, Uneven, Harsh)
	for _, b := range all {
		fmt.Print(b.Markdown())
	}
	keepsItsPromise(t, all[0], all[0].Policies[changed])
	mean, _, p95, _ := all[0].Policies[answerAsGiven].Summary()
	require.LessOrEqual(t, mean, meanRegret+keptRegret)
	require.LessOrEqual(t, p95, p95Regret)
}

// Clusters that were not looked at when the method was made, with the second
// pass that a sweep of zbench's own takes.
func TestUnseenBucketsFull(t *testing.T) {
	if !*full {
		t.Skip("-args -full")
	}
	b := RunBuckets(10_000, fullClusters, Hidden)[0]
	fmt.Print(b.Markdown())
	keepsItsPromise(t, b, b.Policies[secondPass])
}

func keepsItsPromise(t *testing.T, b Buckets, p Regret) {
	t.Helper()
	require.Zero(t, b.Refused)
	mean, _, p95, _ := p.Summary()
	require.LessOrEqual(t, mean, meanRegret)
	require.LessOrEqual(t, p95, p95Regret)
	_, _, high, _ := b.Changed[recommend.High].Summary()
	require.LessOrEqual(t, high, p95High)
}

// beyond counts the independent regrets above a bound.
func beyond(r Regret, bound float64) int {
	n := 0
	for _, x := range r.First {
		if x > bound {
			n++
		}
	}
	return n
}

// At a twentieth the recommender keeps its word as far as so few clusters can
// tell, and the rules that everybody uses are seen to break it.
func TestLongBucketsAtATwentieth(t *testing.T) {
	longtest.Only(t)
	b := RunBuckets(0, smallClusters, Hidden)[0]
	require.Zero(t, b.Refused)
	bar := Bar{Rate: 0.05, AtMost: true}
	seen := 0
	for i, p := range b.Policies {
		require.Len(t, p.First, smallClusters)
		require.Len(t, p.All, smallClusters*Truths)
		holds := bar.Plausible(beyond(p, p95Regret), smallClusters)
		if i <= changed {
			require.True(t, holds, p.Policy)
			mean, _, _, _ := p.Summary()
			require.Less(t, mean, 3*meanRegret, p.Policy)
		}
		switch p.Policy {
		case "25 MiB", "100 MiB", "40 M elements", "90 % of the peak bus bandwidth", "one bucket":
			seen++
			require.False(t, holds, p.Policy)
		}
	}
	require.Equal(t, 5, seen)
}

// The same seed is the same cluster, and the same answer.
func TestClustersRepeat(t *testing.T) {
	for seed := range uint64(3) {
		x, y := NewCluster(seed), NewCluster(seed)
		require.Equal(t, x.Question, y.Question)
		a, err := recommend.Ask(x.Question)
		require.NoError(t, err)
		again, err := recommend.Ask(y.Question)
		require.NoError(t, err)
		require.Equal(t, a, again)
	}
}
