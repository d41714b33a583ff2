package record

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"zbench/bench/base/jsonfile"
	"zbench/bench/base/slice"
	"zbench/bench/hardware/collective"
)

// JournalSchema names the version of the journal's format.
const JournalSchema = "zbench.journal/3"

// JournalSchemaJSON is the JSON Schema of a journal's line. It refers to SchemaJSON.
//
//go:embed schema/journal-v3.json
var JournalSchemaJSON []byte

// Header is the first line of a journal: everything that is known before the first result. Parts
// and AddedRounds follow. Each line ends with the run's id, which is also in the record, and with the
// line's checksum.
type Header struct {
	// Version of the format.
	Schema string `json:"schema"`
	// Record is the sweep's record; its results are the planned cases, skipped or
	// interrupted.
	Record Record `json:"record"`
	// Machine is the SHA-256 of the machine file that decides simulated times, in hexadecimal;
	// absent on hardware.
	Machine string `json:"machine,omitempty" jsonschema:"pattern=^[0-9a-f]{64}$"`
}

// Journal is the content of a sweep's journal, complete or interrupted.
type Journal struct {
	Header Header
	Parts  []Part
	// Rounds are the added cases, in order.
	Rounds []AddedRound
	// Truncated is the number of bytes of an incomplete last line.
	Truncated int
}

// JournalLine is a line after the first: a Part or an AddedRound.
type JournalLine interface {
	// Line returns its text in the journal of a run.
	Line(run string) ([]byte, error)
}

// Line returns the header as a line of the journal.
func (h Header) Line() ([]byte, error) {
	h.Record = normal(h.Record)
	return journalLine(h.Record.Run, h)
}

// Line returns the part as a line of the run's journal. It fails on a NaN or an infinity.
func (p Part) Line(run string) ([]byte, error) { return journalLine(run, p) }

func journalLine(run string, v any) ([]byte, error) {
	text, err := jsonfile.Line(run, v)
	if err != nil {
		return nil, fmt.Errorf("record: journal: %w", err)
	}
	return text, nil
}

// ReadJournal reads a journal. A last line without its newline was cut off when the sweep was
// killed: it is ignored and counted in Truncated. Any other damage is a jsonfile.LineError.
func ReadJournal(text []byte) (*Journal, error) {
	j := &Journal{}
	var cases map[string]*planned
	lines, truncated, err := jsonfile.EachLine(text, func(number int, line []byte) error {
		if number > 1 {
			return j.addLine(line, cases)
		}
		err := j.readHeader(line)
		if err == nil {
			cases = j.cases()
		}
		return err
	})
	if err == nil && lines == 0 {
		err = &jsonfile.LineError{Line: 1, Err: fmt.Errorf("%w: the file is empty: the sweep was killed before it started", ErrNotRecord)}
	}
	if err != nil {
		return nil, fmt.Errorf("record: journal: %w", err)
	}
	j.Truncated = truncated
	return j, nil
}

func (j *Journal) readHeader(line []byte) error {
	// Without these two keys a header would be misread: a simulation as a measurement.
	var head struct {
		Schema string `json:"schema"`
		Record struct {
			Simulated *bool `json:"simulated"`
		} `json:"record"`
	}
	if err := json.Unmarshal(line, &head); err != nil {
		return fmt.Errorf("%w: %w", ErrNotRecord, err)
	}
	if head.Schema != JournalSchema {
		return fmt.Errorf("%w: the file has %q, this zbench reads %q", ErrVersion, head.Schema, JournalSchema)
	}
	run, err := jsonfile.DecodeFirst(line, &j.Header)
	if err != nil {
		return err
	}
	h := &j.Header
	switch {
	case run != h.Record.Run:
		return fmt.Errorf("%w: its run is %q, that of its record %q", jsonfile.ErrForeign, run, h.Record.Run)
	case head.Record.Simulated == nil:
		return errors.New(`the key "simulated" is missing`)
	case h.Record.Schema != Schema:
		return fmt.Errorf("%w: the file has %q, this zbench reads %q", ErrVersion, h.Record.Schema, Schema)
	case h.Record.Spec == nil || !h.Record.Spec.Fits():
		return errors.New("the record has no spec, or not what its benchmark takes")
	}
	if err := checkPlanned(&h.Record); err != nil {
		return err
	}
	if err := h.Record.Spec.Check(); err != nil {
		return err
	}
	return h.Record.check()
}

