package record_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/run/record"
)

// A state accuses the ranks that others wait for; where the evidence does not tell them
// apart, all candidates are named.
func TestSuspects(t *testing.T) {
	var (
		waits      = record.RankProgress{Enqueued: 5, Started: 3, Ended: 2}
		finished   = record.RankProgress{Enqueued: 5, Started: 5, Ended: 5, Finished: true}
		notStarted = record.RankProgress{Enqueued: 5, Started: 2, Ended: 2}
		late       = record.RankProgress{Enqueued: 2, Started: 2, Ended: 2}
		lost       = record.RankProgress{Lost: true}
		behind     = record.RankProgress{Unreached: true}
		failed     = record.RankProgress{Failed: true, Error: "a call of a library does not return"}
		unmarked   = record.RankProgress{Enqueued: 5, Started: -1, Ended: -1}
		async      = record.RankProgress{Enqueued: 5, Started: 3, Ended: 2, Error: "unhandled system error"}
	)
	for name, c := range map[string]struct {
		ranks    []record.RankProgress
		suspects string
		certain  bool
		says     string
	}{
		"lost":                           {[]record.RankProgress{waits, lost, waits}, "1", true, "; culprit: rank 1"},
		"lost node":                      {[]record.RankProgress{waits, lost, lost, lost}, "1-3", true, "; culprit: ranks 1–3"},
		"behind a lost process":          {[]record.RankProgress{waits, waits, lost, behind}, "2", true, "; culprit: rank 2"},
		"lost while others hang":         {[]record.RankProgress{failed, failed, lost, failed}, "2", true, "; culprit: rank 2"},
		"failed":                         {[]record.RankProgress{waits, waits, waits, failed}, "3", true, "; culprit: rank 3"},
		"all failed":                     {[]record.RankProgress{failed, failed}, "0-1", false, "; cannot tell which rank is the culprit, candidates: all 2 ranks"},
		"not enqueued":                   {[]record.RankProgress{waits, notStarted, late, waits}, "2", true, "; culprit: rank 2"},
		"not started":                    {[]record.RankProgress{notStarted, waits, waits}, "0", true, "; culprit: rank 0"},
		"most not started":               {[]record.RankProgress{notStarted, notStarted, waits}, "0-1", false, "; cannot tell which rank is the culprit, candidates: ranks 0–1"},
		"all started":                    {[]record.RankProgress{waits, waits, finished}, "0-1", false, "; cannot tell which rank is the culprit, candidates: ranks 0–1"},
		"unmarked":                       {[]record.RankProgress{unmarked, unmarked, unmarked}, "0-2", false, "; cannot tell which rank is the culprit, candidates: all 3 ranks"},
		"an asynchronous error of some":  {[]record.RankProgress{waits, async, waits}, "1", true, "check their GPUs, NICs and cables, then the peers that they are connected to; culprit: rank 1"},
		"an error beside a late start":   {[]record.RankProgress{notStarted, waits, async, waits}, "2", true, "; culprit: rank 2"},
		"an error beside a lost rank":    {[]record.RankProgress{async, lost, async, waits}, "1", true, "; culprit: rank 1"},
		"an error of most":               {[]record.RankProgress{async, async, waits}, "0-1", false, "; cannot tell which rank is the culprit, candidates: ranks 0–1"},
		"an asynchronous error of every": {[]record.RankProgress{async, async, async}, "0-2", false, "; cannot tell which rank is the culprit, candidates: all 3 ranks"},
	} {
		t.Run(name, func(t *testing.T) {
			e := record.Evidence{During: record.DuringWarmUp, Iterations: 5}
			e.SetRanks(c.ranks)
			require.Equal(t, c.suspects, e.Suspects)
			require.Equal(t, c.certain, e.Certain)
			require.Contains(t, e.Verdict(), c.says)
		})
	}
}
