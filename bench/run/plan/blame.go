package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"zbench/bench/base/slice"
	"zbench/bench/run/record"
)

// GroupError is the failure of one or several processes to execute an order. It implements Stuck; its
// evidence covers all ranks that took part.
type GroupError struct {
	// Failures are the processes' failures, in the order of the processes.
	Failures []ProcessFailure
	// processes is the number of all processes.
	processes int
	evidence  *record.Evidence
	// stood describes the processes that stood still.
	stood string
}

// ProcessFailure is the failure of one process.
type ProcessFailure struct {
	// Process is the number of the process. Host is the name of its host, or empty if unknown.
	Process int
	Host    string
	// FirstRank is the world rank of the process's first rank. The process has Ranks ranks.
	FirstRank, Ranks int
	Failure
}

// Evidence is the progress of every rank; nil if no launches were in progress.
func (e *GroupError) Evidence() *record.Evidence { return e.evidence }

// Timeout reports whether every process only hit its deadline, so that the cause is unknown.
func (e *GroupError) Timeout() bool {
	return !slices.ContainsFunc(e.Failures, func(f ProcessFailure) bool { return f.Kind != FailedLate })
}

// Lost reports whether a process was lost. This loss explains the failures of the other processes.
func (e *GroupError) Lost() bool {
	return slices.ContainsFunc(e.Failures, func(f ProcessFailure) bool { return f.Kind == FailedLost || f.Kind == FailedUnreached })
}

// StoodStill reports whether a process stood still and every failure is a passed deadline.
func (e *GroupError) StoodStill() bool { return e.stood != "" && e.Timeout() }

// maxNamed is the largest number of different failures that an error quotes.
const maxNamed = 3

// Error quotes the failures. The failures of processes that failed themselves come first. The failures
// of processes that timed out waiting follow. Equal messages are quoted once.
func (e *GroupError) Error() string {
	type quote struct {
		kind    FailureKind
		message string
	}
	order, members := slice.Group(e.Failures, func(f ProcessFailure) quote { return quote{f.Kind, f.Message} })
	slices.SortStableFunc(order, func(a, b quote) int {
		return cmp.Compare(slices.Index(failureKinds, a.kind), slices.Index(failureKinds, b.kind))
	})
	if order[0].kind == FailedLost || order[0].kind == FailedHanging {
		// The other processes wait for these; the evidence shows it.
		order = slices.DeleteFunc(order, func(q quote) bool {
			return q.kind == FailedLate || q.kind == FailedAsync || q.kind == FailedUnreached
		})
	}
	var texts []string
	if e.stood != "" {
		texts = append(texts, e.stood)
	}
	rest := 0
	for i, q := range order {
		if i >= maxNamed {
			rest += len(members[q])
			continue
		}
		texts = append(texts, e.named(members[q])+": "+q.message)
	}
	if rest > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", rest))
	}
	if e.evidence != nil {
		texts = append(texts, e.evidence.Text())
	}
	return strings.Join(texts, "; ")
}

// named names the processes of some failures. For a single process it adds the host.
func (e *GroupError) named(failures []ProcessFailure) string {
	text := record.ProcessText(slice.Map(failures, func(f ProcessFailure) int { return f.Process }), e.processes)
	if host := failures[0].Host; len(failures) == 1 && host != "" {
		text += " on " + host
	}
	return text
}

// describeFailures returns the error of all failures in executing an order, nil if none.
func (g *Group) describeFailures(o Order, reports []Report) error {
	e := &GroupError{processes: len(g.world)}
	for i, r := range reports {
		if m := g.world[i]; r.Failure != nil {
			e.Failures = append(e.Failures, ProcessFailure{Process: i, Host: m.Host, FirstRank: g.first[i], Ranks: m.Ranks, Failure: *r.Failure})
		}
	}
	if len(e.Failures) == 0 {
		return nil
	}
	e.evidence = g.join(o, e.Failures)
	if c, ok := g.others.(Standing); ok {
		e.stood = c.Stood()
	}
	return e
}

// join merges the processes' evidence into one for all active ranks. It returns nil if no process has
// evidence and no process was lost during launches.
func (g *Group) join(o Order, failures []ProcessFailure) *record.Evidence {
	all := &record.Evidence{}
	all.During, all.Iterations, _ = o.Verb.batch()
	known, missed := false, false
	for _, f := range slices.Backward(failures) {
		e := f.Evidence
		missed = missed || e != nil || f.Kind == FailedLost || f.Kind == FailedHanging
		if _, err := e.Progress(g.activeOf(f.FirstRank, f.Ranks)); err != nil {
			continue
		}
		// The driver knows the launches. Processes in the earliest phase keep the others waiting, so
		// the first process in that phase decides the phase and the number of launches.
		if !known || phase(e.During) <= phase(all.During) {
			all.During, all.Iterations, known = e.During, e.Iterations, true
		}
	}
	if !known && (all.During == "" || !missed) {
		return nil
	}
	start, n := g.first[0], all.Iterations
	whole := record.RankProgress{Enqueued: n, Started: n, Ended: n, Finished: true}
	ranks := slices.Repeat([]record.RankProgress{whole}, max(0, min(g.active, g.first[len(g.world)])-start))
	for _, f := range failures {
		if first, active := g.activeOf(f.FirstRank, f.Ranks); active > 0 {
			copy(ranks[first-start:], addShare(all, f.Failure, first, active))
		}
	}
	all.SetRanksFrom(start, ranks)
	return all
}

// phases are the phases in which ranks wait for each other, in order of time.
var phases = []string{record.DuringOpen, record.DuringInit, record.DuringWarmUp, record.DuringVerification, record.DuringBurst, record.DuringIsolated}

func phase(during string) int { return slices.Index(phases, during) }

// addShare returns the progress of one process's ranks in the batch, and raises the deadline of the
// merged evidence to the deadline of the process.
func addShare(all *record.Evidence, f Failure, first, count int) []record.RankProgress {
	n := all.Iterations
	var one record.RankProgress
	switch {
	case f.Evidence != nil:
		e := f.Evidence
		ranks, err := e.Progress(first, count)
		if err == nil && phase(e.During) > phase(all.During) {
			return slices.Repeat([]record.RankProgress{{Enqueued: n, Started: n, Ended: n, Finished: true}}, count)
		}
		if err == nil && (e.During != all.During || e.Iterations != n) {
			err = fmt.Errorf("evidence of %d launches (%s); another process has %d (%s)", e.Iterations, e.During, n, all.During)
		}
		if err == nil {
			if e.Deadline != nil && (all.Deadline == nil || *all.Deadline < *e.Deadline) {
				all.Deadline = e.Deadline
			}
			return ranks
		}
		one = record.RankProgress{Failed: true, Error: clip(err.Error(), maxRankError)}
	case f.Kind == FailedLost:
		one = record.RankProgress{Lost: true}
	case f.Kind == FailedUnreached:
		one = record.RankProgress{Unreached: true}
	case f.Kind == FailedLate:
		one = record.RankProgress{Enqueued: n, Started: -1, Ended: -1}
	default:
		one = record.RankProgress{Failed: true, Error: clip(f.Message, maxRankError)}
	}
	return slices.Repeat([]record.RankProgress{one}, count)
}
