package advice

import (
	"fmt"

	"zbench/bench/exit"
	"zbench/bench/recommend"
	"zbench/bench/trace"
	"zbench/bench/trainer"
)

// Turn is a setting that timed steps compare: its name, what the curves predict, and a step with it.
type Turn struct {
	Name      string
	Candidate recommend.Candidate
	Nodes     []trace.Node
}

// Turns are the settings that timed steps compare, in the answer's run: what is set today, or the trainer's
// default; the answer, half of it and twice of it; and the first again. elements, if there are any, stand in place
// of the answer and its neighbours. Settings with the same messages count once. Every message is of all
// data-parallel ranks.
func (q *Question) Turns(d *Document, sources []recommend.Source, elements []int64) ([]Turn, error) {
	a := &d.Answer
	if a.Backward == nil || a.Forward == nil {
		return nil, exit.With(exit.Want, fmt.Errorf("the time of a microbatch is not known: a step has computation"), "give --backward-ms, --step-ms, or --tokens-per-microbatch with --tflops")
	}
	curves, err := recommend.Curves(sources)
	if err != nil {
		return nil, err
	}
	names, settings := turnsOf(a, elements)
	params := trainer.WithBlocks(q.in.Model.Params)
	all, err := recommend.Try(recommend.Question{
		Curves: curves, Trainer: a.Trainer, Params: params, Run: a.Advised, Backward: *a.Backward, Forward: *a.Forward, Rescale: q.in.Rescale,
	}, settings...)
	if err != nil {
		return nil, err
	}
	var turns []Turn
	for i, c := range all {
		setting := c.Elements
		if settings[i] == 0 {
			setting = 0
		}
		others := 0
		t := Turn{Name: names[i], Candidate: c, Nodes: a.NodesOf(params, setting, func(ranks int) int {
			if ranks != a.Advised.DP {
				others = ranks
			}
			return 0
		})}
		if others > 0 {
			return nil, exit.With(exit.Want, fmt.Errorf("some messages are among %d of the %d data-parallel ranks: steps are timed where all are on one communicator of each rank", others, a.Advised.DP),
				"leave out --ep and --instances")
		}
		if !repeats(turns, &t) {
			turns = append(turns, t)
		}
	}
	if len(turns) < 2 {
		return nil, exit.With(exit.Want, fmt.Errorf("all settings make the same messages"), "give others with --settings")
	}
	again := turns[0]
	again.Name += " again"
	return append(turns, again), nil
}

// turnsOf names the settings; that of a trainer where nothing is set is 0.
func turnsOf(a *recommend.Answer, elements []int64) (names []string, settings []int64) {
	names, settings = []string{"default"}, []int64{0}
	if a.Current != nil {
		names, settings = []string{"current"}, []int64{a.Current.Elements}
	}
	for _, e := range elements {
		names, settings = append(names, ""), append(settings, e)
	}
	if len(elements) == 0 {
		names, settings = append(names, "answer", "half", "double"), append(settings, a.Elements, a.Elements/2, 2*a.Elements)
	}
	return names, settings
}

// repeats tells whether a step with the same messages is among the turns.
func repeats(turns []Turn, t *Turn) bool {
	for _, other := range turns {
		if other.Candidate.Buckets == t.Candidate.Buckets && other.Candidate.Step == t.Candidate.Step && len(other.Nodes) == len(t.Nodes) {
			return true
		}
	}
	return false
}
