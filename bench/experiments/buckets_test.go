package experiments

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/recommend"
)

const fullClusters = 400

func TestBucketsFull(t *testing.T) {
	if !*full {
		t.Skip("-args -full")
	}
	b := RunBuckets(fullClusters, Hidden)
	fmt.Print(b.Markdown(), RunBuckets(fullClusters, Nominal).Markdown(), RunBuckets(fullClusters, Harsh).Markdown())
	mean, _, p95, _ := b.Policies[0].Summary()
	require.LessOrEqual(t, mean, 0.005)
	require.LessOrEqual(t, p95, 0.03)
	_, _, high, _ := b.Levels[recommend.High].Summary()
	require.LessOrEqual(t, high, 0.02)
}
