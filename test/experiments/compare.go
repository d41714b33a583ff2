package experiments

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"zbench/bench/answers/compare"
	"zbench/bench/base/stat"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
)

// The family of a comparison: the number of cases of six collectives at 21 sizes.
const (
	familyCollectives = 6
	familySizes       = 21
	familyLaunches    = 20
)

// Pair describes two sides to compare: the number of runs per side, what varies, and what is
// planted. All noise is relative, as the standard deviation of a logarithm.
type Pair struct {
	Name string
	Runs int
	// Launch is the noise of a launch; a run has the median of 20 launches. Between is noise from
	// run to run in each case separately. Shift is noise from run to run that all cases of a run
	// share.
	Launch, Between, Shift float64
	// Uneven is the factor on the noise of every seventh case; 0 means 1.
	Uneven float64
	// Planted is the relative change of the first Cases cases. If it applies to all cases, it is a
	// shift.
	Planted float64
	Cases   int
}

// family is the number of cases.
const family = familyCollectives * familySizes

// CompareRow is the outcome of many pairs of one kind.
type CompareRow struct {
	Pair
	Pairs int
	// False counts pairs with a verdict slower or faster although nothing changed. Common counts
	// those among them whose verdict is about the common shift. Found counts planted cases that
	// were found. Shifts counts planted shifts that were found.
	False, Common, Found, Shifts int
	// FalseBar, FoundBar and ShiftBar are the bars; nil means that there is none.
	FalseBar, FoundBar, ShiftBar *Bar
}

// ComparePairs returns the kinds of pairs with their bars.
func ComparePairs() []CompareRow {
	most, rows := &Bar{Rate: 0.02, AtMost: true}, []CompareRow{}
	for _, runs := range []int{3, 6} {
		for _, p := range []Pair{
			{Name: "A/A, independent by case", Launch: 0.03, Between: 0.03},
			{Name: "A/A, common shift", Launch: 0.03, Shift: 0.03},
			{Name: "A/A, both", Launch: 0.03, Between: 0.03, Shift: 0.03},
			{Name: "A/A, every seventh case 4 times as noisy", Launch: 0.03, Between: 0.03, Uneven: 4},
		} {
			p.Runs = runs
			rows = append(rows, CompareRow{Pair: p, FalseBar: most})
		}
	}
	return append(rows,
		CompareRow{Pair: Pair{Name: "3 % in one case, no noise between runs", Runs: 3, Launch: 0.01, Planted: 0.03, Cases: 1}, FalseBar: most, FoundBar: &Bar{Rate: 0.95}},
		CompareRow{Pair: Pair{Name: "3 % in one case, independent by case", Runs: 6, Launch: 0.01, Between: 0.01, Planted: 0.03, Cases: 1}, FalseBar: most, FoundBar: &Bar{Rate: 0.75}},
		CompareRow{Pair: Pair{Name: "3 % in one case, common shift", Runs: 6, Launch: 0.01, Shift: 0.01, Planted: 0.03, Cases: 1}, FalseBar: most},
		CompareRow{Pair: Pair{Name: "3 % in all cases, common shift", Runs: 6, Launch: 0.01, Shift: 0.01, Planted: 0.03, Cases: family}, ShiftBar: &Bar{Rate: 0.75}},
		CompareRow{Pair: Pair{Name: "A/A, both", Runs: 1, Launch: 0.03, Between: 0.015, Shift: 0.015}, FalseBar: most},
		CompareRow{Pair: Pair{Name: "fourfold in one case, both", Runs: 1, Launch: 0.03, Between: 0.015, Shift: 0.015, Planted: 3, Cases: 1}, FalseBar: most, FoundBar: &Bar{Rate: 0.99}},
	)
}

// Comparisons compares pairs of each kind, with seeds 0 to pairs−1 and the options of the command.
func Comparisons(pairs int) ([]CompareRow, error) {
	rows := ComparePairs()
	for i := range rows {
		rows[i].Pairs = pairs
		for seed := range pairs {
			if err := rows[i].add(rand.New(rand.NewPCG(uint64(seed), uint64(i)+20261122))); err != nil {
				return nil, fmt.Errorf("%s, seed %d: %w", rows[i].Name, seed, err)
			}
		}
	}
	return rows, nil
}

