package judge

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"zbench/bench/answers/fleet/nodescreen"
	"zbench/bench/base/finding"
	"zbench/bench/base/slice"
	"zbench/bench/base/stat"
	"zbench/bench/base/unit"
	"zbench/bench/run/curve"
	"zbench/bench/run/record"
)

const (
	// leastLost is the smallest lost share of a rate that prevents an OK. mostLost is the largest limit:
	// figures that vary by more mean nothing.
	leastLost, mostLost = 0.05, 0.2
	// `apart` and `surely` are numbers of standard errors. With 300 healthy figures, one of them is off by
	// `apart` in 1 % of records. Every part is assumed to be slower than measured by `surely`, so a part at the
	// limit is found in 99 % of records.
	apart, surely = 4, 2.3
	// groupsApart replaces `apart` for the medians of the slowest and the fastest of up to 500 groups. Its unit
	// is the standard error of the mean over launches of the slowest group's time, which varies by a third as
	// much as a single group's time.
	groupsApart = 20
	// gateChance is the probability below which a count is not attributed to chance and prevents an OK.
	gateChance = 1e-3
	// gatePower is the probability with which a share of slow launches at the limit is found.
	gatePower = 0.99
)

// `compared` is a class of parts that should be equally fast, with their rates in the record.
type compared = finding.Compared[finding.Subject]

type figure = finding.Figure[finding.Subject]

// `gated` returns the OK of a record, or the finding that prevents the OK: parts are behind although no detector
// names them, or nothing was examined. `verified` is true if data were verified.
func gated(ok finding.List, classes []compared, verified bool, next string) finding.List {
	if len(ok.Only(CodeNoFault)) == 0 {
		return ok
	}
	doubts, checked := finding.Gate(classes, func(finding.Subject) bool { return false })
	switch {
	case len(doubts) > 0:
		return finding.List{behind(doubts, next)}
	case !checked && !verified:
		return finding.List{{Code: finding.CodeNotChecked, Severity: finding.Warning, Text: "No fault was looked for: no data were verified, and nothing was measured that has a peer."}}
	}
	return ok
}

// `behind` returns the finding that parts are behind their peers. It names the worst parts of each class.
func behind(doubts []compared, next string) finding.Finding {
	f := finding.Finding{Code: finding.CodeUnclear, Severity: finding.Fault, Hint: next}
	var says []string
	for _, d := range doubts {
		slices.SortStableFunc(d.Figures, func(a, b figure) int { return cmp.Compare(b.Lost, a.Lost) })
		names := slice.Distinct(slice.Map(d.Figures, func(x figure) string { return x.Subject.Name }))
		says = append(says, fmt.Sprintf("%s by up to %s: %s", d.Class, unit.Part(d.Figures[0].Lost), unit.FirstFew(names, mostLate)))
		f.Share = max(f.Share, min(1, d.Figures[0].Lost))
		for _, x := range d.Figures {
			if !slices.ContainsFunc(f.Candidates, func(s finding.Subject) bool { return s.Name == x.Subject.Name }) {
				f.Candidates = append(f.Candidates, x.Subject)
			}
		}
	}
	f.Text = "Behind, and no finding says why: " + strings.Join(says, "; ") + "."
	return f
}

// noLoss states for each class the loss that was looked for and not found.
func noLoss(classes []compared) string {
	limit := map[string]float64{}
	for _, c := range classes {
		limit[c.Class] = max(limit[c.Class], math.Ceil(100*c.Limit-1e-9))
	}
	if len(limit) == 0 {
		return ""
	}
	order, of := slice.Group(slice.Distinct(slice.Map(classes, func(c compared) string { return c.Class })), func(name string) float64 { return limit[name] })
	return "no loss above " + strings.Join(slice.Map(order, func(most float64) string {
		return fmt.Sprintf("%.0f %% (%s)", most, strings.Join(of[most], ", "))
	}), ", ")
}

