package trace

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"zbench/bench/base/finding"
	"zbench/bench/base/jsonfile"
	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
	"zbench/bench/hardware/collective"
	"zbench/bench/run/record"
	"zbench/bench/show/document"
)

// Schema is the version of trace.json. Rules is the version of the rules that make its findings.
const (
	Schema = "zbench.trace/1"
	Rules  = 1
)

// Document is the result of zbench trace: trace.json. Times are in seconds, sizes in bytes.
type Document struct {
	// Schema is the version of the format.
	Schema string `json:"schema"`
	// Format is the name of the format of the files.
	Format string `json:"format"`
	// Files are the files with calls.
	Files []string `json:"files"`
	// Device is the name of the GPU; empty if no file states it.
	Device string `json:"device"`
	// World is the number of ranks of the job; 0 if unknown.
	World int `json:"world"`
	// Ranks are the ranks that have calls in the files.
	Ranks []Seen `json:"ranks"`
	// Missing are the ranks of the job that have no calls in the files.
	Missing []int `json:"missing"`
	// Sent lists the calls of one rank by kind: the rank with the most calls.
	Sent []Sent `json:"sent"`
	// Of is the number of that rank; -1 if unknown.
	Of int `json:"sent_of_rank"`
	// Steps is the number of training steps of that rank.
	Steps int `json:"steps"`
	// StepsBy says how the steps were found; empty if there are none.
	StepsBy string `json:"steps_by"`
	// Buckets are the gradient buckets of a step.
	Buckets []Buckets `json:"buckets"`
	// Matched compares the calls of different ranks; null if there is nothing to compare.
	Matched *Matched `json:"matched"`
	// Waiting divides kernel times into waiting and transfer; null unless the files have all ranks.
	Waiting *Waiting `json:"waiting"`
	// Alone compares one rank's kernels with the rates for their sizes. Null if these rates are
	// unknown or explain the times, or if Waiting says more.
	Alone *Alone `json:"alone"`
	// Overlap says how much of each rank's collectives ran during computation.
	Overlap []Overlap `json:"overlap"`
	// Foreign are kernels of libraries that communicate without collectives.
	Foreign []Foreign `json:"foreign"`
	// Measure lists the sizes that the job sends, for a sweep.
	Measure []Measure `json:"measure"`
	// Notes list missing, damaged or ignored parts of the input.
	Notes []string `json:"notes"`
	finding.Judgement
	timeline document.Timeline
	// reference is the name of the rank in Of. Field `here` lists the processes in the input. It is
	// empty if the input numbers its ranks.
	reference, here string
	// simulated is true if a model decided the times.
	simulated bool
	// recorded is true for dumps of a flight recorder.
	recorded bool
}

// Seen is a rank that has calls in a file.
type Seen struct {
	// Rank is the number of the rank; -1 if unknown.
	Rank int `json:"rank"`
	// PID is the number of its process on the host; absent if unknown.
	PID int `json:"pid,omitempty"`
	// Host is the name of its host; empty if unknown.
	Host string `json:"host"`
	// File is the file with its calls.
	File string `json:"file"`
	// Calls is the number of its calls.
	Calls int `json:"calls"`
	// Unnamed is the number of its collective kernels for which the file has no bytes.
	Unnamed int `json:"unnamed"`
	// Damaged is the number of unreadable records.
	Damaged int `json:"damaged"`
}

// Codes of findings.
const (
	CodeSent    = "sent"
	CodeNone    = "no_collectives"
	CodeBuckets = "buckets"
	CodeLate    = "late_rank"
	CodeWaiting = "waiting"
	CodeMissing = "missing_ranks"
	CodeDamaged = "damaged"
	CodeNoTimes = "no_times"
	// Codes of findings that compare the calls of different ranks.
	CodeMatched  = "matched"
	CodeMismatch = "mismatch"
	// Codes of findings from a flight recorder's dumps of a hung job.
	CodePending     = "pending"
	CodeNotCompared = "not_compared"
)

