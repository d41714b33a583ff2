package judge

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"zbench/bench/base/finding"
	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
	"zbench/bench/run/curve"
	"zbench/bench/run/record"
)

// Thresholds of a case's excess over the expected time. A simulation is expected to meet its model; a published table
// is of another machine.
const (
	lostSimulated = 0.03
	lostMeasured  = 0.15
	// A size is a dip if its time, divided by the expected time, exceeds the same ratio of the largest size by more
	// than the share dipShare.
	dipShare = 0.10
	// Noise is reported if at least the share noisyShare of the cases is noisy.
	noisyShare = 0.5
	// warnNoisy, warnSkew and warnSlowGroup are codes of warnings of package record.
	warnNoisy, warnSkew, warnSlowGroup = "noisy", "skew", "slow_group"
)

// WarnCorrelated is package record's warning that samples depend on each other.
const WarnCorrelated = "correlated"

// mostLate is the number of late ranks that are named individually.
const mostLate = 3

// `late` names the ranks and nodes for which the others wait, or the candidates.
func (j judged) late() finding.List {
	var out finding.List
	for _, l := range Late(j.Record) {
		if len(l.Late)+len(l.Candidates) == 0 {
			continue
		}
		line := finding.Finding{Code: CodeLate, Severity: finding.Fault, Hint: plain.Sentence(strings.TrimSuffix(l.Remedy(), "."))}
		line.Share = slice.Most(slices.Concat(l.Late, l.Candidates), func(u LateUnit) float64 { return u.WaitShare })
		var texts []string
		if len(l.Late) > 0 {
			line.Subject = l.Late[0].subject()
			share := slice.Sum(l.Late, func(u LateUnit) float64 { return u.Share })
			names := slice.Map(l.Late, func(u LateUnit) string { return plain.Lower(u.Name()) })
			last := "it"
			if len(names) > 1 || l.Late[0].whole() {
				last = "one of them"
			}
			texts = append(texts, fmt.Sprintf("Late: %s. In %s of the launches %s came last; the others wait %s, up to %s of the time of a launch.",
				unit.FirstFew(names, mostLate), unit.Part(min(share, 1)), last, unit.Seconds(l.Late[0].Wait), unit.Part(line.Share)))
		}
		if len(l.Candidates) > 0 {
			texts = append(texts, l.unclear())
		}
		if len(l.Late) == 0 {
			line.Candidates = slice.Map(l.Candidates, func(u LateUnit) finding.Subject { return *u.subject() })
		}
		line.Text = strings.Join(texts, " ")
		out = append(out, line)
	}
	return out
}

// slowGroups names the slow groups among simultaneous groups, in a line for each way of grouping. The figures are of
// the case with the largest excess.
func (j judged) slowGroups() finding.List {
	order, of := slice.Group(slice.Where(j.Each(), slowest), func(r *record.Result) splitOf {
		return splitOf{ranks: r.Ranks, stride: r.Stride, groups: r.Groups}
	})
	excess := func(r *record.Result) float64 { return r.SlowestGroup.Median / r.SlowestGroup.Typical }
	return slice.Map(order, func(s splitOf) finding.Finding {
		return j.slowGroup(slices.MaxFunc(of[s], func(a, b *record.Result) int { return cmp.Compare(excess(a), excess(b)) }))
	})
}

// `slowest` reports whether one of a case's groups is slow beyond chance.
func slowest(r *record.Result) bool {
	g := r.SlowestGroup
	return r.Status == record.OK && g != nil && len(g.Slow) > 0 && g.Typical > 0 && r.Warned(warnSlowGroup)
}

func (j judged) slowGroup(r *record.Result) finding.Finding {
	g := r.SlowestGroup
	names := slice.Map(g.Slow, func(first int) string {
		name, _ := j.group(r, first)
		return name
	})
	_, subject := j.group(r, g.Slow[0])
	l := finding.Finding{Code: CodeSlowGroup, Subject: subject, Severity: finding.Fault, Share: 1 - g.Typical/g.Median}
	l.Text = fmt.Sprintf("Slow: %s. %s at %s takes up to %s longer there than in the typical group: %s of its bandwidth lost.",
		unit.FirstFew(names, mostLate), r.Collective, unit.Bytes(r.Bytes), unit.Part(g.Median/g.Typical-1), unit.Part(l.Share))
	for _, w := range r.Warnings {
		if w.Code == warnSlowGroup {
			l.Hint = plain.Sentence(w.Hint)
		}
	}
	return l
}

// group names a group by what its ranks share, a node or a rail, else by its ranks. The subject for a finding is nil
// in the last case.
func (j judged) group(r *record.Result, first int) (name string, subject *finding.Subject) {
	switch per := j.World.PerNode(); {
	case per > 0 && r.Stride == per:
		name = fmt.Sprintf("rail %d (GPU %d of every node)", first, first)
		return name, &finding.Subject{Kind: finding.Rail, Name: name}
	case per > 0 && r.Stride == 0 && r.Ranks == per:
		node := first / per
		subject = &finding.Subject{Kind: finding.Node, Name: fmt.Sprintf("node %d", node)}
		if node < len(j.World.Hosts) {
			subject.Nodes = []string{j.World.Hosts[node]}
		}
		return subject.Name, subject
	}
	return record.GroupText(first, r.Ranks, r.Stride), nil
}

