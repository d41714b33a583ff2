package judge

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"zbench/bench/base/finding"
	"zbench/bench/base/pattern"
	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
	"zbench/bench/hardware/backend"
	"zbench/bench/hardware/collective"
	"zbench/bench/run/curve"
	"zbench/bench/run/record"
)

// Prefixes of the reasons of cases. NotRun means that another case failed before. The prefix
// `asynchronous` means that the library reported an error.
const (
	NotRun       = "not run: "
	asynchronous = "asynchronous error: "
)

// hangs returns the cases that hung, in which the library reported an asynchronous error, or that failed
// otherwise.
func (j judged) hangs() finding.List {
	var out finding.List
	without := slice.Count(j.Results, func(r record.Result) bool { return r.Status == record.Failed || strings.HasPrefix(r.Reason, NotRun) })
	lost := fmt.Sprintf("%s of %s lost", unit.Comma(without), unit.Count(len(j.Results), "case"))
	for _, r := range j.Each() {
		if r.Status != record.Failed {
			continue
		}
		l := finding.Finding{Code: CodeFailed, Severity: finding.Fault, Share: float64(without) / float64(len(j.Results))}
		where := plain.OrUnnamed(r.Collective) + " at " + unit.Bytes(curve.Size(r))
		l.Text = "Failed: " + where + "; " + lost + ". " + plain.Sentence(firstClause(r.Reason))
		if e := r.Evidence; e != nil && len(e.Ranks) > 0 {
			l.Code, l.Text, l.Hint = stuck(r, where, lost)
		}
		out = append(out, l)
	}
	return out
}

// `stuck` describes a hung case with evidence: its kind, the missing ranks, and the next step as a hint.
func stuck(r *record.Result, where, lost string) (kind, text, hint string) {
	e := r.Evidence
	kind, text = CodeHang, "Hang: "+where+" did not end"
	if e.Deadline != nil {
		text += " within " + unit.Seconds(*e.Deadline)
	}
	text += "; " + lost + "."
	if reason, found := strings.CutPrefix(r.Reason, asynchronous); found {
		kind, text = CodeAsyncError, "Asynchronous error: "+where+"; "+lost+". "+plain.Sentence(strings.TrimPrefix(firstClause(reason), "asynchronous error "))
	}
	text += " " + plain.Sentence(missing(r)+" "+e.Where())
	if w := e.Witness; w != nil && w.State != record.WitnessAbsent {
		text += " " + plain.Sentence(w.Text())
	}
	hint = e.Verdict()
	if e.During == record.DuringBurst && e.Ranks[0].Started == nil && !e.Certain {
		hint = fmt.Sprintf("run it again with -w %d: the launches of a warm-up carry marks, which tell which rank has not started", record.MaxMarks)
	}
	return kind, text, plain.Sentence(hint)
}

// `missing` names the ranks that most likely caused the hang.
func missing(r *record.Result) string {
	first := r.Evidence.Ranks[0]
	all := slice.Sum(r.Evidence.Ranks, func(g record.RankEvidence) int { return g.Count })
	if who := r.Evidence.Reported(); who != "" {
		return "an asynchronous error on " + who + " alone, the others wait"
	}
	if first.Count == all {
		return record.RankText(first.Ranks, first.Count, all) + " " + first.State.Text()
	}
	return record.RankText(first.Ranks, first.Count, all) + " " + first.State.Text() + ", the others wait"
}

// firstClause returns a reason up to its first semicolon.
func firstClause(reason string) string {
	head, _, _ := strings.Cut(reason, "; ")
	return head
}

// wrongAt matches the place of the first wrong element.
var wrongAt = pattern.New(`first on rank (\d+) at element (\d+)`)

// wrongData states how much of the data is wrong and, if known, on which rank.
func (j judged) wrongData() finding.List {
	var wrong []*record.Result
	verified, worst := 0, 0.0
	var first, most *record.Result
	for _, r := range j.Each() {
		switch {
		case r.Status == record.WrongData || r.Verified.State == record.VerifiedWrong:
			wrong = append(wrong, r)
			if s := wrongShare(r); first == nil || s > worst {
				worst, most = s, r
			}
			first = cmp.Or(first, r)
		case r.Verified.State == record.VerifiedOK, r.Verified.State == record.VerifiedBlocks:
			verified++
		}
	}
	if first == nil {
		return nil
	}
	text := fmt.Sprintf("Wrong data in %d of %s", len(wrong), unit.Count(len(wrong)+verified, "verified case"))
	if worst > 0 {
		text += fmt.Sprintf(", up to %s of the elements (%s, %s wrong)", unit.Part(worst), most.Collective, unit.Comma(*most.Verified.Wrong))
	}
	if who := j.suspect(wrong); who != "" {
		text += "; " + who
	}
	text += ": " + unit.FirstFew(curve.Ranges(wrong), curve.ManyRanges)
	return finding.List{{
		Code: CodeWrongData, Text: text + ".", Severity: finding.Fault, Share: worst,
		Hint: "Do not train on these GPUs. Run the same sweep without the suspect, and look at its memory errors (error counters of " + backend.ToolOf(j.Source.Backend) + ").",
	}}
}