// Answer summarises a trace. The function reach returns the time of a collective on a device; it
// may be nil.
func Answer(t *Trace, reach Reach) *Document {
	t.Settle()
	d := &Document{
		Schema: Schema, Format: t.Format, Files: jsonfile.Filled(t.Files), Device: t.Device, World: t.World,
		Ranks: []Seen{}, Missing: jsonfile.Filled(t.Missing()), Sent: []Sent{}, Of: Unknown, Buckets: []Buckets{}, Overlap: []Overlap{},
		Foreign: jsonfile.Filled(t.Foreign), Matched: t.matched(), Measure: []Measure{}, Notes: jsonfile.Filled(t.Notes), recorded: t.Recorded,
	}
	if n, bytes := t.parts(); n > 0 {
		d.Notes = append(d.Notes, fmt.Sprintf("%s of %s per rank: the size is that times the ranks of the group, which the file does not tell", unit.Count(n, "call"), bytes))
	}
	most := t.reference()
	var found split // the steps of the rank with the most calls
	if most != nil {
		found = most.split()
	}
	for _, r := range t.Ranks {
		d.Ranks = append(d.Ranks, Seen{r.Rank, r.PID, r.Host, r.File, len(r.Calls), r.Unnamed, r.Damaged})
		if o := r.overlap(); o != nil {
			if o.Steps = len(found.steps); r != most {
				o.Steps = len(r.split().steps)
			}
			d.Overlap = append(d.Overlap, *o)
		}
	}
	if r := most; r != nil && len(r.Calls) > 0 {
		d.Of, d.reference = r.Rank, r.Name()
		d.Sent = jsonfile.Filled(t.sent(r, found.steps))
		d.Buckets = jsonfile.Filled(t.buckets(r, found.steps))
		d.Steps, d.StepsBy = len(found.steps), found.by
		d.Measure = jsonfile.Filled(measure(d.Sent, func(name string) bool { _, err := collective.ByName(name); return err == nil }))
		if d.Waiting = t.waiting(); d.Waiting == nil && reach != nil {
			d.Alone = t.alone(r, reach)
		}
		d.timeline = r.timelineOf(found.steps)
	}
	d.here = t.processes()
	l := append(t.signs(), d.findings(t.Timed(), t.Instead)...)
	if d.simulated = t.Simulated(); d.simulated {
		l = append(l, finding.Finding{Code: finding.CodeSimulated, Severity: finding.Warning, Text: finding.NotHardware})
	}
	d.Judgement = finding.Judgement{Rules: Rules, State: l.State(d.Of != Unknown || len(d.Sent) > 0), Findings: l}
	return d
}

// signs returns the defects that the logs state as findings.
func (t *Trace) signs() finding.List {
	return slice.Map(t.Signs, func(s Sign) finding.Finding {
		f := finding.Finding{Code: s.Code, Severity: s.Severity, Text: fmt.Sprintf("LOG: %s: %s of %s.", plain.Capital(s.Means), s.At(), s.File), Hint: plain.Capital(s.Next) + "."}
		if len(s.Subjects) > 0 {
			f.Subject = &finding.Subject{Kind: finding.Node, Name: s.Subjects[0]}
		}
		return f
	})
}

// parts counts the calls for which only one rank's part is known, and returns the range of the
// parts' sizes.
func (t *Trace) parts() (n int64, bytes string) {
	least, most := int64(MaxBytes), int64(0)
	for _, r := range t.Ranks {
		for i := range r.Calls {
			if p := r.Calls[i].Part; p > 0 {
				n, least, most = n+1, min(least, p), max(most, p)
			}
		}
	}
	if least == most {
		return n, unit.Bytes(most)
	}
	return n, unit.Bytes(least) + " to " + unit.Bytes(most)
}

// WriteJSON writes the document.
func (d *Document) WriteJSON(w io.Writer) error { return jsonfile.Write(w, "trace.json", d) }

