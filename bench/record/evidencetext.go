package record

import (
	"fmt"
	"slices"
	"strings"

	"zbench/bench/backend"
)

// Text is the state in words.
func (s RankState) Text() string { return strings.ReplaceAll(string(s), "_", " ") }

// Where is the launch, and of what, that did not end.
func (e *Evidence) Where() string {
	launch, ok := e.stuck()
	switch what := phases[e.During]; {
	case e.During == DuringOpen || e.During == DuringInit:
		return "in " + what
	case !ok:
		return fmt.Sprintf("in %s of %d launches", what, e.Iterations)
	case launch >= e.Iterations:
		return fmt.Sprintf("after the %d launches of %s", e.Iterations, what)
	default:
		return fmt.Sprintf("in launch %d of %d of %s", launch+1, e.Iterations, what)
	}
}

// count returns the number of ranks, and how many of them are missing.
func (e *Evidence) count() (all, missing int) {
	for _, r := range e.Ranks {
		all += r.Count
		switch r.State {
		case LostContact, RankFailed, NotEnqueued, NotStarted, Unreached:
			missing += r.Count
		case NotFinished, RankFinished:
		}
	}
	return all, missing
}

// Verdict states which ranks are missing, that none is, or that this is unknown, and
// what to check.
func (e *Evidence) Verdict() string { return e.explanation() + e.culprit() }

func (e *Evidence) explanation() string {
	_, missing := e.count()
	_, marked := e.stuck()
	failed := slices.ContainsFunc(e.Ranks, func(r RankEvidence) bool { return r.State == LostContact || r.State == RankFailed })
	notStarted := !slices.ContainsFunc(e.Ranks, func(r RankEvidence) bool { return r.State != NotStarted })
	switch {
	case (e.During == DuringOpen || e.During == DuringInit) && e.Certain:
		return "the others wait for the ranks named here: check their GPUs (dmesg, " + backend.Tools() + "), processes and hosts"
	case e.During == DuringOpen || e.During == DuringInit:
		return "all ranks are in the same call, which does not tell who has not joined: check whether every process can reach the others (NCCL_SOCKET_IFNAME, firewalls); with NCCL_DEBUG=INFO the rank that prints no Init START is the stuck one"
	case failed:
		return "the other ranks wait for those that failed or are lost: check their processes, GPUs and hosts"
	case e.Reported() != "":
		return "only the ranks named here report an asynchronous error, the others wait for them: check their GPUs, NICs and cables, then the peers that they are connected to"
	case notStarted:
		return "no rank has started it, so no rank is named: check what precedes it, such as connecting, and whether every process can reach the others"
	case missing > 0:
		return "the other ranks wait for those that have not started: check their GPUs, processes and hosts"
	case marked:
		return "all ranks have started, none is missing: check the links and rails between them"
	}
	return fmt.Sprintf("it is unknown which ranks have started: a timed burst has no marks; its warm-up has (-w, up to %d)", MaxMarks)
}

// MaxMarks is the largest number of launches in a batch that carry marks.
const MaxMarks = 64

// Text is the evidence as a sentence: the launch, the state of each rank, the verdict.
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
