package record

import (
	"fmt"
	"math"

	"zbench/bench/base/stat"
)

// Limits above which a result has a warning.
const (
	// noisyCV is a coefficient of variation; users of rccl-tests see about 1 to 3 % on a quiet
	// machine.
	noisyCV = 0.05
	// skewShare is the median spread between ranks over the median time.
	skewShare = 0.10
	// slowGroupShare is the excess over the typical group from which a group counts as slow.
	slowGroupShare = 0.05
	// driftShare is the difference of the two passes' medians.
	driftShare = 0.02
)

// warnings returns the warnings that follow from the samples of a case.
func (s *samples) warnings(r *Result) []Warning {
	var out []Warning
	warn := func(code, hint, format string, args ...any) {
		out = append(out, Warning{Code: code, Message: fmt.Sprintf(format, args...), Hint: hint})
	}
	if t := r.Burst; t != nil && t.MeanOfRanks.CV != nil && *t.MeanOfRanks.CV > noisyCV {
		warn("noisy", "raise -n or --max-time, and check for other jobs on these nodes",
			"bursts differ by %.1f %% (standard deviation over mean)", 100**t.MeanOfRanks.CV)
	}
	if g := r.SlowestGroup; g != nil && len(g.Slow) > 0 {
		message, hint := r.slowGroups()
		warn("slow_group", hint, "%s", message)
	}
	if t := r.Isolated; t != nil && r.Groups < 2 && t.Spread.Median > skewShare*t.MaxOfRanks.Median {
		warn("skew", "find the late rank, and check its host and clocks",
			"ranks differ by %.0f %% of the time", 100*t.Spread.Median/t.MaxOfRanks.Median)
	}
	if s.isolatedSeries.stop == stat.StopDiscarded {
		warn("no_time", "one rank in place launches nothing; otherwise use the burst time",
			"%d isolated launches have an event interval of zero: they were discarded", s.discarded)
	}
	if s.startedEarly > 0 {
		warn("host_bound", "use the burst time, drive fewer GPUs per process (-g), or free CPUs of this host; without kernels (zbench doctor) launches cannot be held",
			"%d of %d isolated launches started before the host had enqueued the next: their times may include the host", s.startedEarly, len(s.isolatedSeries.values)+s.discarded)
	}
	for _, v := range []struct {
		name string
		series
	}{{"bursts", s.means}, {"isolated launches", s.isolatedSeries}} {
		if _, flagged := stat.Correlated(v.values); flagged {
			warn("correlated", "raise --max-time: the interval already uses a smaller n_eff", "%s are strongly correlated in time", v.name)
		}
	}
	if share, ok := s.means.drift(); ok {
		out = append(out, driftWarning(share))
	}
	return out
}

// driftWarning returns the warning that two passes differ by this share of the first.
func driftWarning(share float64) Warning {
	return Warning{Code: "drift", Message: fmt.Sprintf("the two passes differ by %.1f %%", 100*share), Hint: "run again on a warm machine, and check for other jobs"}
}

// drift returns the relative difference of the passes' medians, and whether it exceeds their
// spread.
func (v *series) drift() (share float64, ok bool) {
	if len(v.passes) < Passes {
		return 0, false
	}
	first, second := stat.Summarize(v.values[:v.passes[1]]), stat.Summarize(v.values[v.passes[1]:])
	if first == nil || second == nil || first.Lo == nil || second.Lo == nil {
		return 0, false
	}
	share = math.Abs(first.Median-second.Median) / first.Median
	apart := *first.Lo > *second.Hi || *second.Lo > *first.Hi
	return share, apart && share > driftShare
}
