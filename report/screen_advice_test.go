package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/answers/advice"
	"zbench/bench/answers/recommend"
	"zbench/bench/job/trainer"
	"zbench/bench/results"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
	"zbench/test/buckettest"
	"zbench/test/longtest"
	"zbench/test/recordtest"
)

// A recommendation takes 16 lines of 100 columns at most, whatever the trainer, what starts it, and what is known of
// computation; --verbose has the rest. No form contradicts itself.
func TestLongRecommendFitsAScreen(t *testing.T) {
	longtest.Only(t)
	rec := recordtest.Sweep(24)
	rec.Fabric.Bracket = &record.Ends{Fastest: "a", Slowest: "b", Factor: 27}
	for i := range rec.Results {
		rec.Results[i].Bracket = &record.Bracket{Seconds: 2, Fastest: 1, Slowest: 4}
	}
	longest := 0
	names, presets := []string{"ddp", "fsdp2", "primus"}, []string{"llama3-8b"}
	if longtest.Enabled() {
		names, presets = append(trainer.Names(), "accelerate", "hf", "lightning", "primus", "bridge"), trainer.PresetNames()
	}
	for i := range len(names) * len(presets) {
		name, preset := names[i%len(names)], presets[i/len(names)]
		if preset != "llama3-8b" && (i+i/len(names))%3 != 0 {
			continue // a third of the pairs takes a minute
		}
		for what, want := range map[string]spec.Advice{
			"rule": {}, "number": {Backward: 0.1, Forward: 0.05}, "estimate": {Tokens: 2048}, "kept": {Backward: 9},
		} {
			want.Framework, want.Preset = name, preset
			what = preset + ", " + what
			q, err := advice.Prepare(&want)
			require.NoError(t, err)
			d, err := q.Ask([]recommend.Source{{Record: rec}})
			require.NoError(t, err)
			require.True(t, d.Answered(), "%s: %v", name, d.Answer.Refusal)
			doc := results.Recommendation(d, []*record.Record{rec}, nil)
			for _, verbose := range []bool{false, true} {
				var b bytes.Buffer
				require.NoError(t, WriteText(&b, doc, Screen{Width: 100, Verbose: verbose}))
				require.Empty(t, buckettest.Contradictions(b.String()), "%s, %s", name, what)
				if lines := strings.Count(b.String(), "\n"); !verbose {
					longest = max(longest, lines)
					require.LessOrEqual(t, lines, 16, "%s, %s:\n%s", name, what, b.String())
				}
			}
			var b bytes.Buffer
			require.NoError(t, WriteMarkdown(&b, doc))
			require.Empty(t, buckettest.Contradictions(b.String()), "%s, %s", name, what)
			require.Empty(t, buckettest.Contradictions(writeHTML(t, doc)), "%s, %s", name, what)
			require.Equal(t, strings.HasSuffix(what, "rule"), len(d.Snippets) == 0, "%s, %s", name, what)
		}
	}
	t.Logf("the longest has %d lines", longest)
}