// add compares one pair.
func (r *CompareRow) add(rng *rand.Rand) error {
	d, err := compare.Compare(r.side(rng, false), r.side(rng, true), compare.Defaults())
	if err != nil {
		return err
	}
	wrong := false
	changed := func(v compare.Verdict) bool { return v == compare.Slower || v == compare.Faster }
	for i := range d.Cases {
		c := &d.Cases[i]
		switch planted := i < r.Cases; {
		case planted && (c.Verdict == compare.Slower || c.SlowerUntested):
			r.Found++
		case !planted && (changed(c.Verdict) || c.SlowerUntested):
			wrong = true
		}
	}
	if d.Common != nil && changed(d.Common.Verdict) {
		if r.Cases == family {
			r.Shifts++
		} else {
			r.Common++
			wrong = true
		}
	}
	if wrong {
		r.False++
	}
	return nil
}

// side draws the runs of one side, as records.
func (r *CompareRow) side(rng *rand.Rand, fresh bool) []compare.Run {
	out := make([]compare.Run, r.Runs)
	launches := make([]float64, familyLaunches)
	for run := range out {
		rec := &record.Record{
			Schema: record.Schema, Source: record.Source{Kind: record.Measured},
			Spec: &spec.Spec{Benchmark: spec.Collectives, Sweep: &spec.Sweep{Iterations: familyLaunches}},
		}
		shift := r.Shift * rng.NormFloat64()
		for c := range family {
			noise := 1.0
			if r.Uneven > 0 && c%7 == 6 {
				noise = r.Uneven
			}
			for i := range launches {
				launches[i] = noise * r.Launch * rng.NormFloat64()
			}
			log := stat.Quantile(launches, 0.5) + noise*r.Between*rng.NormFloat64() + shift
			if fresh && c < r.Cases {
				log += math.Log1p(r.Planted)
			}
			size := int64(1024) << (c % familySizes)
			name := fmt.Sprintf("collective_%d", c/familySizes)
			seconds := Operation * math.Exp(log)
			rec.Results = append(rec.Results, record.Result{
				Case: record.Case{Key: record.Key(name, "float", "sum", size, 8, 1, false), Status: record.OK}, Collective: name, Bytes: size, BytesRequested: size, Ranks: 8, Burst: &record.Timing{MeanOfRanks: &stat.Summary{N: familyLaunches, Median: seconds, Mean: seconds}},
			})
		}
		out[run] = compare.Run{Name: fmt.Sprint(run), Record: rec}
	}
	return out
}

// judged returns the counts of a row. Each has its bar, and the number of pairs or cases out of
// which it was counted.
func (r *CompareRow) judged() []struct {
	what      string
	bar       *Bar
	count, of int
} {
	return []struct {
		what      string
		bar       *Bar
		count, of int
	}{
		{"false verdicts", r.FalseBar, r.False, r.Pairs},
		{"found", r.FoundBar, r.Found, r.Pairs * max(1, r.Cases)},
		{"shift found", r.ShiftBar, r.Shifts, r.Pairs},
	}
}

// CompareFailures lists the bars that do not hold. In a small run it lists only those that chance
// cannot explain.
func CompareFailures(rows []CompareRow, small bool) []string {
	var out []string
	for i := range rows {
		for _, j := range rows[i].judged() {
			if j.bar == nil || j.bar.Holds(j.count, j.of) || small && j.bar.Plausible(j.count, j.of) {
				continue
			}
			out = append(out, fmt.Sprintf("%s, %d runs a side: %s %d of %d, bar %s", rows[i].Name, rows[i].Runs, j.what, j.count, j.of, j.bar))
		}
	}
	return out
}

// CompareTable returns the table of docs/EXPERIMENTS.md.
func CompareTable(rows []CompareRow) string {
	var b strings.Builder
	b.WriteString("| pair | runs a side | noise of a launch, between runs, common % | false verdicts % | of them common shift % | bar | planted cases found % | bar | planted shift found % | bar |\n|---|---|---|---|---|---|---|---|---|---|\n")
	for i := range rows {
		r := &rows[i]
		share := func(count, of int, shown bool) string {
			if !shown {
				return ""
			}
			return fmt.Sprintf("%.1f", 100*float64(count)/float64(of))
		}
		all := r.Cases == family
		fmt.Fprintf(&b, "| %s | %d | %g, %g, %g | %s | %s | %s | %s | %s | %s | %s |\n", r.Name, r.Runs, 100*r.Launch, 100*r.Between, 100*r.Shift,
			share(r.False, r.Pairs, !all), share(r.Common, r.Pairs, !all), mark(r.FalseBar, r.False, r.Pairs),
			share(r.Found, r.Pairs*max(1, r.Cases), r.Cases > 0), mark(r.FoundBar, r.Found, r.Pairs*max(1, r.Cases)),
			share(r.Shifts, r.Pairs, all), mark(r.ShiftBar, r.Shifts, r.Pairs))
	}
	return b.String()
}
