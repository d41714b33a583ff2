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
	// SecondPass: the real sizes of the messages around the answer.
	SecondPass = "second_pass"
	// Tuned: the configurations of kernels that were the fastest of their tuning.
	Tuned = "tuned"
)

// Reasons lists them all.
func Reasons() []string { return []string{Extension, SecondPass, Tuned} }

// Further is cases that were added to a sweep for the sake of the bucket size, or to
// a run of kernels, once those before them were done: a line of the journal between
// the parts.
type Further struct {
	// Why is extension for sizes beyond the largest, which the answer needs, second_pass
	// for the real sizes of the messages around it, tuned for the configurations of
	// kernels that were the fastest of their tuning.
	Why string `json:"why"`
	// Cases are planned like those of the header: skipped or interrupted.
	Cases []Result `json:"cases"`
	// Kernels are planned rows of kernels; absent for collectives.
	Kernels []Kernel `json:"kernels,omitempty"`
	// After is the number of parts that came before.
	After int `json:"-"`
}

// Added is what a record says of a Further.
type Added struct {
	// Why is extension for sizes beyond the largest, which the answer needs, second_pass
	// for the real sizes of the messages around it.
	Why string `json:"why"`
	// Keys of the results that were added.
	Keys []string `json:"keys"`
}

// Line is the cases as a line of the journal.
func (f Further) Line() ([]byte, error) {
	all := normal(Record{Results: f.Cases, Kernels: f.Kernels})
	f.Cases, f.Kernels = all.Results, all.Kernels
	return journalLine(f)
}

// Planned are all cases: the header's, then those that were added.
func (j *Journal) Planned() []Result {
	all := slices.Clone(j.Header.Record.Results)
	for _, f := range j.Further {
		all = append(all, f.Cases...)
	}
	return all
}

// PlannedKernels are all rows of kernels: the header's, then those that were added.
func (j *Journal) PlannedKernels() []Kernel {
	all := slices.Clone(j.Header.Record.Kernels)
	for _, f := range j.Further {
		all = append(all, f.Kernels...)
	}
	return all
}

// Text is the journal as it lies on disk.
func (j *Journal) Text() ([]byte, error) {
	text, err := j.Header.Line()
	further := j.Further
	for i := 0; i <= len(j.Parts) && err == nil; i++ {
		for ; err == nil && len(further) > 0 && further[0].After == i; further = further[1:] {
			text, err = joined(text, further[0])
		}
		if i < len(j.Parts) && err == nil {
			text, err = joined(text, j.Parts[i])
		}
	}
	return text, err
}

func joined(text []byte, line interface{ Line() ([]byte, error) }) ([]byte, error) {
	more, err := line.Line()
	return append(text, more...), err
}

// added is what the record says of the cases that were added.
func (j *Journal) added() []Added {
	var all []Added
	for _, f := range j.Further {
		a := Added{Why: f.Why, Keys: []string{}}
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
	if !bytes.HasPrefix(line, []byte(`{"why"`)) { // as Line writes it; parts are long
		var p Part
		err := jsonfile.DecodeLine(line, &p)
		if err == nil {
			err = p.check(cases)
		}
		if err == nil {
			cases[p.Key].parts = append(cases[p.Key].parts, p)
			j.Parts = append(j.Parts, p)
		}
		return err
	}
	var f Further
	if err := jsonfile.DecodeLine(line, &f); err != nil {
		return err
	}
	if why := Reasons(); !slices.Contains(why, f.Why) {
		return fmt.Errorf("cases were added for %q: this zbench knows %q", f.Why, why)
	}
	if len(f.Cases)+len(f.Kernels) == 0 {
		return errors.New("cases were added, but there are none")
	}
	all, kernels := j.Planned(), j.PlannedKernels()
	f.After = len(j.Parts)
	j.Further = append(j.Further, f)
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