// `compared` returns the record's figures of its parts for the gate, whatever the detectors found. A class whose
// limit exceeds mostLost means nothing and is left out, so that no OK names it.
func (j judged) compared() []compared {
	if j.alone() { // a single rank has no peer to be behind
		return nil
	}
	all := slices.Concat(j.modelled(), []compared{j.groups()}, j.lateness(), j.launches())
	return slices.DeleteFunc(all, func(c compared) bool { return len(c.Figures) == 0 || c.Limit > mostLost })
}

// `next` returns the next step that locates parts that are behind.
func (j judged) next() string {
	return cmp.Or(j.whereLost(), "Measure again with a larger --max-time; `zbench rails` looks at each link and NIC.")
}

// errorOf returns the standard error of a timing's mean as a share of the mean. If the error is unknown, errorOf
// returns the largest error that a limit allows.
func errorOf(t curve.Timing) float64 {
	if t.Sum.CV == nil || t.Sum.NEff == nil || !(*t.Sum.NEff > 0) {
		return mostLost / (apart + surely)
	}
	return *t.Sum.CV / math.Sqrt(*t.Sum.NEff)
}

// add adds a part to a class. times is the part's time relative to the expected time. If the noise explains more
// than the limit, the limit rises to the noise, but not above mostLost.
func add(c *compared, of finding.Subject, times, noise float64) {
	c.Figures = append(c.Figures, figure{Subject: of, Rate: 1 / times})
	c.Limit = min(mostLost, max(c.Limit, noise))
}

// `modelled` compares the cases of a simulation with the model, in both timings: a late rank delays isolated
// launches only, and intermittent slowness delays bursts only.
func (j judged) modelled() []compared {
	bursts := compared{Class: "bursts", Reference: 1, Limit: leastLost}
	alone := compared{Class: "single launches", Reference: 1, Limit: leastLost}
	for _, r := range j.Each() {
		want, known := j.want.seconds(r)
		if !known || !j.want.simulated || r.Status != record.OK {
			continue
		}
		of := finding.Subject{Kind: finding.Size, Name: r.Collective + " at " + unit.Bytes(r.Bytes)}
		against := func(c *compared, t curve.Timing, want float64) {
			e := errorOf(t)
			add(c, of, t.Sum.Mean/want*(1+surely*e), (apart+surely)*e)
		}
		if t := curve.BurstOf(r); t.Known {
			against(&bursts, t, want+j.want.begin(r))
		}
		if t := curve.IsolatedOf(r); t.Known {
			against(&alone, t, want)
		}
	}
	return []compared{bursts, alone}
}

// groups compares the slowest of the simultaneous groups with its peers. Few groups are compared with the
// fastest. If the number of groups is even, half of them may be slow. The typical time then lies between the two
// halves and is corrected.
func (j judged) groups() compared {
	c := compared{Class: "groups that ran at once", Reference: 1, Limit: leastLost}
	for _, r := range j.Each() {
		g, t := r.SlowestGroup, curve.IsolatedOf(r)
		if g == nil || r.Status != record.OK || !t.Known || !(g.Fastest > 0) {
			continue
		}
		peers := g.Typical
		switch {
		case r.Groups < nodescreen.Least:
			peers = g.Fastest
		case r.Groups%2 == 0:
			peers = max(g.Fastest, min(g.Typical, 2*g.Typical-g.Median))
		}
		name, _ := j.group(r, g.FirstRank)
		e := errorOf(t)
		add(&c, finding.Subject{Name: name}, g.Median/peers*(1+surely*e), groupsApart*e)
	}
	return c
}

// lateness compares the ranks of each world with each other, and the nodes likewise. It compares the average
// share of a launch for which the others wait for a rank or node, beyond the fair share of that rank or node.
// Worlds with too few launches are left out.
func (j judged) lateness() (out []compared) {
	for _, l := range slice.Where(Late(j.Record), Lateness.enough) {
		all := slice.Numbers(len(l.counts))
		out = append(out, l.compared("late ranks", singles(all), j.World))
		if nodes := nodesOf(all, perNode(l.World, j.World)); nodes != nil {
			out = append(out, l.compared("late nodes", nodes, j.World))
		}
	}
	return out
}

