package plan

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"zbench/bench/base/pattern"
	"zbench/bench/base/plain"
	"zbench/bench/base/stat"
	"zbench/bench/base/unit"
	"zbench/bench/run/record"
)

// Cost is the expected time of a launch of a case, in seconds.
type Cost struct {
	// Launch is one launch in a burst; 0 if unknown.
	Launch float64
	// Align is the 4-byte all_reduce before each isolated launch.
	Align float64
}

// Span is the lower and upper bound of a quantity.
type Span struct{ Low, High float64 }

// Add adds to both bounds.
func (s *Span) Add(low, high float64) { s.Low, s.High = s.Low+low, s.High+high }

// Estimate is the rest of a sweep. It covers only measured time: connecting, waiting between
// launches and writing the record take additional time.
type Estimate struct {
	// Cases is the number of cases to run. Done is the number of cases that have run. Skipped is the
	// number of cases that will not run.
	Cases, Done, Skipped int
	// Passes is the number of remaining passes over single cases.
	Passes int
	// Launches is per rank; Seconds is the total.
	Launches, Seconds Span
	// Unknown counts the cases with an unknown launch time. Seconds.High assumes that these cases end
	// at their time limit; slow launches take longer.
	Unknown int
	// Slow is the launch time in a burst, in seconds, above which the cases of Unknown exceed the time
	// limit. They can exceed it, because a timing needs a few bursts. Slow is 0 if there is no limit.
	Slow float64
	// Ranks is the number of GPUs that the sweep occupies.
	Ranks int
}

// Predict estimates the sweep of the cases on a world of ranks ranks, given the finished parts.
// cost returns the expected time of a case; a measured part overrides it.
func Predict(cases []Case, o Effort, parts []record.Part, ranks int, cost func(Case) Cost) Estimate {
	e := Estimate{Ranks: ranks}
	have := record.ByKey(parts)
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

// burstOf returns one burst of the case.
func burstOf(c Case, o Effort) Bursts {
	return Bursts{Count: 1, Iterations: o.Iterations, Replays: c.Graph}
}

// measured returns the seconds per launch in the bursts of earlier passes, 0 if there are none.
func measured(parts []record.Part) float64 {
	for _, p := range parts {
		if p.Burst != nil && len(p.Burst.Mean) > 0 {
			return stat.Quantile(p.Burst.Mean, 0.5)
		}
	}
	return 0
}

// addPass adds one pass over a case.
func (e *Estimate) addPass(c Case, o Effort, pass int, cost Cost) {
	e.Passes++
	once := float64(o.Warmup)
	if pass == 0 {
		once += float64(o.Checks)
	}
	e.Launches.Add(once, once)
	e.Seconds.Add(once*cost.Launch, once*cost.Launch)
	burst := float64(burstOf(c, o).Launches())
	e.addTiming(PerPass(o.Burst), burst*cost.Launch, burst, 0)
	e.addTiming(PerPass(o.Isolated), cost.Launch, 2, cost.Align)
}

// addTiming adds the samples of a timing. sample is the time of one sample in seconds, and launches is
// its number of launches. beside is the further time per sample that does not count towards the time
// limit.
func (e *Estimate) addTiming(rule stat.Rule, sample, launches, beside float64) {
	fewest, most := rule.Bounds(sample)
	low, high := float64(fewest), float64(most)
	e.Launches.Add(low*launches, high*launches)
	switch {
	case sample > 0:
		e.Seconds.Add(low*(sample+beside), high*(sample+beside))
	case rule.MaxTime > 0:
		e.Seconds.Add(0, rule.MaxTime)
	default:
		e.Seconds.Add(0, math.Inf(1))
	}
}

// GPUHours returns the time of all occupied GPUs, in hours.
func (e Estimate) GPUHours() Span {
	hours := float64(e.Ranks) / 3600
	return Span{e.Seconds.Low * hours, e.Seconds.High * hours}
}

// Text returns the estimate in two or three lines; simulated is true on the loopback.
func (e Estimate) Text(simulated bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d cases to run", e.Cases)
	if e.Done > 0 {
		fmt.Fprintf(&b, ", %d done before", e.Done)
	}
	if e.Skipped > 0 {
		fmt.Fprintf(&b, ", %d skipped", e.Skipped)
	}
	fmt.Fprintf(&b, ": %d passes, %s launches per rank.\n", e.Passes, e.Launches.text(unit.Number))
	b.WriteString(e.Spent(simulated))
	if e.Unknown > 0 && e.Slow > 0 {
		fmt.Fprintf(&b, "The launch time is unknown: the sweep takes longer if a launch takes over %s.\n", unit.Seconds(e.Slow))
	}
	return b.String()
}

// Spent returns the time and the GPU-hours as a line; simulated is true on the loopback.
func (e Estimate) Spent(simulated bool) string {
	who, after := "It takes", "."
	if simulated {
		who, after = "SIMULATED: a real cluster would spend", ". The simulation takes seconds on this machine and needs no GPU."
	}
	return fmt.Sprintf("%s %s on %s%s\n", who, Spending(e.Seconds, e.GPUHours()), plain.Count(e.Ranks, "GPU"), after)
}

// Spending returns a time in seconds and GPU-hours as text.
func Spending(seconds, gpuHours Span) string {
	return seconds.text(duration) + " of measured time, " + gpuHours.text(unit.Digits) + " GPU-hours"
}

// spending matches what Spent writes of GPU-hours.
var spending = pattern.New(`(?:([\d.]+) to about|(at most)? ?about) ([\d.]+) GPU-hours on (\d+) GPU`)

// ReadSpent reads the seconds and the GPU-hours from a line of Spent. It returns false for other
// lines, and for an estimate without an upper bound.
func ReadSpent(line string) (seconds, gpuHours Span, ok bool) {
	m := spending.FindStringSubmatch(line)
	if m == nil {
		return seconds, gpuHours, false
	}
	number := func(text string) float64 {
		v, _ := strconv.ParseFloat(text, 64) // the pattern holds digits
		return v
	}
	gpuHours = Span{number(m[1]), number(m[3])}
	if m[1]+m[2] == "" {
		gpuHours.Low = gpuHours.High
	}
	each := 3600 / number(m[4])
	return Span{gpuHours.Low * each, gpuHours.High * each}, gpuHours, true
}

// Against returns a warning if the sweep takes longer than the remaining time, in seconds; empty
// otherwise.
func (e Estimate) Against(left float64) string {
	const saved = ": finished cases are saved, and --resume continues with them."
	switch {
	case e.Seconds.High <= max(left, 0):
		return ""
	case left <= 0:
		return "The time of the job is over" + saved
	case e.Seconds.Low > left:
		return "The job ends in " + duration(left) + ", before the sweep does" + saved + " Take a longer job, or fewer sizes."
	}
	return "The job ends in " + duration(left) + ", and the sweep can take longer" + saved
}

// text returns both bounds, or one if both have the same text.
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
	return low + " to about " + high
}