// checkPlanned refuses cases that are planned twice or already have a result.
func checkPlanned(rec *Record) error {
	seen := map[string]bool{}
	for _, c := range rec.Cases() {
		switch {
		case seen[c.Key]:
			return fmt.Errorf("the case %s is planned twice", c.Key)
		case c.Status != Skipped && c.Status != Interrupted:
			return fmt.Errorf("the planned case %s already has a result", c.Key)
		}
		seen[c.Key] = true
	}
	for _, r := range rec.Each() {
		if r.Burst != nil || r.Isolated != nil || r.AlgBW != nil || r.BusBW != nil {
			return fmt.Errorf("the planned case %s already has a result", r.Key)
		}
	}
	for _, k := range rec.KernelRows() {
		if k.Timing != nil || k.Metrics != (Metrics{}) {
			return fmt.Errorf("the planned case %s already has a result", k.Key)
		}
	}
	return nil
}

// planned is a planned case with its passes so far.
type planned struct {
	Result
	// kernel is true for a row of kernels. In that case Result has only its field Case. untimed is
	// true if kernels are checked and not timed.
	kernel, untimed bool
	parts           []Part
}

func (j *Journal) cases() map[string]*planned {
	rec := j.whole()
	cases := make(map[string]*planned, len(rec.Results))
	j.plan(cases, rec.Results, rec.Kernels)
	for _, p := range j.Parts {
		cases[p.Key].parts = append(cases[p.Key].parts, p)
	}
	return cases
}

// plan adds planned cases.
func (j *Journal) plan(cases map[string]*planned, results []Result, kernels []Kernel) {
	for _, r := range results {
		cases[r.Key] = &planned{Result: r}
	}
	for _, k := range kernels {
		cases[k.Key] = &planned{Result: Result{Case: k.Case}, kernel: true, untimed: j.Header.Record.Emulated()}
	}
}

// Record assembles the record so far. A truncated last line becomes a warning.
func (j *Journal) Record() *Record { return j.Ended(End{}) }

// Ended assembles the record as Record does, and adds the reason why the run ended. No line of the
// journal has this reason.
func (j *Journal) Ended(how End) *Record {
	rec, cases := j.whole(), j.cases()
	for i, r := range rec.Results {
		rec.Results[i] = how.Result(r, cases[r.Key].parts)
	}
	if rec.OfKernels() {
		for i, k := range rec.Kernels {
			rec.Kernels[i] = AssembleKernel(k, cases[k.Key].parts, rec.DeviceOf(&k).PeakBandwidth)
		}
		rec.conclude()
		for _, k := range rec.KernelRows() {
			if k.Status == Interrupted && how.Failed != "" {
				k.cutShort(cases[k.Key].parts, how.Failed)
			}
		}
	}
	rec.Added = j.added()
	if j.Truncated > 0 {
		rec.Warnings = append(slices.Clip(rec.Warnings), Warning{
			Code: "truncated", Message: fmt.Sprintf("the last line of the journal is incomplete (%d bytes): its pass is ignored", j.Truncated),
			Hint: "--resume measures it again",
		})
	}
	return &rec
}

// Left counts the cases with passes left to run.
func (j *Journal) Left() int {
	cases := slices.Collect(maps.Values(j.cases()))
	return slice.Count(cases, func(c *planned) bool { return !Finished(c.Status, c.parts) })
}

// FinishedParts returns the parts of the finished cases, in order.
func (j *Journal) FinishedParts() []Part {
	cases := j.cases()
	return slice.Where(j.Parts, func(p Part) bool { return Finished(cases[p.Key].Status, cases[p.Key].parts) })
}

// Reasons for cases that were added to a sweep.
const (
	// Extension: the answer needs larger sizes than the sweep has.
	Extension = "extension"
	// AnswerSizes: the real sizes of the messages around the answer.
	AnswerSizes = "answer_sizes"
	// Tuned: the fastest configurations of a kernel's tuning.
	Tuned = "tuned"
)

// Reasons returns all reasons.
func Reasons() []string { return []string{Extension, AnswerSizes, Tuned} }

// AddedRound holds cases that were added for the bucket size of a sweep, or to a run of kernels,
// after the planned cases had finished. It is a line of the journal between the parts.
type AddedRound struct {
	// Reason is extension for sizes beyond the largest, answer_sizes for the real sizes of
	// the messages around the answer, tuned for the fastest configurations of a tuning.
	Reason string `json:"reason"`
	// Cases are planned like those of the header: skipped or interrupted.
	Cases []Result `json:"cases"`
	// Kernels are planned rows of kernels; absent for collectives.
	Kernels []Kernel `json:"kernels,omitempty"`
	// After is the number of parts before it.
	After int `json:"-"`
}

