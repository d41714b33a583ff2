package advice_test

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/answers/advice"
	"zbench/bench/answers/recommend"
	"zbench/bench/base/unit"
	"zbench/bench/job/trainer"
)

var (
	longerWith = regexp.MustCompile(`([0-9.]+ %) longer(?: on average over slower networks and other computation times,)? with (?:your|the default,) ([^,.(]+(?:\.[0-9]+[^,.(]*)?)`)
	longerThen = regexp.MustCompile(`With the default, ([^,]+), it is ([0-9.]+ %) longer`)
	takesMore  = regexp.MustCompile(`^with (.+?)(?: elements| per unit)? a step takes ([0-9.]+ %) more`)
	typed      = regexp.MustCompile(`(?i)\b(?:set|keep) \S+ (?:to|at)(?: its default,)? ([0-9]+) \(`)
	atMost     = regexp.MustCompile(`at most ([0-9.]+) % longer than with the best size`)
)

// deref are the candidates that there are.
func deref(some ...*recommend.Candidate) (all []recommend.Candidate) {
	for _, c := range some {
		if c != nil {
			all = append(all, *c)
		}
	}
	return all
}

// oneNumber compares every number of an answer's text that is a setting or what it costs:
// in the sentence, the table, the reasons and the printed lines.
func oneNumber(t require.TestingT, d *advice.Document) {
	a := &d.Answer
	costs := map[string][]string{} // of the table's rows, by setting as it is printed
	for _, c := range append(slices.Clone(a.Table), deref(a.Default, a.Current)...) {
		setting := d.Amount(c.Elements)
		costs[setting] = append(costs[setting], unit.Share(a.Cost(&c)))
	}
	said := map[string]string{}
	say := func(setting, share string) {
		require.Contains(t, costs[setting], share, "%s: %s", setting, d.Sentence)
		require.Contains(t, []string{"", share}, said[setting], "%s twice: %s", setting, d.Sentence)
		said[setting] = share
	}
	if len(a.Changes) == 0 { // else the figures are of the user's own run
		for _, m := range longerWith.FindAllStringSubmatch(d.Advice(), -1) {
			say(strings.TrimSpace(m[2]), m[1])
		}
	}
	for _, m := range longerThen.FindAllStringSubmatch(d.Advice(), -1) {
		say(m[1], m[2])
	}
	for _, why := range []string{a.WhyNotSmaller, a.WhyNotLarger} {
		if m := takesMore.FindStringSubmatch(why); m != nil {
			require.Contains(t, costs[m[1]], m[2], why)
		}
	}
	if m := atMost.FindStringSubmatch(d.Advice()); m != nil {
		bound, err := strconv.ParseFloat(m[1], 64)
		require.NoError(t, err)
		require.GreaterOrEqual(t, bound, 100*a.Cost(a.Best)-1e-9, d.Sentence)
	}
	for _, m := range typed.FindAllStringSubmatch(d.Advice(), -1) {
		require.Equal(t, strconv.FormatInt(a.Elements, 10), m[1], d.Sentence)
		require.Contains(t, d.Snippets[0].Text, m[1], d.Sentence)
	}
	require.Contains(t, d.Advice(), d.Amount(a.Elements))
	for _, s := range d.Snippets {
		c, err := trainer.ReadConfig(s.Text, a.Trainer)
		require.NoError(t, err)
		if a.Unit == trainer.Blocks {
			continue // it takes the list of tensors
		}
		n, set := c.Setting(nil, a.Advised)
		require.True(t, set, s.Text)
		require.Equal(t, a.Elements, n, s.Text)
	}
}

// The assumed answer is set, drawn and printed as the same number, which has few digits
// where a model decided the times.
func TestAssumedAnswerIsOneNumber(t *testing.T) {
	for _, ranks := range []int{64, 1024} {
		d := assumed(t, bracketedSweep(ranks))
		oneNumber(t, d)
		digits := strings.TrimRight(strconv.FormatInt(d.Answer.Elements, 10), "0")
		require.True(t, d.Answer.Keep || len(digits) <= 3, "%d", d.Answer.Elements)
		require.True(t, d.Answer.Keep, "16,384 tokens hide these messages")
	}
}
