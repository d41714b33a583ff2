package plan

import (
	"fmt"
	"math"
	"strings"

	"zbench/bench/record"
	"zbench/bench/stat"
	"zbench/bench/unit"
)

// Cost is what a launch of a case is thought to take, in seconds.
type Cost struct {
	// Launch is one launch in a burst; 0 is not known.
	Launch float64
	// Align is the 4-byte all_reduce that comes before each launch alone.
	Align float64
}

// Span is a quantity between two bounds.
type Span struct{ Low, High float64 }

func (s *Span) add(low, high float64) { s.Low, s.High = s.Low+low, s.High+high }

// Estimate is what is left of a sweep. It is about measured time: writing the
// record, connecting and waiting between launches come on top.
type Estimate struct {
	// Cases are still to be run, Done were run before, Skipped are not run.
	Cases, Done, Skipped int
	// Passes are the passes over single cases that are left.
	Passes int
	// Launches are those of each rank, Seconds of all that is left.
	Launches, Seconds Span
	// Unknown counts the cases of which no launch's time is known: for them
	// Seconds.High is the limit of time, which slow launches pass.
	Unknown int
	// Slow is the time of a launch in a burst, in seconds, from which on the limit
	// of time does not hold for those cases, because a timing needs a few bursts; 0
	// where there is no limit.
	Slow float64
	// Ranks is the number of GPUs that are held while it runs.
	Ranks int
}

// Predict estimates the sweep of the cases on a world of so many ranks, of which
// the parts are done. cost says what is known of a case; a part of its own knows
// better.
func Predict(cases []Case, o Options, parts []record.Part, ranks int, cost func(Case) Cost) Estimate {
	e := Estimate{Ranks: ranks}
	have := map[string][]record.Part{}
	for _, p := range parts {
		have[p.Key] = append(have[p.Key], p)
	}
	for _, c := range cases {
		done := have[c.Key]
		switch {
		case c.Skip != "":
			e.Skipped++
			continue
		case record.Finished(c.Planned().Status, done):
			e.Done++
			continue
		}
		e.Cases++
		known := cost(c)
		if before := measured(done); before > 0 {
			known.Launch = before
		}
		if known.Launch <= 0 {
			e.Unknown++
			e.Slow = PerPass(o.Burst).MaxTime / float64(stat.MinInterval*burstOf(c, o).Launches())
		}
		for pass := len(done); pass < Passes; pass++ {
			e.addPass(c, o, pass, known)
		}
	}
	return e
}

// burstOf is one burst of the case.
func burstOf(c Case, o Options) Bursts {
	return Bursts{Count: 1, Iterations: o.Iterations, Replays: c.Graph}
}

// measured is the seconds of a launch in the bursts of earlier passes, 0 where
// there are none.
func measured(parts []record.Part) float64 {
	for _, p := range parts {
		if p.Burst != nil && len(p.Burst.Mean) > 0 {
			return stat.Quantile(p.Burst.Mean, 0.5)
		}
	}
	return 0
}

// addPass adds one pass over a case.
func (e *Estimate) addPass(c Case, o Options, pass int, cost Cost) {
	e.Passes++
	once := float64(o.Warmup)
	if pass == 0 {
		once += float64(o.Checks)
	}
	e.Launches.add(once, once)
	e.Seconds.add(once*cost.Launch, once*cost.Launch)
	burst := float64(burstOf(c, o).Launches())
	e.addTiming(PerPass(o.Burst), burst*cost.Launch, burst, 0)
	e.addTiming(PerPass(o.Isolated), cost.Launch, 2, cost.Align)
}

// addTiming adds samples of so many seconds and launches each; beside is the time
// of a sample that its limit does not count.
func (e *Estimate) addTiming(rule stat.Rule, sample, launches, beside float64) {
	fewest, most := rule.Bounds(sample)
	low, high := float64(fewest), float64(most)
	e.Launches.add(low*launches, high*launches)
	switch {
	case sample > 0:
		e.Seconds.add(low*(sample+beside), high*(sample+beside))
	case rule.MaxTime > 0:
		e.Seconds.add(0, rule.MaxTime)
	default:
		e.Seconds.add(0, math.Inf(1))
	}
}

// GPUHours is the time of all GPUs that are held.
func (e Estimate) GPUHours() Span {
	hours := float64(e.Ranks) / 3600
	return Span{e.Seconds.Low * hours, e.Seconds.High * hours}
}

// Text says it in two or three lines; simulated tells that a model takes the time.
func (e Estimate) Text(simulated bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d cases to run", e.Cases)
	if e.Done > 0 {
		fmt.Fprintf(&b, ", %d done before", e.Done)
	}
	if e.Skipped > 0 {
		fmt.Fprintf(&b, ", %d skipped", e.Skipped)
	}
	fmt.Fprintf(&b, ": %d passes, %s launches a rank.\n", e.Passes, e.Launches.text(unit.Number))
	who, after := "It takes", "."
	if simulated {
		who, after = "SIMULATED: a real cluster would spend", ". The simulation itself takes seconds, here, and no GPU."
	}
	fmt.Fprintf(&b, "%s %s of measured time, %s GPU-hours on %d GPUs%s\n",
		who, e.Seconds.text(duration), e.GPUHours().text(unit.Digits), e.Ranks, after)
	if e.Unknown > 0 && e.Slow > 0 {
		fmt.Fprintf(&b, "What a launch takes is not known yet: more where one takes over %s.\n", unit.Seconds(e.Slow))
	}
	return b.String()
}

// text prints both bounds, or one where they print alike.
func (s Span) text(form func(float64) string) string {
	low, high := form(s.Low), form(s.High)
	switch {
	case math.IsInf(s.High, 1):
		return "at least " + low
	case low == high:
		return "about " + high
	case s.Low == 0:
		return "at most about " + high
	}
	return low + " to at most about " + high
}

// duration prints seconds, from two minutes on as minutes, from two hours on as
// hours.
func duration(s float64) string {
	switch {
	case s >= 7200:
		return unit.Digits(s/3600) + " h"
	case s >= 120:
		return unit.Digits(s/60) + " min"
	}
	return unit.Seconds(s)
}