// lostBusBW compares the largest size of every collective with its expected time.
func (j judged) lostBusBW() finding.List {
	lost := j.besides(j.lostLimit())
	if len(lost) == 0 {
		return nil
	}
	l := finding.Finding{Code: CodeLostBusBW, Severity: finding.Fault, Share: slice.Most(lost, beside.lost), Hint: j.whereLost()}
	parts := slice.Map(lost, func(b beside) string {
		return fmt.Sprintf("%s %s (%s of %s%s)", b.name, unit.Part(b.lost()), unit.Rate(b.rate), unit.Rate(b.want), b.where)
	})
	l.Text = fmt.Sprintf("Bus bandwidth lost against %s: %s.", j.want.name(), unit.FirstFew(parts, 4))
	if !j.want.simulated {
		l.Code, l.Severity, l.Text = CodeBelowReference, finding.Warning, "BELOW REFERENCE: "+l.Text
	}
	return finding.List{l}
}

// lostLimit is the lost share of bandwidth that is worth a line.
func (j judged) lostLimit() float64 {
	if j.want.simulated {
		return lostSimulated
	}
	return lostMeasured
}

// lostBy returns the lost share of bandwidth of the largest size, if it is at least the limit.
func (j judged) lostBy(rows []*record.Result, limit float64) (r *record.Result, share float64, ok bool) {
	for i := range slices.Backward(rows) {
		times, lo, known := j.want.excess(rows[i])
		if !known {
			continue
		}
		share = 1 - 1/times
		return rows[i], share, share >= limit && 1-1/lo >= limit/2
	}
	return nil, 0, false
}

// whereLost names the options that locate a loss; empty if the record has groups already.
func (j judged) whereLost() string {
	per := j.World.PerNode()
	split := slices.ContainsFunc(j.Results, func(r record.Result) bool { return r.Groups > 1 })
	switch {
	case per < 2 || split:
		return ""
	case j.World.Nodes > 1:
		return fmt.Sprintf("A sweep of all ranks cannot tell where. Add --strides %d to find the rail and --groups %d to find the node.", per, per)
	}
	return "A sweep of all ranks cannot tell where. Add --groups 2 to find the pair of GPUs."
}

// `unstable` names intermittently slow groups, and their cost in bursts.
func (j judged) unstable() finding.List {
	var out finding.List
	for _, u := range Unstable(j.Record) {
		l := finding.Finding{Code: CodeUnstable, Severity: finding.Fault, Hint: plain.Sentence(UnstableRemedy(j.Record)), Share: j.burstExcess(u)}
		l.Text = "Flaky: " + u.Text()
		if l.Share > 0 {
			l.Text += fmt.Sprintf("; bursts lose %s of their time to it", unit.Part(l.Share))
		}
		l.Text += "."
		out = append(out, l)
	}
	return out
}

// burstExcess returns the cost of slow launches to a group: the share by which a launch in a burst takes longer than
// the median isolated launch, as the median over the cases.
func (j judged) burstExcess(u Instability) float64 {
	var all []weighted
	for _, r := range j.Each() {
		burst, alone := curve.BurstOf(r), curve.IsolatedOf(r)
		if r.Status != record.OK || r.Ranks != u.Ranks || r.Stride != u.Stride || max(r.Groups, 1) != u.Groups || !burst.Known || !alone.Known {
			continue
		}
		all = append(all, weighted{1 - alone.Median/burst.Median, 1})
	}
	if len(all) == 0 {
		return 0
	}
	return max(0, weightedMedian(all))
}

// dips returns the sizes that take longer than expected although the largest size does not.
func (j judged) dips() finding.List {
	names, rows := wholes(j.Record)
	var parts []string
	most := 0.0
	for _, name := range names {
		usual := 1.0
		if _, share, ok := j.lostBy(rows[name], j.lostLimit()); ok {
			usual = 1 / (1 - share)
		}
		var slow []*record.Result
		worst := 0.0
		for _, r := range rows[name] {
			if times, lo, ok := j.want.excess(r); ok && unit.Finite(times) && lo > (1+dipShare)*usual {
				slow, worst = append(slow, r), max(worst, times)
			}
		}
		if len(slow) == 0 || !j.want.simulated {
			continue
		}
		parts = append(parts, fmt.Sprintf("%s up to %.1f ×", unit.FirstFew(curve.Ranges(slow), curve.ManyRanges), worst))
		most = max(most, 1-1/worst)
	}
	if len(parts) == 0 {
		return nil
	}
	return finding.List{{
		Code: CodeDip, Severity: finding.Fault, Share: most,
		Text: "Slow at some sizes against " + j.want.name() + ": " + strings.Join(parts, "; ") + " as long.",
		Hint: "Look at the library's choice of algorithm and protocol at these sizes (NCCL_DEBUG=INFO, NCCL_ALGO, NCCL_PROTO).",
	}}
}

// `noisy` states that most cases vary, unless a flaky link explains the variation.
func (j judged) noisy() finding.List {
	rows := slice.Where(j.Each(), func(r *record.Result) bool { return r.Status == record.OK && r.Burst != nil })
	timed, noisy := len(rows), slice.Count(rows, func(r *record.Result) bool { return r.Warned(warnNoisy) })
	if timed == 0 || float64(noisy) < noisyShare*float64(timed) || len(Unstable(j.Record)) > 0 {
		return nil
	}
	return finding.List{{
		Code: CodeNoisy, Severity: finding.Warning, Share: float64(noisy) / float64(timed),
		Text: fmt.Sprintf("Noisy: in %d of %s bursts differ by more than 5 %%.", noisy, unit.Count(timed, "case")),
		Hint: "Look for other jobs on these nodes; raise -n or --max-time.",
	}}
}
