package advice_test

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/answers/advice"
	"zbench/bench/answers/recommend"
	"zbench/bench/job/trainer"
	"zbench/bench/run/record"
)

// costs finds percentages of a step in a text.
var costs = regexp.MustCompile(`\+?[0-9.]+ % (longer|shorter|more|less)|\+[0-9.]+ %|[Ww]ithin 1 %:? |As good within`)

// ragged is a sweep of all_reduce whose times a factor of each size changes.
func ragged(largest int64, factor func(size int64) float64) *record.Record {
	rec := sweepTo(largest, 64, false, "all_reduce")
	for i := range rec.Results {
		s := *rec.Results[i].Isolated.MaxOfRanks
		by := factor(rec.Results[i].Bytes)
		lo, hi := *s.Lo*by, *s.Hi*by
		s.Median, s.Mean, s.Lo, s.Hi = s.Median*by, s.Mean*by, &lo, &hi
		rec.Results[i].Isolated = &record.Timing{Iterations: 1, MaxOfRanks: &s}
	}
	return rec
}

// A sweep to 8 MiB ends where the bandwidth of an α–β curve still grows, and most messages
// are larger: no percentage is printed, whatever the setting, and the reason is.
func TestNoPercentageBeyondTheSweep(t *testing.T) {
	for name, settings := range map[string]string{"new": "", "far off": "bucket_cap_mb=1", "kept": "bucket_cap_mb=400"} {
		in := input(t, "ddp", false)
		in.Bootstrap = 50
		in.Sources = []recommend.Source{{Record: sweepTo(8<<20, 64, false, "all_reduce")}}
		if settings != "" {
			c, err := trainer.ReadConfig("model = DDP(model, "+settings+")\n", "ddp")
			require.NoError(t, err)
			in.Config, in.ConfigFile = c, "train.py"
		}
		d := give(t, in)
		require.Equal(t, recommend.BeyondSweep, d.Answer.Best.Unfounded)
		require.Contains(t, d.Sentence, "is not known: most of the time goes to messages larger than the largest size swept, 8 MiB.")
		require.Empty(t, d.AsGood())
		require.Equal(t, recommend.Low, d.Answer.Confidence.Level)
		for _, form := range []string{text(t, asText, d), text(t, asMarkdown, d)} {
			require.Empty(t, costs.FindAllString(form, -1), name)
		}
	}
}

// One run has the default's messages in a dip of two sizes: what the default costs is not
// printed, in the sentence nor in its row; a second run that repeats it is believed.
func TestNoPercentageOfOneDip(t *testing.T) {
	in := input(t, "ddp", false)
	in.Compute.Backward, in.Compute.Forward = 0.06, 0.03
	slow := ragged(16<<30, func(size int64) float64 {
		if size == 32<<20 || size == 64<<20 {
			return 4
		}
		return 1
	})
	in.Sources = []recommend.Source{{Record: slow}}
	once := give(t, in)
	require.Equal(t, recommend.OneDip, once.Answer.Default.Unfounded, once.Sentence)
	require.Contains(t, once.Sentence, "How much longer a training step is with the default is not known: slow times at one or two sizes of a single run decide it.")
	require.NotContains(t, once.Sentence, " % longer")
	for _, r := range once.Rows(12) {
		if r.Elements == once.Answer.Default.Elements {
			require.Equal(t, "?", advice.Over(&r.Candidate, r.Nominal))
		}
	}
	c, err := trainer.ReadConfig("model = DDP(model, bucket_cap_mb=6000)\n", "ddp")
	require.NoError(t, err)
	mine := in
	mine.Config, mine.ConfigFile = c, "train.py"
	said := give(t, mine).Sentence
	require.Regexp(t, `A training step is [0-9.]+ % longer with your 6000 MiB\.`, said)
	require.NotContains(t, said, "With the default")
	again := ragged(16<<30, func(size int64) float64 {
		if size == 32<<20 || size == 64<<20 {
			return 4.01
		}
		return 1.001
	})
	in.Sources = append(in.Sources, recommend.Source{Record: again})
	twice := give(t, in)
	require.Empty(t, twice.Answer.Default.Unfounded)
	require.Regexp(t, `A training step is [0-9.]+ % longer with the default`, twice.Sentence)
}
