package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"

	"zbench/bench/plan"
	"zbench/bench/record"
)

// journalFile is where a sweep leaves each pass of a case as soon as it is done.
const journalFile = "journal.jsonl"

// journal is a journal that is being written.
type journal struct {
	file AppendFile
	log  *record.Journal
	dir  *folder
}

// newJournal begins a folder's journal with what there is of it, and replaces the one there was. A results.json in the folder is of an earlier run:
// it is replaced by what the journal has, so that nobody takes it for this one's.
func newJournal(dir *folder, entries *record.Journal) (*journal, error) {
	text, err := entries.Text()
	if err != nil {
		return nil, err
	}
	if _, err := dir.fs.Stat(dir.file("results.json")); !errors.Is(err, fs.ErrNotExist) {
		if err := dir.write("results.json", func(w io.Writer) error { return record.Encode(w, entries.Record()) }); err != nil {
			return nil, err
		}
	}
	if err := dir.put(journalFile, text); err != nil {
		return nil, err
	}
	f, err := dir.fs.Append(dir.file(journalFile))
	if err != nil {
		return nil, err
	}
	kept := *entries
	kept.Parts, kept.Further = slices.Clone(entries.Parts), slices.Clone(entries.Further)
	return &journal{f, &kept, dir}, nil
}

// append makes a part durable.
func (j *journal) append(p record.Part) error {
	j.log.Parts = append(j.log.Parts, p)
	return j.write(p)
}

// add makes cases durable that are added to the sweep.
func (j *journal) add(f record.Further) error {
	j.log.Further = append(j.log.Further, f)
	return j.write(f)
}

func (j *journal) write(of interface{ Line() ([]byte, error) }) error {
	line, err := of.Line()
	if err == nil {
		_, err = j.file.Write(line)
	}
	if err == nil {
		err = j.file.Sync()
	}
	switch {
	case errors.Is(err, errGone):
		return j.dir.gone()
	case err != nil:
		return &codeError{
			exitRun, fmt.Errorf("%s cannot be written: %w; the sweep ends here, and what it wrote before is kept", j.dir.file(journalFile), err),
			"make room, then: " + resumeWith(&j.log.Header.Record, j.dir.path),
		}
	}
	return nil
}

// run runs what the journal does not have yet of the cases.
func (j *journal) run(ctx context.Context, s State, o collectivesOptions, cases []plan.Case, d plan.Driver) ([]record.Result, error) {
	p := newProgress(s, len(cases), o.quiet)
	ofRound := map[string]bool{}
	for _, c := range cases {
		ofRound[c.Key] = true
	}
	for _, r := range j.log.Record().Results {
		if ofRound[r.Key] && r.Status != record.Skipped && r.Status != record.Interrupted {
			p.before++
		}
	}
	p.done = p.before
	o.run.EveryRank = keepsSamples(j.log.Header)
	return plan.Resume(ctx, cases, d, o.run, plan.Log{Parts: slices.Clone(j.log.Parts), Append: func(part record.Part) error {
		p.pass(part)
		return j.append(part)
	}}, p.step)
}

// whole is the record of a sweep's results. Cases of the header that were not in
// the plan are from before a change: they are as the journal has them.
func whole(entries *record.Journal, results []record.Result) *record.Record {
	rec := entries.Record()
	at := map[string]int{}
	for i, r := range rec.Results {
		at[r.Key] = i
	}
	for _, r := range results {
		rec.Results[at[r.Key]] = r
	}
	return rec
}

// header is everything that is known before the first result.
func (u *setup) header(rec *record.Record, cases []plan.Case, o collectivesOptions) record.Header {
	h := record.Header{
		Schema: record.JournalSchema, Record: *rec, Fabric: o.fabric, VerifyBudget: o.verifyBudget, KeepSamples: o.keepSamples,
	}
	for _, c := range cases {
		h.Record.Results = append(h.Record.Results, c.Planned())
	}
	if u.machine != nil {
		sum := sha256.Sum256(u.machine.Text())
		h.Machine = hex.EncodeToString(sum[:])
	}
	return h
}

// samplesRanks is the most ranks whose samples are kept without being asked to.
const samplesRanks = 64

// keepsSamples tells whether a sweep keeps its samples beside the record.
func keepsSamples(h record.Header) bool {
	return h.KeepSamples || h.Record.World.Ranks <= samplesRanks
}

// writeSamples leaves samples.f32 and samples.json.
func writeSamples(dir *folder, results []record.Result, parts []record.Part) error {
	var values, index bytes.Buffer
	if err := record.WriteSamples(&values, &index, results, parts); err != nil {
		return err
	}
	if err := dir.put("samples.f32", values.Bytes()); err != nil {
		return err
	}
	return dir.put("samples.json", index.Bytes())
}

// readJournal reads a journal from its bytes; path is for messages.
func readJournal(path string, text []byte) (*record.Journal, error) {
	j, err := record.ReadJournal(text)
	if err == nil {
		return j, nil
	}
	hint := "begin the sweep anew in another folder (--out)"
	if damage, ok := errors.AsType[*record.LineError](err); ok && damage.Line > 1 {
		hint = fmt.Sprintf("the lines before it are whole: sed -i '%d,$d' %s keeps them alone, and --resume %s takes the rest again", damage.Line, path, filepath.Dir(path))
	}
	return nil, &codeError{exitRun, fmt.Errorf("%s: %w", path, err), hint}
}
