package advice_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/answers/advice"
	"zbench/bench/answers/recommend"
	"zbench/bench/job/trainer"
	"zbench/test/longtest"
	"zbench/test/project"
	"zbench/test/recordtest"
)

// replay is Llama-3-8B with DDP on a published table, with a cap in MiB set or not.
func replay(t *testing.T, name string, backward float64, capMiB int64) *advice.Document {
	t.Helper()
	rec := recordtest.Published(t, name, 16)
	rec.World.Ranks = 16
	m, err := trainer.Preset("llama3-8b")
	require.NoError(t, err)
	c, err := trainer.ComputeTimed(backward, backward/2)
	require.NoError(t, err)
	in := advice.Input{
		Sources: []recommend.Source{{Record: rec}}, Framework: "ddp", Model: m, Compute: c,
		Run: trainer.Run{DP: 16, GradDtype: "bfloat16", ParamDtype: "bfloat16"},
	}
	if capMiB > 0 {
		bytes := capMiB << 20
		in.Config, in.ConfigFile = &trainer.Config{Trainer: "ddp", Bytes: &bytes}, "train.py"
	}
	return give(t, in)
}

// BUCKET.md quotes what is answered on a published table.
func TestQuotedSentences(t *testing.T) {
	quoted := func(file string) string {
		return strings.Join(strings.Fields(strings.ReplaceAll(project.Read(t, file), "\n> ", " ")), " ")
	}
	kept := replay(t, "allreduce_mi300x_2node_16gpu_cx7roce", 628e-3, 0)
	require.True(t, kept.Answer.Keep)
	require.Contains(t, quoted("docs/BUCKET.md"), strings.SplitAfter(kept.Sentence, " best size.")[0])
}

// On published curves, whatever the time of backward and the cap: a cap that costs
// less than 1 % stays and the sentence has no number but it and the bound; one that
// costs more does not; every setting that the table calls cheap lies in a range.
func TestKeepOnPublishedCurves(t *testing.T) {
	longtest.OneGoroutine(t)
	keepOnPublishedCurves(t, []float64{0.079, 0.628}, 4)
}

func TestLongKeepOnPublishedCurves(t *testing.T) {
	longtest.Only(t)
	keepOnPublishedCurves(t, []float64{0.04, 0.079, 0.2, 0.628, 2}, 10)
}

// keepOnPublishedCurves asks with some times of backward, and finds more than so many caps that stay.
func keepOnPublishedCurves(t *testing.T, backwards []float64, most int) {
	t.Helper()
	kept := 0
	for _, name := range []string{"allreduce_mi300x_2node_16gpu_cx7roce", "allreduce_mi355x_2node_16gpu_pollara"} {
		for _, backward := range backwards {
			for _, cap := range []int64{0, 1, 4, 25, 100, 841, 2000, 20000} {
				d := replay(t, name, backward, cap)
				a := &d.Answer
				now, set := a.Default, int64(25)
				if cap > 0 {
					now, set = a.Current, cap
				}
				cheap := now.Step < a.Least.Step*1.0099 && now.Score < a.Least.Score+0.0099
				dear := now.Step > a.Least.Step*1.0101 || now.Score > a.Least.Score+0.0111
				if cheap {
					kept++
					require.True(t, a.Keep, "%s %g s %d MiB: %s", name, backward, cap, d.Sentence)
				}
				if dear {
					require.False(t, a.Keep, "%s %g s %d MiB: %s", name, backward, cap, d.Sentence)
				}
				if a.Keep {
					require.Regexp(t, fmt.Sprintf(`^Keep bucket_cap_mb at (its default, )?%d MiB: a training step is (as short as|(0\.[0-9]|1) %% longer than) with the best size\. (Low|Medium) confidence(: unproved here.*)?\.$`, set), d.Sentence)
					require.Contains(t, d.Snippets[0].Text, fmt.Sprintf("bucket_cap_mb=%d,", set))
				} else {
					require.NotContains(t, d.Sentence, "Keep")
				}
				require.NotContains(t, d.Sentence, "no need to change")
				require.NotContains(t, d.Sentence, " is 0 % longer with ")
			}
		}
	}
	require.Greater(t, kept, most)
}
