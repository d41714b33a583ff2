package main

import (
	"fmt"
	"reflect"

	"zbench/bench/plan"
	"zbench/bench/record"
)

// resumable refuses a journal that the sweep cannot go on with, before anything is
// written: one whose cases are not those that its options make. What would be
// appended to it could not be read again.
func (u *setup) resumable(entries *record.Journal, cases []plan.Case) error {
	err := u.agree(entries, cases)
	if err == nil {
		var text []byte
		if text, err = entries.Text(); err == nil {
			_, err = record.ReadJournal(text)
		}
	}
	if err != nil {
		return &codeError{exitRun, fmt.Errorf("%s contradicts itself: %w", journalFile, err), "begin the sweep anew in another folder (--out)"}
	}
	return nil
}

// agree compares the cases of a journal with those that the sweep's options make.
// Whether a case fits the memory is the journal's to say. A case of no option is from
// before a change, and finished.
func (u *setup) agree(entries *record.Journal, cases []plan.Case) error {
	made := map[string]record.Result{}
	for _, c := range cases {
		made[c.Key] = c.Planned()
	}
	for _, f := range entries.Further {
		r, err := u.again(f)
		if err != nil {
			return err
		}
		for _, c := range r.cases {
			made[c.Key] = c.Planned()
		}
	}
	results := entries.Record().Results
	for i, r := range entries.Planned() {
		m, ok := made[r.Key]
		delete(made, r.Key)
		m.Status, m.Reason = r.Status, r.Reason
		switch {
		case !ok && results[i].Status == record.Interrupted:
			return fmt.Errorf("its options make no case %s, which it plans", r.Key)
		case ok && !reflect.DeepEqual(m, r):
			return fmt.Errorf("its options make another case %s than it plans", r.Key)
		}
	}
	for _, c := range cases {
		if _, missing := made[c.Key]; missing {
			return fmt.Errorf("its options make the case %s, which it does not plan", c.Key)
		}
	}
	return nil
}