// findings returns the result: what was sent, which ranks waited, then what is missing. instead
// describes the content of files without calls.
func (d *Document) findings(timed bool, instead string) (l finding.List) {
	calls := slice.Sum(d.Ranks, func(r Seen) int { return r.Calls })
	if calls == 0 {
		text, hint := "No collective of NCCL or RCCL in "+strings.Join(d.Files, ", ")+".", "trace a step that communicates, on several ranks"
		for _, f := range d.Foreign {
			text = fmt.Sprintf("No collective of NCCL or RCCL here; %s's kernels communicate: %d, %s. They do not tell what they send.", f.Library, f.Kernels, unit.Seconds(f.Seconds))
			hint = "measure that library with its own benchmark"
		}
		if n := slice.Sum(d.Ranks, func(r Seen) int { return r.Unnamed }); n > 0 {
			text = fmt.Sprintf("%s of NCCL or RCCL ran, and %s does not name their collectives.", unit.Count(int64(n), "kernel"), strings.Join(d.Files, ", "))
			hint = "profile with PyTorch 2.3 or newer, which writes the collective and its bytes beside the kernel"
		}
		if instead != "" {
			text = instead + "."
		}
		return finding.List{{Code: CodeNone, Severity: finding.Warning, Text: text, Hint: hint}}
	}
	l = append(l, finding.Finding{Code: CodeSent, Severity: finding.Note, Text: d.sentence(calls)})
	for _, b := range d.Buckets {
		l = append(l, finding.Finding{Code: CodeBuckets, Severity: finding.Note, Text: b.sentence()})
	}
	l = append(l, d.Matched.findings()...)
	l = append(l, d.times(timed)...)
	if n := len(d.Missing); n > 0 {
		hint := missingHint
		if d.recorded {
			hint = "find their dumps; a rank whose process was killed leaves none"
		}
		text := fmt.Sprintf("%d of %d ranks are not in the input: %s.", n, d.World, unit.FirstFew(strings.Split(record.RankList(record.RankSet(d.Missing)), ", "), 8))
		l = append(l, finding.Finding{Code: CodeMissing, Severity: finding.Warning, Text: text, Hint: hint})
	}
	if d.here != "" {
		f := finding.Finding{Code: CodeMatched, Severity: finding.Note, Text: fmt.Sprintf("%d of %d processes are in the input: %s.", len(d.Ranks), d.World, d.here)}
		if len(d.Ranks) < d.World {
			f.Code, f.Severity, f.Hint = CodeMissing, finding.Warning, missingHint
		}
		l = append(l, f)
	}
	for _, r := range d.Ranks {
		if r.Damaged > 0 {
			l = append(l, finding.Finding{Code: CodeDamaged, Severity: finding.Warning, Text: fmt.Sprintf("%s of %s cannot be read and are left out.", unit.Count(int64(r.Damaged), "record"), r.File)})
		}
		if r.Unnamed > 0 {
			l = append(l, finding.Finding{Code: CodeDamaged, Severity: finding.Warning, Text: fmt.Sprintf("%s of rank %s do not tell what they send.", unit.Count(int64(r.Unnamed), "collective kernel"), Number(r.Rank))})
		}
	}
	for _, n := range d.Notes {
		l = append(l, finding.Finding{Code: CodeDamaged, Severity: finding.Note, Text: n + "."})
	}
	return l
}

const missingHint = "give the files of all ranks, or their folder: then waiting can be told from transfer"

// processes lists the hosts and devices of ranks that have process numbers but no rank numbers:
// "h03 [0–3]". For other ranks it is empty.
func (t *Trace) processes() string {
	devices := map[string][]int{}
	for _, r := range t.Ranks {
		if r.Rank >= 0 || r.PID == 0 || r.Device < 0 {
			return ""
		}
		devices[r.Host] = append(devices[r.Host], r.Device)
	}
	return unit.FirstFew(slice.Map(slices.Sorted(maps.Keys(devices)), func(host string) string {
		slices.Sort(devices[host])
		return fmt.Sprintf("%s [%s]", host, record.RankList(record.RankSet(slices.Compact(devices[host]))))
	}), 8)
}

// Number formats the number of a rank.
func Number(rank int) string {
	if rank < 0 {
		return "?"
	}
	return strconv.Itoa(rank)
}

func (d *Document) sentence(calls int) string {
	text := fmt.Sprintf("%s of %s", unit.Count(int64(calls), "collective"), unit.Count(int64(len(d.Ranks)), "rank"))
	bytes, known := 0.0, true
	for _, s := range d.Sent {
		switch {
		case s.Bytes == nil:
			known = false
		case s.PerStep != nil:
			bytes += float64(*s.Bytes) * *s.PerStep
		}
	}
	if d.Steps > 0 {
		text += fmt.Sprintf(", %s by %s", unit.Count(int64(d.Steps), "step"), d.StepsBy)
		if known && bytes > 0 {
			text += fmt.Sprintf("; %s takes part in collectives of %s per step", d.reference, unit.Bytes(int64(bytes)))
		}
	}
	if !known {
		text += "; not all tell their bytes"
	}
	return text + "."
}

