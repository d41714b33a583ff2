package experiments

import (
	"fmt"
	"strings"

	"zbench/bench/answers/replay"
	"zbench/bench/base/stat"
)

// ReplayRow is one combination of a noise of step times, a number of settings and a planted
// difference. It counts the seeds with right and wrong verdicts.
type ReplayRow struct {
	Noise    Noise
	Settings int
	// Planted is the share by which a step of the second setting is longer. All other settings are
	// equal to the first.
	Planted float64
	Seeds   int
	// False counts seeds in which an interval misses the truth or a verdict contradicts it. Found
	// counts seeds in which the verdict on the second setting is right. Claimed counts seeds in
	// which any difference is claimed.
	False, Found, Claimed int
	// Precise counts seeds whose widest interval is within the margin.
	Precise int
	// Kept counts seeds that took as many steps as were announced.
	Kept int
	// Steps has the number of steps of each seed, over all settings.
	Steps []float64
}

const (
	// replayMargin is the difference that matters. replayWithin is the number of steps within which
	// two settings must be distinguished to this margin, with white noise of 1 %.
	replayMargin = 0.005
	replayWithin = 800
	// replayMost is the limit for the number of steps in all other rows; it is never reached.
	replayMost = 1_000_000
	// replayBlock is the default number of timed steps in a block.
	replayBlock = replay.DefaultBlock
)

var (
	fewFalse   = Bar{Rate: replay.Level, AtMost: true}
	findsIt    = Bar{Rate: 0.95}
	claimsNone = Bar{Rate: 0.05, AtMost: true}
	allPrecise = Bar{Rate: 0.95}
)

// ReplayRows returns the combinations.
func ReplayRows() []ReplayRow {
	var all []ReplayRow
	for _, n := range []Noise{
		{Name: "lognormal", Shape: Lognormal, Sigma: 0.01},
		{Name: "2 % outliers ×3", Shape: HeavyTail, Sigma: 0.01},
		{Name: "lognormal", Shape: Lognormal, Sigma: 0.01, Rho: 0.5},
		{Name: "lognormal", Shape: Lognormal, Sigma: 0.01, Rho: 0.9},
		{Name: "2 % outliers ×3", Shape: HeavyTail, Sigma: 0.01, Rho: 0.9},
		{Name: "drift under white noise", Shape: Lognormal, Sigma: 0.02, Rho: 0.99, White: 0.5},
	} {
		for _, settings := range []int{2, 5} {
			for _, planted := range []float64{0, 0.03} {
				all = append(all, ReplayRow{Noise: n, Settings: settings, Planted: planted})
			}
		}
	}
	return all
}

// Replays runs every row with seeds 0 to seeds−1.
func Replays(seeds int) []ReplayRow {
	rows := ReplayRows()
	for i := range rows {
		rows[i].Seeds = seeds
		for seed := range seeds {
			rows[i].add(seed)
		}
	}
	return rows
}

// add compares the settings once. The noise continues from step to step, whichever setting a step
// has.
func (r *ReplayRow) add(seed int) {
	source := r.Noise.source(seed)
	design := replay.Design{Settings: r.Settings, Block: replayBlock, Margin: replayMargin, MaxSteps: replayMost}
	if r.short() {
		design.MaxSteps = replayWithin
	}
	announced := design.FirstSteps() // the number of steps that were announced so far
	o, err := design.Run(func(setting, steps int) ([]float64, error) {
		series, _ := source.take(nil, 0, steps)
		for i := range series {
			series[i] *= 1 + r.truth(setting)
		}
		return series, nil
	}, func(a replay.Announced) { announced = a.Total })
	must(err)
	wrong, claimed, widest := false, false, 0.0
	for k, d := range o.Differences[1:] {
		truth := r.truth(k + 1)
		wrong = wrong || d.Verdict != replay.Undecided && (truth < d.Lo || d.Hi < truth)
		claimed = claimed || d.Verdict == replay.Faster || d.Verdict == replay.Slower
		widest = max(widest, (d.Hi-d.Lo)/2)
	}
	want := replay.Same
	if r.Planted > 0 {
		want = replay.Slower
	}
	count := func(n *int, when bool) {
		if when {
			*n++
		}
	}
	count(&r.False, wrong)
	count(&r.Found, o.Differences[1].Verdict == want)
	count(&r.Claimed, claimed)
	count(&r.Precise, widest <= replayMargin)
	count(&r.Kept, o.Taken == announced)
	r.Steps = append(r.Steps, float64(o.Taken))
}

func (r *ReplayRow) truth(setting int) float64 {
	if setting == 1 {
		return r.Planted
	}
	return 0
}

// `short` returns true if the bar of the row limits its steps.
func (r *ReplayRow) short() bool {
	return r.Noise.Rho == 0 && r.Settings == 2 && r.Noise.Name == "lognormal" && r.Planted == 0
}

// ReplayFailures lists the bars that do not hold. In a small run it lists only those that chance
// cannot explain.
func ReplayFailures(rows []ReplayRow, small bool) []string {
	var out []string
	for _, r := range rows {
		check := func(b Bar, what string, count int) {
			if !b.Holds(count, r.Seeds) && (!small || !b.Plausible(count, r.Seeds)) {
				out = append(out, fmt.Sprintf("%s, ρ = %g, %d settings, %g planted: %s %d of %d, bar %s", r.Noise.Name, r.Noise.Rho, r.Settings, r.Planted, what, count, r.Seeds, b))
			}
		}
		check(fewFalse, "false", r.False)
		check(Bar{Rate: 1}, "as announced", r.Kept)
		if r.Planted > 0 {
			check(findsIt, "found", r.Found)
			continue
		}
		check(claimsNone, "claimed", r.Claimed)
		check(allPrecise, "precise", r.Precise)
	}
	return out
}

// ReplayMarkdown returns the table.
func ReplayMarkdown(rows []ReplayRow) string {
	var b strings.Builder
	b.WriteString("| noise | ρ | settings | planted % | false % | decided as planted % | difference claimed % | within ±0.5 % | steps, median | steps, 95 % |\n")
	b.WriteString("|---|---|---|---|---|---|---|---|---|---|\n")
	for _, r := range rows {
		share := func(count int) float64 { return 100 * float64(count) / float64(r.Seeds) }
		fmt.Fprintf(&b, "| %s | %g | %d | %g | %.1f | %.1f | %.1f | %.1f | %.0f | %.0f |\n", r.Noise.Name, r.Noise.Rho, r.Settings, 100*r.Planted,
			share(r.False), share(r.Found), share(r.Claimed), share(r.Precise), stat.Quantile(r.Steps, 0.5), stat.Quantile(r.Steps, 0.95))
	}
	return b.String()
}
