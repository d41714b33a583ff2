package rails

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/finding"
)

// The names of planted faults are shown and decide nothing: with any label, or none, the
// same times give the same findings, questions and files.
func TestLabelsOfFaultsDecideNothing(t *testing.T) {
	f := Fleet{Nodes: 8, GPUs: 4}
	measure := func(bad int) []Timing {
		_, timings := measured(t, f, Bounds{}, func(_ int, r Round, i int) []float64 {
			pair, seconds := r.Pairs[i], 1e-3*(1+0.002*float64(i%3))
			if r.Kind == Network && (pair.A.Node == bad || pair.B.Node == bad) && pair.A.GPU == 1 {
				seconds *= 1.4
			}
			return []float64{seconds, seconds, seconds, seconds}
		})
		return timings
	}
	for bad, state := range map[int]finding.State{-1: finding.Healthy, 5: finding.Faulty} {
		timings := measure(bad)
		var first string
		for _, label := range [][]string{nil, {"slow_rail:node=5,rail=1,left=0.7"}, {"slow_rail:node=2,rail=3,left=0.1", "slow_node:node=7,left=0.5"}} {
			s := &Survey{Simulated: true, Faults: label, GPUs: 4, Bytes: 1 << 20, Nodes: strings.Fields("a b c d e f g h")}
			d := OfSurvey(s, timings, Judge(Data{Fleet: f, Timings: timings}))
			require.Equal(t, state, d.State)
			d.Survey = nil
			text, err := json.Marshal(d)
			require.NoError(t, err)
			if first == "" {
				first = string(text)
			}
			require.Equal(t, first, string(text))
		}
	}
}