// sentence describes the buckets that a trainer formed, and the limits that explain them.
func (b *Buckets) sentence() string {
	sizes := slice.Map(b.Bytes, unit.Comma)
	text := fmt.Sprintf("Gradient buckets of a step, %s of %s in %s: %s B, in %d of %s.", b.Collective, b.Dtype, b.Group, unit.FirstFew(sizes, 8), b.Steps, unit.Count(int64(b.Of), "step"))
	mib := func(n int64) string { return strconv.FormatFloat(float64(n)/float64(unit.MiB), 'f', 2, 64) + " MiB" }
	switch {
	case b.Most != nil && b.Over != nil:
		text += fmt.Sprintf(" A limit over %s and up to %s explains them, with a first bucket of up to %s", mib(*b.Over), mib(*b.Most), mib(*b.FirstMost))
	case b.Most != nil:
		text += fmt.Sprintf(" A limit of up to %s explains them, with a first bucket of up to %s; the file has no tensors, which would bound it from below", mib(*b.Most), mib(*b.FirstMost))
	case b.FirstMost != nil && b.Over != nil:
		text += fmt.Sprintf(" Any limit over %s explains them, with a first bucket of up to %s: the last bucket closes with the gradients", mib(*b.Over), mib(*b.FirstMost))
	case b.FirstMost != nil:
		text += fmt.Sprintf(" The first bucket closed at up to %s; the last closes with the gradients, so its calls bound no limit", mib(*b.FirstMost))
	default:
		return text
	}
	const usual, first = 25 * unit.MiB, unit.MiB
	if (b.Most == nil || *b.Most >= usual) && (b.Over == nil || *b.Over < usual) && *b.FirstMost >= first && b.Collective == "all_reduce" {
		text += "; DistributedDataParallel's default, 25 MiB and 1 MiB, is among them"
	}
	text += "."
	return text
}

func (d *Document) times(timed bool) (l finding.List) {
	if !timed {
		return finding.List{{Code: CodeNoTimes, Severity: finding.Note, Text: "No times here: the format has none, so nothing is said of waiting."}}
	}
	if w := d.Waiting; w != nil {
		var kernel, waited float64
		for _, r := range w.Ranks {
			kernel, waited = kernel+r.Kernel, waited+r.Waited
		}
		l = append(l, finding.Finding{
			Code: CodeWaiting, Severity: finding.Note, Share: share(waited, kernel),
			Text: fmt.Sprintf("Of the collectives' kernels %s is waiting for a peer and %s transfer, over %s that all ranks have.", unit.Percent(share(waited, kernel)), unit.Percent(1-share(waited, kernel)), unit.Count(int64(w.Calls), "call")),
		})
		if r, last, of := w.Latest(); r != nil {
			l = append(l, finding.Finding{
				Code: CodeLate, Severity: finding.Warning, Share: share(float64(last), float64(of)),
				Subject: &finding.Subject{Kind: finding.Rank, Name: fmt.Sprintf("rank %d", r.Rank)},
				Text:    fmt.Sprintf("LATE: Rank %d comes last to %d of the %d collectives that cost %.0f %% of the waiting; every other rank waits %s for it%s.", r.Rank, last, of, 100*mostWaiting, unit.Seconds(r.MadeWait), d.aStep(r.MadeWait)),
				Hint:    "look at what that rank does before its collectives: data loading, an uneven batch, a slow GPU (`zbench screen`)",
			})
		}
		return l
	}
	if a := d.Alone; a != nil {
		l = append(l, finding.Finding{
			Code: CodeWaiting, Severity: finding.Warning, Share: a.Share,
			Text: fmt.Sprintf("WAITING: %s of the kernels of %s is not transfer: by %s their bytes take %s, %s, and they took %s. Waiting for peers is likely; one rank cannot prove it.",
				floorPercent(a.Share), d.reference, a.PeakOf, unit.Seconds(a.AtPeak), unit.Rate(a.Peak), unit.Seconds(a.Kernel)),
			Hint: "trace all ranks of a node: the one whose kernels are short is the one that the others wait for",
		})
	} else {
		l = append(l, finding.Finding{Code: CodeWaiting, Severity: finding.Note, Text: "One rank cannot tell waiting for a peer from transfer: the kernels' times are no bandwidth."})
	}
	return l
}

// aStep formats a time divided by the number of steps. It is empty if there are no steps.
func (d *Document) aStep(seconds float64) string {
	if d.Steps == 0 {
		return ""
	}
	return ", " + unit.Seconds(seconds/float64(d.Steps)) + " per step"
}

// floorPercent prints a share rounded down, because a lower bound must not be rounded up.
func floorPercent(share float64) string {
	return strconv.FormatFloat(float64(int64(share*1000))/10, 'f', 1, 64) + " %"
}
