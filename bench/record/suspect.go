package record

import "slices"

// accusing are the states that tell ranks from those that wait for them, the strongest
// first.
var accusing = []RankState{LostContact, RankFailed, NotEnqueued, NotStarted}

// suspect fills Suspects and Certain. A state accuses its ranks if others wait for them:
// where most ranks have it, they may be the ones that wait. Lost ranks are certain, however
// many.
func (e *Evidence) suspect() {
	all, _ := e.count()
	having := func(has func(RankEvidence) bool) (set string, n int) {
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
	for _, state := range accusing {
		set, n := having(func(r RankEvidence) bool { return r.State == state })
		if n > 0 {
			e.Suspects, e.Certain = set, state == LostContact || 2*n <= all
			return
		}
	}
	set, n := having(func(r RankEvidence) bool { return r.Error != "" && r.State != Unreached })
	if n == 0 || n == all {
		set, _ = having(func(r RankEvidence) bool { return r.State != RankFinished && r.State != Unreached })
	}
	e.Suspects, e.Certain = set, false
}

// culprit names the suspects, or says that they are candidates.
func (e *Evidence) culprit() string {
	list, err := spans(e.Suspects)
	if err != nil {
		return ""
	}
	all, _ := e.count()
	n := 0
	for _, s := range list {
		n += s.last - s.first + 1
	}
	text := RankText(e.Suspects, n, all)
	if e.Certain {
		return "; culprit: " + text
	}
	return "; cannot tell which rank is the culprit, candidates: " + text
}
