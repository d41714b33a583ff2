package replay

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/finding"
	"zbench/bench/base/stat"
	"zbench/bench/files/trace"
)

// A step that is off by more than 1 % stands alone: the document says so, and that nothing else counts.
func TestTheTracesOwnStepIsHeldAgainstTheTrace(t *testing.T) {
	own := OwnOf("rank0.json", &trace.Own{Rank: 3, Steps: 5, Seconds: 0.1, Computing: 0.09, Nodes: []trace.Node{{Seconds: 0.09}, {Call: &trace.Call{}}}})
	require.Equal(t, 1, own.Messages)
	d := &Document{Ranks: 8, Own: own, Settings: []Setting{}}
	require.Equal(t, finding.Unclear, d.State(), "not taken")
	for seconds, state := range map[float64]finding.State{0.0985: finding.Unclear, 0.0995: finding.Pass, 0.1005: finding.Pass, 0.102: finding.Unclear} {
		own.Steps, own.Compute = stat.Summarize([]float64{seconds, seconds, seconds}), 0.09
		require.Equal(t, state, d.State(), "%g", seconds)
		list := d.Findings()
		require.Len(t, list, 1)
		require.Contains(t, list[0].Text, "a step of 100 ms, of which 10.0 ms wait")
		if state == finding.Unclear {
			require.Contains(t, list[0].Text, "says nothing about other settings")
		}
		var out bytes.Buffer
		require.NoError(t, d.WriteJSON(&out))
		require.Equal(t, "The trace's own step", d.Shown().Title)
	}
}

// The sentence on a trace of the loopback says so, wherever it is replayed.
func TestTheStepOfASimulatedTraceSaysSo(t *testing.T) {
	for _, simulated := range []bool{false, true} {
		own := OwnOf("rank0.json", &trace.Own{Seconds: 0.1, Simulated: simulated})
		own.Steps = stat.Summarize([]float64{0.1, 0.1, 0.1})
		require.Equal(t, simulated, strings.HasPrefix(own.finding().Text, "SIMULATED (times of rank0.json): a model, not hardware, decided these times. rank0.json has a step of"), own.finding().Text)
	}
}

// Steps that end before a setting's turn leave the trace's own step shown, and no verdict.
func TestWhatWasTimedBeforeAnErrorIsShown(t *testing.T) {
	own := OwnOf("rank0.json", &trace.Own{Steps: 5, Seconds: 0.1, Computing: 0.09})
	own.Steps, own.Compute = stat.Summarize([]float64{0.1, 0.1, 0.1}), 0.09
	d := &Document{Ranks: 8, Own: own, Ended: "no library of products", Settings: []Setting{{Name: "default", Amount: "25 MiB"}, {Amount: "100 MiB"}, {Name: "default again", Amount: "25 MiB"}}}
	require.Equal(t, finding.Unclear, d.State())
	require.Contains(t, d.Findings()[0].Text, "The steps ended early: no library of products")
	require.Contains(t, d.Findings()[1].Text, "within 1 %")
	var out bytes.Buffer
	require.NoError(t, d.WriteJSON(&out))
	require.Equal(t, "Steps by bucket size", d.Shown().Title)
}
