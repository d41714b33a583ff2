package record

import "slices"

// reports tells a rank whose communicator has an asynchronous error of its own.
func (r *RankEvidence) reports() bool { return r.Error != "" && r.progress().known() }

// having is the sign of a state.
func having(state RankState) func(RankEvidence) bool {
	return func(r RankEvidence) bool { return r.State == state }
}

// suspect fills Suspects and Certain. A sign accuses its ranks if others wait for them:
// where most ranks have it, they may be the ones that wait. Lost ranks are certain, however
// many, and ranks that do not open: no rank waits for another there. An asynchronous error is a sign where some ranks report one and others do not: a
// communicator reports what its own process has met.
func (e *Evidence) suspect() {
	all, _ := e.count()
	ranksOf := func(has func(RankEvidence) bool) (set string, n int) {
		var ranks []int
		for _, r := range e.Ranks {
			if !has(r) {
				continue
			}
			list, _ := spans(r.Ranks) // SetRanksFrom has made them
			for _, s := range list {
				for rank := s.first; rank <= s.last; rank++ {
					ranks = append(ranks, rank)
				}
			}
		}
		slices.Sort(ranks)
		return ranges(ranks), len(ranks)
	}
	lost := having(LostContact)
	for _, sign := range []func(RankEvidence) bool{lost, having(RankFailed), e.someReport(), having(NotEnqueued), having(NotStarted)} {
		if set, n := ranksOf(sign); n > 0 {
			_, gone := ranksOf(lost)
			e.Suspects, e.Certain = set, gone > 0 || e.During == DuringOpen || 2*n <= all
			return
		}
	}
	set, _ := ranksOf(func(r RankEvidence) bool { return r.State != RankFinished && r.State != Unreached })
	e.Suspects, e.Certain = set, false
}

// someReport is the sign of an asynchronous error, which no rank has where all report one.
func (e *Evidence) someReport() func(RankEvidence) bool {
	all := !slices.ContainsFunc(e.Ranks, func(r RankEvidence) bool { return !r.reports() })
	return func(r RankEvidence) bool { return !all && r.reports() }
}

// Reported names the ranks that alone report an asynchronous error; empty if none or all
// do, or if another sign is stronger.
func (e *Evidence) Reported() string {
	if !e.Certain || e.Ranks[0].State == LostContact || e.Ranks[0].State == RankFailed || !slices.ContainsFunc(e.Ranks, e.someReport()) {
		return ""
	}
	return e.suspects()
}

// suspects names the suspects, nothing where there are none.
func (e *Evidence) suspects() string {
	list, err := spans(e.Suspects)
	if err != nil {
		return ""
	}
	all, _ := e.count()
	n := 0
	for _, s := range list {
		n += s.last - s.first + 1
	}
	return RankText(e.Suspects, n, all)
}

// culprit names the suspects, or says that they are candidates.
func (e *Evidence) culprit() string {
	switch text := e.suspects(); {
	case text == "":
		return ""
	case e.Certain:
		return "; culprit: " + text
	default:
		return "; cannot tell which rank is the culprit, candidates: " + text
	}
}