// Added is a round of added cases in the record.
type Added struct {
	// Reason is extension for sizes beyond the largest, answer_sizes for the real sizes of
	// the messages around the answer, tuned for the fastest configurations of a tuning.
	Reason string `json:"reason"`
	// Keys of the added results.
	Keys []string `json:"keys"`
}

// Line returns the cases as a line of the run's journal.
func (f AddedRound) Line(run string) ([]byte, error) {
	all := normal(*f.record())
	f.Cases, f.Kernels = all.Results, all.Kernels
	return journalLine(run, f)
}

// Planned returns all cases: first the cases of the header, then the added cases.
func (j *Journal) Planned() []Result { return j.whole().Results }

// Method whole returns the planned record: first the cases of the header, then the added cases.
func (j *Journal) whole() Record {
	rec := j.Header.Record
	rec.Results, rec.Kernels = slices.Clone(rec.Results), slices.Clone(rec.Kernels)
	for _, f := range j.Rounds {
		rec.Results, rec.Kernels = append(rec.Results, f.Cases...), append(rec.Kernels, f.Kernels...)
	}
	return rec
}

// record returns the round's cases as a record.
func (f AddedRound) record() *Record { return &Record{Results: f.Cases, Kernels: f.Kernels} }

// Text returns the journal as on disk.
func (j *Journal) Text() ([]byte, error) {
	text, err := j.Header.Line()
	run, rounds := j.Header.Record.Run, j.Rounds
	for i := 0; i <= len(j.Parts) && err == nil; i++ {
		for ; err == nil && len(rounds) > 0 && rounds[0].After == i; rounds = rounds[1:] {
			text, err = joined(text, run, rounds[0])
		}
		if i < len(j.Parts) && err == nil {
			text, err = joined(text, run, j.Parts[i])
		}
	}
	return text, err
}

func joined(text []byte, run string, line JournalLine) ([]byte, error) {
	more, err := line.Line(run)
	return append(text, more...), err
}

// added lists the rounds for the record.
func (j *Journal) added() []Added {
	return slice.Map(j.Rounds, func(f AddedRound) Added {
		return Added{Reason: f.Reason, Keys: jsonfile.Filled(slice.Map(f.record().Cases(), func(c *Case) string { return c.Key }))}
	})
}

// addLine reads a line after the header: a part of a case, or added cases.
func (j *Journal) addLine(line []byte, cases map[string]*planned) error {
	if !bytes.HasPrefix(line, []byte(`{"reason"`)) { // compare the beginning of the line only, because a part is long
		var p Part
		err := jsonfile.DecodeLine(line, j.Header.Record.Run, &p)
		if err == nil {
			err = p.check(cases)
		}
		if err == nil {
			cases[p.Key].parts = append(cases[p.Key].parts, p)
			j.Parts = append(j.Parts, p)
		}
		return err
	}
	var f AddedRound
	if err := jsonfile.DecodeLine(line, j.Header.Record.Run, &f); err != nil {
		return err
	}
	if why := Reasons(); !slices.Contains(why, f.Reason) {
		return fmt.Errorf("a round was added for %q: valid are %q", f.Reason, why)
	}
	if len(f.Cases)+len(f.Kernels) == 0 {
		return errors.New("a round without cases")
	}
	f.After = len(j.Parts)
	j.Rounds = append(j.Rounds, f)
	rec := j.whole()
	if err := checkPlanned(&rec); err != nil {
		return err
	}
	if err := rec.check(); err != nil {
		return err
	}
	j.plan(cases, f.Cases, f.Kernels)
	return nil
}

// check refuses a part that does not fit the planned cases.
func (p *Part) check(cases map[string]*planned) error {
	c := cases[p.Key]
	switch {
	case c == nil:
		return fmt.Errorf("the case %q is not planned", p.Key)
	case !slices.Contains([]Status{OK, Failed, WrongData}, p.Status):
		return fmt.Errorf("%s: a pass with status %q", p.Key, p.Status)
	case Finished(c.Status, c.parts):
		return fmt.Errorf("%s: a pass after the case was finished", p.Key)
	case p.Pass != len(c.parts):
		return fmt.Errorf("%s: pass %d instead of pass %d", p.Key, p.Pass, len(c.parts))
	case !c.kernel && p.Status == OK && (p.Burst == nil || p.Isolated == nil || len(p.Burst.Mean) == 0):
		return fmt.Errorf("%s: pass %d is ok but has no samples", p.Key, p.Pass)
	case p.Verified != nil && !slices.Contains(Verifications(), p.Verified.State):
		return fmt.Errorf("%s: pass %d: verified as %q", p.Key, p.Pass, p.Verified.State)
	case p.Status == WrongData && !p.Verified.wrong():
		return fmt.Errorf("%s: pass %d: the status is %q, but no element is wrong", p.Key, p.Pass, p.Status)
	case p.Evidence != nil && p.Status != Failed:
		return fmt.Errorf("%s: pass %d ended as %q with evidence of a hang", p.Key, p.Pass, p.Status)
	case p.Status != OK && p.Reason == "":
		return fmt.Errorf("%s: pass %d ended as %q without a reason", p.Key, p.Pass, p.Status)
	}
	if _, err := collective.ByName(c.Collective); err != nil && !c.kernel {
		return err
	}
	if err := p.checkSamples(c); err != nil {
		return fmt.Errorf("%s: pass %d: %w", p.Key, p.Pass, err)
	}
	return nil
}