// outputs returns the number of elements that a verified case checked on each rank, over all its
// launches; 0 if unknown.
func outputs(r *record.Result) float64 {
	c, err := collective.ByName(r.Collective)
	d, wrong := collective.DtypeByName(r.Dtype)
	if err != nil || wrong != nil || r.Ranks < 1 {
		return 0
	}
	if b := r.Verified.Blocks; b > 0 {
		each := float64(b) * float64(r.Verified.BlockBytes) / float64(d.Size)
		if c.RecvShare || c.Shares { // a block belongs to one rank
			each /= float64(r.Ranks)
		}
		return each * float64(max(r.Verified.Launches, 1))
	}
	each := c.Layout(r.BytesRequested, r.Ranks, d.Size).RecvBytes / int64(d.Size)
	return float64(each) * float64(max(r.Verified.Launches, 1))
}

// wrongShare returns the share of wrong elements over all ranks; 0 if unknown.
func wrongShare(r *record.Result) float64 {
	all := outputs(r) * float64(r.Ranks) * float64(max(r.Groups, 1))
	if r.Verified.Wrong == nil || all <= 0 {
		return 0
	}
	return min(1, float64(*r.Verified.Wrong)/all)
}

// suspect returns the rank whose data are wrong: the only rank that received wrong data, or the rank whose
// block is wrong on several ranks after an all_gather.
func (j judged) suspect(wrong []*record.Result) string {
	var alone []int
	several := false
	for _, r := range wrong {
		at := wrongAt.FindStringSubmatch(r.Verified.Reason + " " + r.Reason)
		if at == nil || r.Groups > 1 || r.Verified.Wrong == nil {
			continue
		}
		rank, _ := strconv.Atoi(at[1])
		element, _ := strconv.ParseInt(at[2], 10, 64)
		switch spread := float64(*r.Verified.Wrong) > outputs(r) || r.Collective == "all_gather" && rank == 0; {
		case spread && r.Collective == "all_gather" && r.Count > 0:
			return "what comes from " + j.place(int(element/r.Count), r) + " is wrong"
		case spread && j.gathered():
			return "several ranks received it, and all_gather is right: look at the reduction"
		case spread:
			several = true
		case !slices.Contains(alone, rank):
			alone = append(alone, rank)
		}
	}
	switch {
	case several:
		return "several ranks received it: an all_gather tells whose contribution is wrong"
	case len(alone) == 1:
		return "only what " + j.place(alone[0], wrong[0]) + " received is wrong"
	}
	return ""
}

// gathered reports whether an all_gather was verified and had no wrong element.
func (j judged) gathered() bool {
	return slices.ContainsFunc(j.Results, func(r record.Result) bool {
		return r.Collective == "all_gather" && r.Status == record.OK && r.Verified.State == record.VerifiedOK
	})
}

// place returns a rank with its node and GPU.
func (j judged) place(rank int, r *record.Result) string {
	return plain.Lower(located([]int{rank}, World{r.Ranks, r.Nodes, r.GPUsPerProcess}, j.World).Name())
}

// interrupted states how much of a sweep is finished.
func (j judged) interrupted() finding.List {
	count, ok, partly := 0, 0, 0
	why, hint, severity := "", "", finding.Warning
	for _, r := range j.Each() {
		switch r.Status {
		case record.Interrupted:
			count++
			if r.Burst != nil {
				partly++
			}
			if r.Lost() {
				why, hint = lostIn(r)
				severity = finding.Fault
			}
		case record.OK:
			ok++
		case record.Skipped, record.Failed, record.WrongData:
		}
	}
	if count == 0 {
		return nil
	}
	head, counts := record.Unfinished(ok, partly, len(j.Results))
	text := plain.Capital(head)
	if why+counts != "" {
		text += ": " + why + counts
	}
	return finding.List{{
		Code: CodeInterrupted, Severity: severity, Share: float64(count) / float64(len(j.Results)),
		Text: strings.TrimSuffix(strings.TrimSpace(text), ".") + ".",
		Hint: hint + "Continue with `zbench collectives --resume DIR`.",
	}}
}

// lostIn names the case in which a process was lost or stood still, and the missing ranks or the process.
func lostIn(r *record.Result) (text, hint string) {
	what, why, _ := strings.Cut(r.Reason, ": ")
	text = what + " in " + plain.OrUnnamed(r.Collective) + " at " + unit.Bytes(curve.Size(r)) + ". "
	if e := r.Evidence; e != nil && len(e.Ranks) > 0 && strings.HasPrefix(r.Reason, record.LostProcess) {
		return text + plain.Sentence(missing(r)+" "+e.Where()) + " ", plain.Sentence(e.Verdict()) + " "
	}
	return text + plain.Sentence(firstClause(why)) + " ", ""
}
