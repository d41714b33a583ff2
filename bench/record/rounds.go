package record

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"zbench/bench/jsonfile"
)

// Reasons for cases that were added to a sweep.
const (
	// Extension: the answer needs sizes beyond the largest.
	Extension = "extension"
	// AnswerSizes: the real sizes of the messages around the answer.
	AnswerSizes = "answer_sizes"
	// Tuned: the configurations of kernels that were the fastest of their tuning.
	Tuned = "tuned"
)

// Reasons lists them.
func Reasons() []string { return []string{Extension, AnswerSizes, Tuned} }

// AddedRound holds cases that were added to a sweep for the bucket size, or to a run of
// kernels, after the planned ones had finished: a line of the journal between the parts.
type AddedRound struct {
	// Reason is extension for sizes beyond the largest, answer_sizes for the real sizes of
	// the messages around the answer, tuned for the fastest configurations of a tuning.
	Reason string `json:"reason"`
	// Cases are planned like those of the header: skipped or interrupted.
	Cases []Result `json:"cases"`
	// Kernels are planned rows of kernels; absent for collectives.
	Kernels []Kernel `json:"kernels,omitempty"`
	// After is the number of parts that came before.
	After int `json:"-"`
}

// Added is a round as the record lists it.
type Added struct {
	// Reason is extension for sizes beyond the largest, answer_sizes for the real sizes of
	// the messages around the answer, tuned for the fastest configurations of a tuning.
	Reason string `json:"reason"`
	// Keys of the results that were added.
	Keys []string `json:"keys"`
}

// Line is the cases as a line of the run's journal.
func (f AddedRound) Line(run string) ([]byte, error) {
	all := normal(Record{Results: f.Cases, Kernels: f.Kernels})
	f.Cases, f.Kernels = all.Results, all.Kernels
	return journalLine(run, f)
}

// Planned are all cases: the header's, then those that were added.
func (j *Journal) Planned() []Result {
	all := slices.Clone(j.Header.Record.Results)
	for _, f := range j.Rounds {
		all = append(all, f.Cases...)
	}
	return all
}

// PlannedKernels are all rows of kernels: the header's, then those that were added.
func (j *Journal) PlannedKernels() []Kernel {
	all := slices.Clone(j.Header.Record.Kernels)
	for _, f := range j.Rounds {
		all = append(all, f.Kernels...)
	}
	return all
}

// Text is the journal as on disk.
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
	var all []Added
	for _, f := range j.Rounds {
		a := Added{Reason: f.Reason, Keys: []string{}}
		for _, r := range f.Cases {
			a.Keys = append(a.Keys, r.Key)
		}
		for _, k := range f.Kernels {
			a.Keys = append(a.Keys, k.Key)
		}
		all = append(all, a)
	}
	return all
}

// addLine reads a line behind the header: a part of a case, or cases.
func (j *Journal) addLine(line []byte, cases map[string]*planned) error {
	if !bytes.HasPrefix(line, []byte(`{"reason"`)) { // as Line writes it; parts are long
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
	all, kernels := j.Planned(), j.PlannedKernels()
	f.After = len(j.Parts)
	j.Rounds = append(j.Rounds, f)
	rec := j.Header.Record
	rec.Results, rec.Kernels = slices.Concat(all, f.Cases), slices.Concat(kernels, f.Kernels)
	if err := checkPlanned(rec.Results, rec.Kernels); err != nil {
		return err
	}
	if err := rec.check(); err != nil {
		return err
	}
	for _, r := range f.Cases {
		cases[r.Key] = &planned{Result: r}
	}
	for _, k := range f.Kernels {
		cases[k.Key] = j.plannedKernel(k)
	}
	return nil
}