// checkSamples refuses a part that does not fit its benchmark.
func (p *Part) checkSamples(c *planned) error {
	switch {
	case !c.kernel && p.Kernel != nil:
		return errors.New("samples of a kernel")
	case c.kernel && (p.Burst != nil || p.Isolated != nil || p.Evidence != nil):
		return errors.New("samples of collectives for a kernel")
	case c.kernel && p.Status == OK && p.timed() == c.untimed:
		return fmt.Errorf("samples: %t, but kernels that are only checked: %t", p.timed(), c.untimed)
	case p.Kernel != nil && len(p.Kernel.Seconds) == 0:
		return errors.New("a timing without times")
	}
	return errors.Join(p.Verified.check(p.Status), p.Burst.check(), p.Isolated.check(c.Ranks), p.Evidence.check(), p.Kernel.check())
}

// wrong reports whether elements are wrong, or a check exceeded its bar.
func (v *Verified) wrong() bool {
	return v != nil && (v.Wrong != nil && *v.Wrong > 0 || slices.ContainsFunc(v.Checks, func(c Check) bool { return !c.OK() }))
}

func (b *BurstSamples) check() error {
	switch {
	case b == nil:
		return nil
	case len(b.Mean) != len(b.Max):
		return fmt.Errorf("%d bursts by their mean, %d by their slowest rank", len(b.Mean), len(b.Max))
	case b.Iterations < 1:
		return fmt.Errorf("bursts of %d launches", b.Iterations)
	}
	return seconds(b.Mean, b.Max)
}

func (b *IsolatedSamples) check(ranks int) error {
	switch {
	case b == nil:
		return nil
	case len(b.Max) != len(b.Spread):
		return fmt.Errorf("%d isolated launches with %d spreads", len(b.Max), len(b.Spread))
	case b.Discarded < 0 || b.Discarded > maxCount:
		return fmt.Errorf("%d launches discarded", b.Discarded)
	case b.Repeated < 0 || b.Repeated > maxCount:
		return fmt.Errorf("%d batches repeated", b.Repeated)
	case b.StartedEarly < 0 || b.StartedEarly > len(b.Max)+b.Discarded:
		return fmt.Errorf("%d launches started early, of %d", b.StartedEarly, len(b.Max)+b.Discarded)
	case ranks < 1 || ranks > maxCount || len(b.Ranks)%(4*ranks) != 0:
		return fmt.Errorf("%d bytes are not a whole number of intervals of %d ranks", len(b.Ranks), ranks)
	}
	left := len(b.Max)
	for _, l := range b.Late {
		left -= l.Count
		if l.Rank < 0 || l.Rank >= ranks || l.Count < 1 || left < 0 {
			return fmt.Errorf("rank %d of %d late %d times", l.Rank, ranks, l.Count)
		}
	}
	if len(b.Slow) > 0 && len(b.Slow) != len(b.Groups) {
		return fmt.Errorf("slow launches of %d groups, and times of %d", len(b.Slow), len(b.Groups))
	}
	for _, n := range b.Slow {
		if n < 0 || n > len(b.Max) {
			return fmt.Errorf("%d of %d launches slow", n, len(b.Max))
		}
	}
	return seconds(b.Max, b.Spread, b.Groups, []float64{b.EventFloor})
}

// Bounds of counts and of seconds other than 0. No measurement exceeds them, and sums and quotients
// of values within them are finite.
const (
	maxCount   = 1 << 30
	minSeconds = 1e-18
	maxSeconds = 1e9
)

// seconds refuses a value that is not a duration.
func seconds(series ...[]float64) error {
	for _, list := range series {
		for i, s := range list {
			if s != 0 && s < minSeconds || s > maxSeconds {
				return fmt.Errorf("sample %d is %g s", i, s)
			}
		}
	}
	return nil
}
