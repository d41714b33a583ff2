package experiments

import (
	"fmt"
	"slices"

	"zbench/bench/base/stat"
)

const (
	// gpus is the number of GPUs that wait while one is measured.
	gpus = 1024
	// fixedN is the number of samples with which the adaptive rule is compared.
	fixedN = 100
)

// Report is the outcome of an experiment: a table, and the bars that do not hold.
type Report struct {
	Seeds int
	Rows  []Row
}

// Row is one noise with one rule. It counts seeds.
type Row struct {
	Rule  string
	Noise Noise
	// Covered counts intervals that contain the true median. Plain counts those that would contain
	// it if the samples were assumed to be independent. NoInterval counts timings whose effective n
	// is too small for an interval.
	Covered, Plain, NoInterval int
	Flagged                    int
	// Precise counts timings that stopped because they were precise enough. FixedPrecise counts
	// those that would be precise with fixedN samples.
	Precise, FixedPrecise int
	// Samples, Looks and Seconds are means over seeds. FixedSeconds is the time that fixedN samples
	// take.
	Samples, Looks        float64
	Seconds, FixedSeconds float64
	// Covers and Flags are the bars for Covered and Flagged; nil if there is none.
	Covers, Flags *Bar
}

// Sigmas are the noise levels: standard deviation divided by median.
var Sigmas = []float64{0.01, 0.02, 0.05, 0.1}

// Noises returns the series with which a stopping rule must cope, at each level.
func Noises() []Noise {
	kinds := []Noise{
		{Name: "lognormal", Shape: Lognormal},
		{Name: "gamma over a floor", Shape: Gamma},
		{Name: "2 % outliers ×3", Shape: HeavyTail},
		{Name: "lognormal", Shape: Lognormal, Rho: 0.5},
		{Name: "gamma over a floor", Shape: Gamma, Rho: 0.5},
		{Name: "2 % outliers ×3", Shape: HeavyTail, Rho: 0.5},
		{Name: "lognormal", Shape: Lognormal, Rho: 0.9},
		{Name: "gamma over a floor", Shape: Gamma, Rho: 0.9},
		{Name: "2 % outliers ×3", Shape: HeavyTail, Rho: 0.9},
		{Name: "drift under white noise", Shape: Lognormal, Rho: 0.9, White: 0.5},
	}
	all := make([]Noise, 0, len(kinds)*len(Sigmas))
	for _, k := range kinds {
		for _, k.Sigma = range Sigmas {
			all = append(all, k)
		}
	}
	return all
}

// bars returns the rates that are promised for a noise. For drift under white noise nothing is
// promised.
func (n Noise) bars() (covers, flags *Bar) {
	switch {
	case n.White > 0:
		return nil, nil
	case n.Rho == 0:
		return &Bar{Rate: 0.93}, &Bar{Rate: 0.02, AtMost: true}
	case n.Rho == 0.5:
		return &Bar{Rate: 0.85}, nil
	default:
		return nil, &Bar{Rate: 0.95}
	}
}

// Stopping runs the default rule on every noise, with seeds 0 to seeds−1.
func Stopping(seeds int) Report {
	report := Report{Seeds: seeds}
	for _, n := range Noises() {
		report.Rows = append(report.Rows, stopping(n, stat.DefaultRule(), seeds))
	}
	return report
}

// Rules runs variants of the rule, which show the reasons for the default.
func Rules(seeds int) Report {
	vary := func(change func(*stat.Rule)) stat.Rule {
		r := stat.DefaultRule()
		change(&r)
		return r
	}
	report := Report{Seeds: seeds}
	add := func(name string, rule stat.Rule, n Noise) {
		row := stopping(n, rule, seeds)
		row.Rule, row.Covers, row.Flags = name, nil, nil
		report.Rows = append(report.Rows, row)
	}
	for _, n := range []Noise{
		{Name: "lognormal", Shape: Lognormal, Sigma: 0.01},
		{Name: "lognormal", Shape: Lognormal, Sigma: 0.02},
		{Name: "lognormal", Shape: Lognormal, Sigma: 0.02, Rho: 0.5},
		{Name: "lognormal", Shape: Lognormal, Sigma: 0.01, Rho: 0.9},
		{Name: "2 % outliers ×3", Shape: HeavyTail, Sigma: 0.01, Rho: 0.9},
		{Name: "drift under white noise", Shape: Lognormal, Sigma: 0.02, Rho: 0.9, White: 0.5},
	} {
		for _, least := range []int{10, 20, 30, 40, 60} {
			add(fmt.Sprintf("at least %d samples", least), vary(func(r *stat.Rule) { r.MinSamples = least }), n)
		}
		add("a look after every sample", vary(func(r *stat.Rule) { r.Batch = 1 }), n)
	}
	for _, rho := range []float64{0, 0.5, 0.9} {
		n := Noise{Name: "lognormal", Shape: Lognormal, Sigma: 0.1, Rho: rho}
		add("time for 10,000 samples", vary(func(r *stat.Rule) { r.MaxTime = 0 }), n)
	}
	return report
}

func stopping(n Noise, rule stat.Rule, seeds int) Row {
	row := Row{Noise: n}
	row.Covers, row.Flags = n.bars()
	for seed := range seeds {
		row.add(n.source(seed), rule)
	}
	for _, mean := range []*float64{&row.Samples, &row.Looks, &row.Seconds, &row.FixedSeconds} {
		*mean /= float64(seeds)
	}
	return row
}

// add times one operation with the rule, as rank 0 does.
func (r *Row) add(s *source, rule stat.Rule) {
	var series []float64
	spent := 0.0
	d := rule.Decide(series, spent)
	for ; !d.Stop; d = rule.Decide(series, spent) {
		series, spent = s.take(series, spent, d.Next)
		r.Looks++
	}
	r.Samples += float64(len(series))
	r.Seconds += spent
	if d.Why == stat.StopPrecision {
		r.Precise++
	}
	if _, flagged := stat.Correlated(series); flagged {
		r.Flagged++
	}
	switch sum := stat.Summarize(series); {
	case sum.Lo == nil:
		r.NoInterval++
	case *sum.Lo <= Operation && Operation <= *sum.Hi:
		r.Covered++
	}
	if lo, hi, ok := stat.MedianInterval(series, float64(len(series))); ok && lo <= Operation && Operation <= hi {
		r.Plain++
	}
	r.addFixed(s, series, rule.Precision)
}

// addFixed adds the outcome of the same series with fixedN samples.
func (r *Row) addFixed(s *source, series []float64, precision float64) {
	series, _ = s.take(slices.Clone(series), 0, max(0, fixedN-len(series)))
	for _, v := range series[:fixedN] {
		r.FixedSeconds += v
	}
	sum := stat.Summarize(series[:fixedN])
	if sum.Lo != nil && (*sum.Hi-*sum.Lo)/2 <= precision*sum.Median {
		r.FixedPrecise++
	}
}
