package record

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"zbench/bench/base/slice"
	"zbench/bench/base/stat"
	"zbench/bench/base/unit"
	"zbench/bench/hardware/collective"
)

// Passes over the sizes: up, then down, so that drift is not mistaken for size.
const Passes = 2

// Part is one pass of one case: a line of the journal. It holds the samples, so that a resumed
// sweep ends with the same figures as an uninterrupted one.
type Part struct {
	// Key of the case.
	Key string `json:"key" jsonschema:"minLength=1"`
	// Pass is 0 for sizes upwards, 1 for downwards.
	Pass int `json:"pass" jsonschema:"maximum=1"`
	// Status of the pass; anything but ok ends the case.
	Status Status `json:"status"`
	// Reason if the status is not ok.
	Reason string `json:"reason,omitempty" jsonschema:"minLength=1"`
	// Evidence is the progress of every rank when the pass did not end; absent if it ended.
	Evidence *Evidence `json:"evidence,omitempty"`
	// Registration is how long all ranks registered their buffers before the pass, in seconds;
	// absent if they did not.
	Registration float64 `json:"registration,omitempty" jsonschema:"minimum=0"`
	// Ran is the library's name for what ran the pass, such as CE or RING; absent if the library does not
	// report it.
	Ran string `json:"ran,omitempty"`
	// Verified is the result of the verification; absent if the pass verified nothing.
	Verified *Verified `json:"verified,omitempty"`
	// Bursts; absent if the pass ended before them.
	Burst *BurstSamples `json:"burst,omitempty"`
	// Isolated launches; absent if the pass ended before them.
	Isolated *IsolatedSamples `json:"isolated,omitempty"`
	// NICs is the increase of each node's NIC counters during the pass; absent if none were read.
	NICs []NICCounters `json:"nics,omitempty"`
	// Kernel has a kernel's samples; absent if it is checked and not timed.
	Kernel *KernelSamples `json:"kernel,omitempty"`
}

// ByKey returns the parts of each case, in order.
func ByKey(parts []Part) map[string][]Part {
	_, of := slice.Group(parts, func(p Part) string { return p.Key })
	return of
}

// BurstSamples are the bursts of one pass in order of time, in seconds per launch: the mean over
// ranks and the slowest rank.
type BurstSamples struct {
	// Iterations is the number of launches behind one sample.
	Iterations int `json:"iterations" jsonschema:"minimum=1"`
	// Mean over ranks, in seconds per launch, in order of time.
	Mean []float64 `json:"mean"`
	// Slowest rank, in seconds per launch, in order of time.
	Max []float64 `json:"max"`
	// Stop is the rule that ended the pass.
	Stop string `json:"stop,omitempty"`
}

// IsolatedSamples are the isolated launches of one pass in order of time, in seconds: the slowest
// rank, and the slowest less the fastest.
type IsolatedSamples struct {
	// Slowest rank, in seconds per launch, in order of time.
	Max []float64 `json:"max"`
	// Slowest rank less the fastest, in seconds per launch, in order of time.
	Spread []float64 `json:"spread"`
	// Number of launches in which each rank had the shortest interval.
	Late []LateCount `json:"late,omitempty"`
	// Groups holds the median of each of the simultaneous groups, in seconds, in the order of their
	// ranks; absent for one.
	Groups []float64 `json:"groups,omitempty"`
	// Slow counts each group's launches of at least 1.5 times its median, in the same order; absent
	// if there are none.
	Slow []int `json:"slow,omitempty"`
	// Launches discarded because an interval was not positive.
	Discarded int `json:"discarded,omitempty"`
	// Batches repeated because they started while the host was still enqueueing; none of their
	// launches is kept.
	Repeated int `json:"repeated,omitempty"`
	// Launches that are kept although they started before the host had enqueued the next.
	StartedEarly int `json:"started_early,omitempty"`
	// Rule that ended the pass.
	Stop string `json:"stop,omitempty"`
	// EventFloor is the interval of an empty pair of events, in seconds.
	EventFloor float64 `json:"event_floor"`
	// Ranks holds each rank's interval in seconds, launch by launch, including discarded ones:
	// little-endian float32 in base64; absent if they are not kept.
	Ranks []byte `json:"ranks,omitempty" jsonschema:"pattern=^[A-Za-z0-9+/]+=?=?$"`
}