// duration prints a time in seconds, from two minutes on in minutes, and from two hours on in hours.
func duration(s float64) string {
	switch {
	case s >= 7200:
		return unit.Digits(s/3600) + " h"
	case s >= 120:
		return unit.Digits(s/60) + " min"
	}
	return unit.Seconds(s)
}

// expected is the expected time of a launch before a pass, in seconds, with its uncertainty as
// a factor; zero if nothing is known.
type expected struct{ launch, within float64 }

// knownWithin is the factor by which a launch may differ from the previous pass.
const knownWithin = 2

// expected returns the time of a launch in an earlier pass, else an estimate from the nearest size of
// the same curve. A larger launch takes at least as long as a smaller launch. Its time grows at most in
// proportion to its size.
func (t *Taken) expected(cases []Case, c Case) expected {
	if launch := measured(t.Parts[c.Key]); launch > 0 {
		return expected{launch, knownWithin}
	}
	var near expected
	for _, other := range cases {
		if !c.along(other) {
			continue
		}
		root := math.Sqrt(float64(c.Requested) / float64(other.Requested))
		within := knownWithin * max(root, 1/root)
		if near.launch > 0 && near.within <= within {
			continue
		}
		if launch := measured(t.Parts[other.Key]); launch > 0 {
			near = expected{launch * root, within}
		}
	}
	return near
}

// Method `along` reports whether another case is of the same curve, in place or not.
func (c Case) along(other Case) bool {
	return c.Collective.Name == other.Collective.Name && c.Split == other.Split && c.Graph == other.Graph &&
		c.Dtype.Name == other.Dtype.Name && c.Op == other.Op && min(c.Requested, other.Requested) > 0
}