// `compared` returns the class of these parts. The rate of a part is the share of a launch in which the others do
// not wait for the part. The limit is the wait that a part causes by chance.
func (l Lateness) compared(class string, of parts, where record.World) compared {
	spread := slice.Most(slices.Concat(l.shares...), func(w weighted) float64 { return w.value })
	fair := 1 / float64(len(of))
	beyondFair := func(count int) float64 { return max(0, float64(count)/float64(l.Launches)-fair) }
	c := compared{Class: class, Reference: 1, Limit: max(lateShare, spread*beyondFair(byChance(l.Launches, fair, len(of))))}
	for _, ranks := range of {
		var waits []weighted
		for _, rank := range ranks {
			waits = append(waits, l.shares[rank]...)
		}
		lost := beyondFair(lastOf(ranks, l.counts)) * weightedMedian(waits)
		c.Figures = append(c.Figures, figure{Subject: *located(ranks, l.World, where).subject(), Rate: 1 - lost})
	}
	return c
}

// byChance returns the largest number of n launches that chance explains for any of the parts.
func byChance(n int, p float64, parts int) int {
	k := 0
	for k < n && stat.BinomialTail(k+1, n, p)*float64(parts) > gateChance {
		k++
	}
	return k
}

// launches compares the communicators by their share of slow launches, and by the variation of
// bursts.
func (j judged) launches() (out []compared) {
	order, pooled := communicators(j.Record)
	uneven := compared{Class: "uneven bursts", Reference: 1, Limit: leastLost}
	for _, s := range order {
		all, n := s.slowLaunches(pooled[s])
		slow := compared{Class: "slow launches", Reference: 1}
		slow.Limit = max(UnstableShare, stat.BinomialUpper(byChance(n, UsualSlow, s.groups), n, gatePower))
		slow.Figures = append(slow.Figures, figure{Rate: 1}) // groups without slow launches
		for _, one := range all {
			slow.Figures = append(slow.Figures, figure{Subject: finding.Subject{Name: one.who()}, Rate: 1 - stat.BinomialUpper(one.Slow, n, gatePower)})
		}
		var differ []float64
		for _, r := range pooled[s] {
			if t := curve.BurstOf(r); t.Known && t.Sum.CV != nil {
				differ = append(differ, *t.Sum.CV)
			}
		}
		if out = append(out, slow); len(differ) > 0 {
			of := finding.Subject{Name: Instability{FirstRank: 0, Ranks: s.ranks, Stride: s.stride, Groups: s.groups}.who()}
			uneven.Figures = append(uneven.Figures, figure{Subject: of, Rate: 1 - stat.Quantile(differ, 0.5)})
		}
	}
	return append(out, uneven)
}

// `compared` returns the classes for the gate. It compares the GPUs at each case that only the GPU bounds, not
// just at the best case.
func (j judgedKernels) compared() (out []compared) {
	rows := j.where(func(k *record.Kernel) bool {
		other := slices.Contains([]string{record.SizeSweep, record.Tune, record.Unfused, record.Copy}, k.Role)
		return !other && k.Status == record.OK && !k.LeftWrong() && !k.LaunchBound() && k.Job() != "" && rateOf(k) != nil
	})
	order, of := slice.Group(rows, (*record.Kernel).Job)
	for _, name := range order {
		if c := j.gpus(of[name]); c.Checked() && len(j.World.Devices) > 1 {
			out = append(out, c)
		}
	}
	return out
}

// gpus compares the GPUs at one case.
func (j judgedKernels) gpus(rows []*record.Kernel) compared {
	c := compared{Class: "GPUs at the same case", Figures: slice.Map(rows, func(k *record.Kernel) figure {
		return figure{Subject: finding.Subject{Kind: finding.GPU, Name: j.GPU(k)}, Rate: *rateOf(k)}
	})}
	if c.Limit = slowLimit(j.rates(rows, rateOf)); c.Limit > nodescreen.Most {
		c.Limit = nodescreen.Effect // half of them may be slow
	}
	return c
}

// rateOf returns the rate of a kernel: operations per second for products, which memory does not
// bound.
func rateOf(k *record.Kernel) *float64 { return cmp.Or(k.Metrics.Effective, k.Metrics.Rate) }