// Finished reports whether a planned case has no pass left to run: its last pass is done, a pass
// ended it, or it is skipped. A pass that is ok without samples also ends it: its kernels are
// checked, not timed.
func Finished(planned Status, parts []Part) bool {
	if planned == Skipped || len(parts) == Passes {
		return true
	}
	return len(parts) > 0 && (parts[len(parts)-1].Status != OK || !parts[len(parts)-1].timed())
}

func (p *Part) timed() bool { return p.Burst != nil || p.Kernel != nil }

// Assemble makes a case's result from the planned case and its passes, in order. It is the only place where
// samples become figures, for a live run, a resumed run and a reader of the journal. An unfinished case is
// interrupted and has the figures of its passes, with rates: they are shown, but not used for answers.
func Assemble(planned Result, parts []Part) Result {
	r := planned
	r.Case = planned.assembled(parts)
	s := join(parts)
	r.Burst, r.Isolated, r.SlowestGroup = s.burst(), s.isolated(), s.slowest(r.Ranks, r.Stride)
	r.SlowLaunches = s.slow.of(r.Ranks, r.Stride)
	for _, p := range parts {
		r.NICs = AddNICs(r.NICs, p.NICs)
		r.Registration = max(r.Registration, p.Registration)
		r.Ran = cmp.Or(p.Ran, r.Ran)
	}
	switch {
	case len(parts) == 0:
	case r.Status == OK:
		s.conclude(&r)
	case r.Status == Interrupted:
		r.headline()
	default:
		r.Evidence = parts[len(parts)-1].Evidence
	}
	return r
}

// assembled returns a planned case with the outcome of its passes.
func (c Case) assembled(parts []Part) Case {
	c.Warnings = slices.Clone(c.Warnings)
	if len(parts) == 0 {
		return c
	}
	for _, p := range parts {
		if p.Verified != nil {
			c.Verified = *p.Verified
		}
	}
	last := parts[len(parts)-1]
	if Finished(c.Status, parts) {
		c.Status, c.Reason = last.Status, last.Reason
	} else {
		c.Status, c.Reason = Interrupted, fmt.Sprintf("stopped after %d of %d passes", len(parts), Passes)
	}
	return c
}

// These texts begin the reason of a case that was interrupted because of a process, not by a signal. The
// process ended, did not answer, or stood still while a deadline passed. The evidence stays in the record
// until the case is measured again.
const (
	LostProcess = "a process was lost: "
	StoodStill  = "a process stood still: "
)

// Lost reports whether a process that was lost or stood still interrupted the case.
func (r *Result) Lost() bool {
	return r.Status == Interrupted && (strings.HasPrefix(r.Reason, LostProcess) || strings.HasPrefix(r.Reason, StoodStill))
}

// OnePass is the code of the warning of a result that lacks its second pass.
const OnePass = "one_pass"

// End is the reason why a run ended before all of its passes. The zero value means none.
type End struct {
	// Failed is the key of the row whose pass failed; empty if none did.
	Failed string
	// Lost is the pass in which a process was lost, nil if none was. It is not one of the parts,
	// because it is taken again.
	Lost *Part
}

// Result assembles a case's result in a run that ended in this way. After another case failed, a case
// without a pass is skipped. A case with one complete pass keeps its figures, with the warning one_pass.
func (e End) Result(planned Result, parts []Part) Result {
	r := Assemble(planned, parts)
	switch {
	case r.Status != Interrupted:
	case e.Failed != "":
		join(parts).conclude(&r)
		r.cutShort(parts, e.Failed)
	case e.Lost != nil && e.Lost.Key == r.Key:
		r.Reason, r.Evidence = e.Lost.Reason, e.Lost.Evidence
	}
	return r
}

