package recommend

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/job/trainer"
)

// Other times of computation do not change a plan, so that an engine with other times
// is that of the changed question.
func TestOtherTimesAreAnotherQuestionOfTheSamePlans(t *testing.T) {
	for _, name := range append(trainer.Names(), "muon") {
		q := large(t, framework(name), 700)
		q.Run.LayerWise = name == "muon"
		x, err := trainer.ByName(q.Trainer)
		require.NoError(t, err)
		e, refusal := newEngine(q, x, x.Advised(q.Run))
		require.Nil(t, refusal)
		coarse, refusal := e.asked(q, e.run, true)
		require.Nil(t, refusal)
		other := q
		other.Backward, other.Forward, other.Run.Accum = 0.2, 0.3, 4
		want, refusal := e.asked(other, x.Advised(other.Run), true)
		require.Nil(t, refusal)
		got := coarse.timed(other)
		require.Equal(t, want.score(want.models, want.candidates), got.score(got.models, got.candidates), name)
		require.NotEqual(t, want.score(want.models, want.candidates), coarse.score(coarse.models, coarse.candidates), name)
	}
}

// framework is the trainer of a question about one, or about Muon.
func framework(name string) string {
	if name == "muon" {
		return "megatron"
	}
	return name
}
