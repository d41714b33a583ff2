package record

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"zbench/bench/jsonfile"
)

// JournalSchema names the version of the journal's format.
const JournalSchema = "zbench.journal/3"

// JournalSchemaJSON is the JSON Schema of a journal's line. It refers to SchemaJSON.
//
//go:embed schema/journal-v3.json
var JournalSchemaJSON []byte

// Header is the first line of a journal: everything that is known before the
// first result. The lines after it are Parts and AddedRounds. Each line ends in the run's
// id, which the record has too, and a checksum of its own.
type Header struct {
	// Version of the format.
	Schema string `json:"schema"`
	// Record is the sweep's record; its results are the planned cases, skipped or
	// interrupted.
	Record Record `json:"record"`
	// Machine is the SHA-256 of the machine file that decides simulated times, in
	// hexadecimal; absent on hardware.
	Machine string `json:"machine,omitempty" jsonschema:"pattern=^[0-9a-f]{64}$"`
}

// Journal is the content of a sweep's journal, complete or interrupted.
type Journal struct {
	Header Header
	Parts  []Part
	// Rounds are the cases that were added, in their order.
	Rounds []AddedRound
	// Truncated is the number of bytes of a last line that was not written whole.
	Truncated int
}

// JournalLine is a line after the first: a Part or an AddedRound.
type JournalLine interface {
	// Line is its text in the journal of a run.
	Line(run string) ([]byte, error)
}

// Line is the header as a line of the journal.
func (h Header) Line() ([]byte, error) {
	h.Record = normal(h.Record)
	return journalLine(h.Record.Run, h)
}

// Line is the part as a line of the run's journal. It fails on a NaN or an infinity.
func (p Part) Line(run string) ([]byte, error) { return journalLine(run, p) }

func journalLine(run string, v any) ([]byte, error) {
	text, err := jsonfile.Line(run, v)
	if err != nil {
		return nil, fmt.Errorf("record: journal: %w", err)
	}
	return text, nil
}

// ReadJournal reads a journal. A last line without its newline was being written
// when the sweep was killed: it is ignored and counted in Truncated. Any other damage
// is a jsonfile.LineError.
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
	// Without these two keys a header would be read as one of another meaning: a
	// simulation as a measurement.
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
	case h.Record.Spec == nil || h.Record.Spec.Sweep == nil && h.Record.Spec.Kernels == nil:
		return errors.New("the record has no spec")
	}
	if err := checkPlanned(h.Record.Results, h.Record.Kernels); err != nil {
		return err
	}
	if err := h.Record.Spec.Check(); err != nil {
		return err
	}
	return h.Record.check()
}

// checkPlanned refuses cases that are planned twice or already have a result.
func checkPlanned(cases []Result, kernels []Kernel) error {
	seen := map[string]bool{}
	for _, k := range kernels {
		switch {
		case seen[k.Key]:
			return fmt.Errorf("the case %s is planned twice", k.Key)
		case k.Status != Skipped && k.Status != Interrupted || k.Timing != nil || k.Metrics != (Metrics{}):
			return fmt.Errorf("the planned case %s already has a result", k.Key)
		}
		seen[k.Key] = true
	}
	for _, r := range cases {
		switch {
		case seen[r.Key]:
			return fmt.Errorf("the case %s is planned twice", r.Key)
		case r.Status != Skipped && r.Status != Interrupted || r.Burst != nil || r.Isolated != nil || r.AlgBW != nil || r.BusBW != nil:
			return fmt.Errorf("the planned case %s already has a result", r.Key)
		}
		seen[r.Key] = true
	}
	return nil
}

// planned is a case with its finished passes.
type planned struct {
	Result
	// kernel is true if it is one of the record's kernels, of which only the key and
	// the status stand in Result; untimed, that kernels are checked alone.
	kernel, untimed bool
	parts           []Part
}

func (j *Journal) cases() map[string]*planned {
	cases := make(map[string]*planned, len(j.Header.Record.Results))
	for _, r := range j.Planned() {
		cases[r.Key] = &planned{Result: r}
	}
	for _, k := range j.PlannedKernels() {
		cases[k.Key] = j.plannedKernel(k)
	}
	for _, p := range j.Parts {
		cases[p.Key].parts = append(cases[p.Key].parts, p)
	}
	return cases
}

func (j *Journal) plannedKernel(k Kernel) *planned {
	return &planned{Result: Result{Key: k.Key, Status: k.Status}, kernel: true, untimed: j.Header.Record.Emulated()}
}

// Record assembles the record as far as the sweep went. A truncated last line is a
// warning of it.
func (j *Journal) Record() *Record {
	rec := j.Header.Record
	rec.Results = j.Planned()
	cases := j.cases()
	for i, r := range rec.Results {
		rec.Results[i] = Assemble(r, cases[r.Key].parts)
	}
	if rec.OfKernels() {
		rec.Kernels = j.PlannedKernels()
		for i, k := range rec.Kernels {
			rec.Kernels[i] = AssembleKernel(k, cases[k.Key].parts, rec.DeviceOf(&k).PeakBandwidth)
		}
		rec.conclude()
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

// Left counts the cases that still have something to run.
func (j *Journal) Left() int {
	left := 0
	for _, c := range j.cases() {
		if !Finished(c.Status, c.parts) {
			left++
		}
	}
	return left
}

// FinishedParts are the parts of the finished cases, in their order.
func (j *Journal) FinishedParts() []Part {
	var list []Part
	cases := j.cases()
	for _, p := range j.Parts {
		if c := cases[p.Key]; Finished(c.Status, c.parts) {
			list = append(list, p)
		}
	}
	return list
}