// cutShort settles a case with these parts after another case failed. A case without a pass was skipped. A
// case with a pass has a result and a warning.
func (c *Case) cutShort(parts []Part, failed string) {
	if len(parts) == 0 {
		c.Status, c.Reason = Skipped, "not run: "+failed+" failed before it"
		return
	}
	c.Status, c.Reason = OK, ""
	c.Warnings = append(c.Warnings, Warning{
		Code:    OnePass,
		Message: fmt.Sprintf("%d of %d passes: %s failed before the next pass, so drift is not detected", len(parts), Passes, failed),
		Hint:    "--resume measures what is missing",
	})
}

// conclude sets the headline and the warnings of a case that is ok.
func (s *samples) conclude(r *Result) {
	r.headline()
	r.Warnings = append(r.Warnings, s.warnings(r)...)
}

// headline sets a case's rates. A part with a collective unknown to this zbench was refused before.
func (r *Result) headline() {
	if c, err := collective.ByName(r.Collective); err == nil {
		r.SetHeadline(c.BusFactor(r.Ranks))
	}
}

// samples holds the samples of all parts of a case.
type samples struct {
	// means and maxes are from bursts. isolatedSeries and spread are from isolated launches.
	means, maxes, isolatedSeries, spread series
	iterations, discarded                int
	startedEarly                         int
	late                                 map[int]int
	groups                               [][]float64 // each group's median, by pass
	slow                                 slowCounts
	floor                                *float64
}

// series is one kind of sample over the passes, in order of time.
type series struct {
	values []float64
	passes []int // start of each pass
	stop   string
}

func (v *series) add(values []float64, stop string) {
	v.passes = append(v.passes, len(v.values))
	v.values = append(v.values, values...)
	if stop != "" {
		v.stop = stop
	}
}

func join(parts []Part) *samples {
	s := &samples{late: map[int]int{}}
	for i := range parts {
		if b := parts[i].Burst; b != nil {
			s.iterations = b.Iterations
			s.means.add(b.Mean, b.Stop)
			s.maxes.add(b.Max, b.Stop)
		}
		b := parts[i].Isolated
		if b == nil {
			continue
		}
		s.isolatedSeries.add(b.Max, b.Stop)
		s.spread.add(b.Spread, b.Stop)
		s.discarded += b.Discarded
		s.startedEarly += b.StartedEarly
		s.slow.add(b)
		if len(b.Groups) > 0 {
			s.groups = append(s.groups, b.Groups)
		}
		for _, l := range b.Late {
			s.late[l.Rank] += l.Count
		}
		if s.floor == nil {
			s.floor = &b.EventFloor
		}
	}
	return s
}

func (s *samples) burst() *Timing {
	if len(s.means.values) == 0 {
		return nil
	}
	return &Timing{
		Iterations: s.iterations, Stop: s.means.stop,
		MeanOfRanks: stat.Summarize(s.means.values), MaxOfRanks: stat.Summarize(s.maxes.values),
	}
}

func (s *samples) isolated() *Timing {
	if len(s.isolatedSeries.values) == 0 {
		return nil
	}
	t := &Timing{
		Iterations: 1, Stop: s.isolatedSeries.stop, Discarded: s.discarded, EventFloor: s.floor,
		MaxOfRanks: stat.Summarize(s.isolatedSeries.values), Spread: stat.Summarize(s.spread.values),
	}
	t.Late = slice.Map(slices.Sorted(maps.Keys(s.late)), func(rank int) LateCount { return LateCount{Rank: rank, Count: s.late[rank]} })
	return t
}

// Unfinished describes the progress of an interrupted run in a few words and in counts. The counts are empty
// if nothing was measured. The arguments are three numbers of cases: ok for finished cases, partly for cases
// with only their first pass, and all for planned cases.
func Unfinished(ok, partly, all int) (head, counts string) {
	passes := fmt.Sprintf("%d of %d passes", 1, Passes)
	switch {
	case ok == 0 && partly == 0:
		return "interrupted before any case finished", ""
	case ok == 0:
		return "interrupted before any case finished", fmt.Sprintf("%s of %s have %s", unit.Comma(partly), unit.Count(all, "case"), passes)
	}
	counts = fmt.Sprintf("%s of %s finished", unit.Comma(ok), unit.Count(all, "case"))
	if partly > 0 {
		counts += fmt.Sprintf(", %s more have %s", unit.Comma(partly), passes)
	}
	return "interrupted", counts
}
