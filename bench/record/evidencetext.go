package record

import (
	"fmt"
	"slices"
	"strings"
)

// Text is the state in words.
func (s RankState) Text() string { return strings.ReplaceAll(string(s), "_", " ") }

// Where says in which launch of what the case did not end.
func (e *Evidence) Where() string {
	launch, ok := e.stuck()
	switch what := phases[e.During]; {
	case !ok:
		return fmt.Sprintf("in %s of %d launches", what, e.Iterations)
	case launch >= e.Iterations:
		return fmt.Sprintf("after the %d launches of %s", e.Iterations, what)
	default:
		return fmt.Sprintf("in launch %d of %d of %s", launch+1, e.Iterations, what)
	}
}

// Ranks taken together, and the ways in which they are missing.
func (e *Evidence) count() (all, missing int) {
	for _, r := range e.Ranks {
		all += r.Count
		switch r.State {
		case LostContact, RankFailed, NotEnqueued, NotStarted:
			missing += r.Count
		case NotFinished, RankFinished:
		}
	}
	return all, missing
}

// Verdict is what the evidence comes to, and what to do: who is missing, or that
// nobody is, or that it cannot tell.
func (e *Evidence) Verdict() string {
	_, missing := e.count()
	_, marked := e.stuck()
	gone := slices.ContainsFunc(e.Ranks, func(r RankEvidence) bool { return r.State == LostContact || r.State == RankFailed })
	nobody := !slices.ContainsFunc(e.Ranks, func(r RankEvidence) bool { return r.State != NotStarted })
	switch {
	case nobody:
		return "no rank has come to it, so nobody is named: look at what comes before, as connecting, and whether every process can reach the others"
	case gone:
		return "the others wait for those that failed or are lost: look at their processes, GPUs and hosts"
	case missing > 0:
		return "the others wait for those that have not started: look at their GPUs, processes and hosts"
	case marked:
		return "all ranks have started: nobody is missing; look at the links and rails between them"
	}
	return fmt.Sprintf("who has started is not known: the launches of a burst carry no marks, those of its warm-up do (-w, up to %d)", MaxMarks)
}

// MaxMarks is the largest number of launches in a batch that carry marks.
const MaxMarks = 64

// Text is the evidence in a sentence: where, who is how far, what it comes to.
func (e *Evidence) Text() string {
	all, _ := e.count()
	var parts []string
	for _, r := range e.Ranks {
		part := RankText(r.Ranks, r.Count, all) + " " + r.State.Text()
		if r.Error != "" {
			part += " (" + r.Error + ")"
		}
		parts = append(parts, part)
	}
	return e.Where() + ": " + strings.Join(append(parts, e.Verdict()), "; ")
}
