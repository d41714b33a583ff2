package results

import (
	"fmt"
	"strings"

	"zbench/bench/answers/judge"
	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
	"zbench/bench/hardware/collective"
	"zbench/bench/run/record"
	"zbench/bench/show/document"
)

// unitsText is shown beside every table of results.
const unitsText = "GB/s = 1e9 B/s; sizes are IEC (1 KiB = 1,024 B) and total bytes S of the collective, as in rccl-tests"

// busText states the bus factor of every collective.
var busText = "algbw = S / time; busbw = algbw " + strings.Join(busFactors(), ", ") + ", with n ranks"

// busFactors lists the collectives by their bus factor for n ranks.
func busFactors() []string {
	const n = 1 << 10
	var all []string
	for _, factor := range []struct {
		text  string
		value float64
	}{{"2(n−1)/n", 2 * (n - 1.0) / n}, {"(n−1)/n", (n - 1.0) / n}, {"1", 1}} {
		of := slice.Where(collective.All(), func(c collective.Collective) bool { return c.BusFactor(n) == factor.value })
		all = append(all, "× "+factor.text+" for "+plain.And(slice.Map(of, func(c collective.Collective) string { return c.Name })))
	}
	return all
}

// method explains the origin of the figures.
func method(rec *record.Record) []document.Fact {
	out := []document.Fact{{Term: "Time", Text: timeMethod(rec)}}
	if rec.Source.Kind != record.Imported {
		out = append(out, document.Fact{Term: "Interval", Text: "[lo, hi] are order statistics that bound the median with at least 95 % confidence; " +
			"fewer than 6 samples, or as few effective ones, have none."})
	}
	if rec.Spec != nil && rec.Spec.Sweep != nil {
		out = append(out, document.Fact{Term: "Sweep", Text: sweepText(rec)})
	}
	out = append(out, document.Fact{Term: "Verified", Text: verifiedMethod(rec)})
	if hasIsolated(rec) {
		out = append(out, document.Fact{Term: "Alone", Text: "what one launch costs with nothing else under way: median over launches of the slowest rank's interval between two events, " +
			"each launch aligned by a 4-byte all_reduce. It is never mixed with the burst time. " +
			"Spread: the slowest rank's time less the fastest's, median over launches. n / n_eff: samples, and how many independent ones say as much. " +
			"Stop: the rule that ended the timing."})
	}
	if len(judge.Late(rec)) > 0 {
		out = append(out, document.Fact{Term: "Late", Text: "where every rank waits for every other, the one that comes last has the shortest interval. " +
			"A rank is named when it had it more often than chance explains (binomial tail below 1e-6 after Bonferroni's correction over the ranks) " +
			"and the median spread of those launches is at least 1 µs or 2 % of their time."})
	}
	if len(judge.Unstable(rec)) > 0 {
		out = append(out, document.Fact{Term: "Unstable", Text: fmt.Sprintf("a launch counts as slow when it took %g times the median of its group and pass or more. "+
			"A group is named when %s of its launches or more are slow, over all cases, and that is more than chance explains "+
			"where %s is usual (binomial tail below 1e-6 after Bonferroni's correction over the groups).", record.SlowTimes, unit.Percent(judge.UnstableShare), unit.Percent(judge.UsualSlow))})
	}
	out = append(out, averages(rec)...)
	return append(out,
		document.Fact{Term: "Bandwidth", Text: busText + "."},
		document.Fact{Term: "Units", Text: unitsText + "."},
	)
}

func timeMethod(rec *record.Record) string {
	who := ""
	switch {
	case rec.Source.Kind == record.Imported || rec.Source.Kind == "" && len(rec.Source.Imports) > 0:
		return "As the log states it: its time per launch. A row that occurs once is one sample of unknown spread; " +
			"rows that repeat are samples of one case, and the median is shown."
	case rec.Simulated:
		who = " The times are the fabric model's."
	}
	return "Burst: median over bursts of the mean over ranks. A burst is N launches back to back, its time divided by N, " +
		"as rccl-tests times them; algbw and busbw are of this time." + who
}

func sweepText(rec *record.Record) string {
	s := rec.Spec.Sweep
	parts := []string{
		unit.Count(s.Iterations, "launch") + " per burst",
		unit.Count(s.Warmup, "warm-up launch"),
		fmt.Sprintf("each timing until its median is known to %g %% or for %s", 100*s.Precision, unit.Seconds(s.MaxTime)),
		s.Cache + " cache",
		fmt.Sprintf("size factor %d", s.Factor),
		fmt.Sprintf("seed %d", rec.Spec.Seed),
	}
	if s.StepBytes > 0 {
		parts[4] = "sizes " + unit.Bytes(s.StepBytes) + " apart"
	}
	if len(s.Sizes) > 0 {
		parts[4] = "sizes as listed"
	}
	if s.Aggregate > 1 {
		parts[0] = unit.Count(s.Iterations, "group") + " per burst"
	}
	if calls := s.CallsText(); calls != "" {
		parts[0] += ", " + calls
	}
	return strings.Join(parts, ", ") + "." + addedText(rec)
}

// addedText states how many cases have sizes that were added to the sweep.
func addedText(rec *record.Record) string {
	count := map[string]int64{}
	for _, a := range rec.Added {
		count[a.Reason] += int64(len(a.Keys))
	}
	var parts []string
	if n := count[record.Extension]; n > 0 {
		parts = append(parts, unit.Count(n, "case")+" beyond the largest size")
	}
	if n := count[record.AnswerSizes]; n > 0 {
		parts = append(parts, unit.Count(n, "case")+" at the real sizes of the messages around the answer")
	}
	if len(parts) == 0 {
		return ""
	}
	return " Added for the bucket size once the others were done: " + strings.Join(parts, ", ") + "."
}

// verifiedMethod explains "verified", and states which cases were checked.
func verifiedMethod(rec *record.Record) string {
	text := "“yes” means that the output of separate launches was compared element by element with the expected result, outside the timed part. "
	if rec.Source.Kind == record.Imported {
		text = "“yes” means that the log reports no wrong element. "
	}
	checked := countOf(rec, func(r *record.Result) bool {
		return r.Verified.State == record.VerifiedOK || r.Verified.State == record.VerifiedWrong
	})
	text += fmt.Sprintf("%s of %s checked", unit.Comma(checked), unit.Count(len(rec.Results), "case"))
	for i, k := range unverified(rec).order {
		text += []string{"; not checked: ", "; "}[min(i, 1)] + k.text() + " (" + unit.Count(k.count, "case") + ")"
	}
	return text + "."
}
