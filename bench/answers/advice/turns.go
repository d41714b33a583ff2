package advice

import (
	"cmp"
	"errors"
	"reflect"
	"slices"

	"zbench/bench/answers/recommend"
	"zbench/bench/base/exit"
	"zbench/bench/files/trace"
	"zbench/bench/job/trainer"
)

// Turn is a setting to compare in timed steps: its name, its predicted step, and the calls of that step.
// Groups are the groups of rank 0 that these calls use.
type Turn struct {
	Name      string
	Candidate recommend.Candidate
	Nodes     []trace.Node
	Groups    []trace.Group
}

// Turns returns the settings to compare in timed steps, in the answer's run: the present setting or the
// trainer's default; the answer, half of it and twice it; and the first setting again. If elements are
// given, they replace the answer and its neighbours. Of settings with the same messages only the first is
// kept.
func (q *Question) Turns(d *Document, sources []recommend.Source, elements []int64) ([]Turn, error) {
	a := &d.Answer
	if a.Backward == nil || a.Forward == nil {
		return nil, errNoTime
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
		t := Turn{Name: names[i], Candidate: c}
		turns = withTurn(a, turns, t, params, settings[i])
	}
	return again(turns)
}

// Planned returns the settings to compare in timed steps if there are no curves: the present setting or the
// trainer's default, elements, and the first setting again. Without elements it takes a quarter of the
// first setting, and 4, 16 and 64 times the first setting. The document has no answer. world is the number
// of ranks.
func (q *Question) Planned(world int, elements []int64) (*Document, []Turn, error) {
	in := q.in
	in.Bootstrap = 0
	if in.Run.DP == 0 {
		var err error
		if in.Run.DP, err = q.divided(world); err != nil {
			return nil, nil, err
		}
		in.Model = q.noted(in.Model, in.Run.DP)
	}
	d, err := Recommend(in)
	if err != nil {
		return nil, nil, exit.UsageError(err, adviceHelp)
	}
	t, err := trainer.ByName(d.Answer.Trainer)
	if err != nil {
		return nil, nil, err
	}
	a, params, c := &d.Answer, trainer.WithBlocks(in.Model.Params), in.Compute
	switch {
	case a.Verdict == recommend.NoCommunication:
		return nil, nil, errAlone
	case !c.Known():
		return nil, nil, errNoTime
	}
	backward, forward := cmp.Or(c.Backward, 2*c.Forward), cmp.Or(c.Forward, c.Backward/2)
	a.Backward, a.Forward, a.Refusal = &backward, &forward, nil
	first := t.Default(params, a.Advised)
	if d.Config != nil && d.Config.Elements > 0 {
		first = d.Config.Elements
		a.Current = &recommend.Candidate{Elements: first}
	}
	turns, err := plannedTurns(t, a, params, first, elements)
	return d, turns, err
}

// plannedTurns returns the turns without curves. `first` is the present setting, in elements.
func plannedTurns(t trainer.Trainer, a *recommend.Answer, params []trainer.Param, first int64, elements []int64) (turns []Turn, err error) {
	names, settings := turnsOf(a, elements)
	if len(elements) == 0 {
		names, settings = []string{names[0], "", "", "", ""}, []int64{settings[0], first / 4, 4 * first, 16 * first, 64 * first}
	}
	for i, setting := range settings {
		if setting > 0 {
			setting = recommend.Snap(t, params, a.Advised, setting)
		}
		one := Turn{Name: names[i], Candidate: recommend.Candidate{Elements: cmp.Or(setting, first)}}
		turns = withTurn(a, turns, one, params, setting)
		for _, n := range turns[len(turns)-1].Nodes {
			if c := n.Call; c != nil && !slices.ContainsFunc(a.Curves, func(u recommend.Used) bool { return u.Collective == c.Collective }) {
				a.Curves = append(a.Curves, recommend.Used{Collective: c.Collective, InPlace: c.Collective == "all_reduce"})
			}
		}
	}
	return again(turns)
}

var (
	errNoTime = exit.With(exit.Want, errors.New("the time of a microbatch is not known: a step has computation"), "give --backward-ms, --step-ms, or --tokens-per-microbatch with --tflops")
	errAlone  = exit.With(exit.Want, errors.New("one rank reduces nothing: no bucket size matters"), "give several ranks")
)

// withTurn adds a turn with its step, unless another turn has the same step. setting is 0 if nothing is
// set.
func withTurn(a *recommend.Answer, turns []Turn, t Turn, params []trainer.Param, setting int64) []Turn {
	if setting > 0 {
		setting = t.Candidate.Elements
	}
	t.Nodes = a.NodesOf(params, setting, groupsOf(&t.Groups, a.Advised, 0))
	for i := range t.Groups { // tensor-parallel ranks are neighbours
		for k := range t.Groups[i].Ranks {
			t.Groups[i].Ranks[k] *= max(1, a.Advised.TP)
		}
	}
	if slices.ContainsFunc(turns, func(other Turn) bool { return reflect.DeepEqual(other.Nodes, t.Nodes) }) {
		return turns
	}
	return append(turns, t)
}

// `again` appends a copy of the first turn to the list.
func again(turns []Turn) ([]Turn, error) {
	if len(turns) < 2 {
		return nil, exit.With(exit.Want, errors.New("all settings make the same messages"), "give others with --settings")
	}
	first := turns[0]
	first.Name += " again"
	return append(turns, first), nil
}

// turnsOf returns the settings and their names. A setting of 0 is the trainer's behaviour if nothing is
// set.
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
