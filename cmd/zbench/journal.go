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
	"slices"

	"zbench/bench/plan"
	"zbench/bench/record"
)

// journalFile is where a sweep leaves each pass of a case as soon as it is done.
const journalFile = "journal.jsonl"

// journal is a journal that is being written.
type journal struct {
	file  AppendFile
	parts []record.Part
	// dir is the folder's path, for messages.
	dir string
}

// newJournal begins a folder's journal with a header and the parts there are, and
// replaces the one there was. A results.json in the folder is of an earlier run:
// it is replaced by what the journal has, so that nobody takes it for this one's.
func newJournal(dir *folder, h record.Header, parts []record.Part) (*journal, error) {
	text, err := h.Line()
	for _, p := range parts {
		var line []byte
		if err == nil {
			line, err = p.Line()
			text = append(text, line...)
		}
	}
	if err != nil {
		return nil, err
	}
	if _, err := dir.fs.Stat(dir.file("results.json")); !errors.Is(err, fs.ErrNotExist) {
		rec := (&record.Journal{Header: h, Parts: parts}).Record()
		if err := dir.write("results.json", func(w io.Writer) error { return record.Encode(w, rec) }); err != nil {
			return nil, err
		}
	}
	if err := dir.fs.WriteFile(dir.file(journalFile), text); err != nil {
		return nil, err
	}
	f, err := dir.fs.Append(dir.file(journalFile))
	if err != nil {
		return nil, err
	}
	return &journal{f, slices.Clone(parts), dir.path}, nil
}

// append makes a part durable.
func (j *journal) append(p record.Part) error {
	j.parts = append(j.parts, p)
	line, err := p.Line()
	if err == nil {
		_, err = j.file.Write(line)
	}
	if err == nil {
		err = j.file.Sync()
	}
	if err != nil {
		return &codeError{
			exitRun, fmt.Errorf("%s/%s cannot be written: %w; the sweep ends here, and what it wrote before is kept", j.dir, journalFile, err),
			"make room, then: zbench collectives --resume " + j.dir,
		}
	}
	return nil
}

// run runs what the journal does not have yet.
func (j *journal) run(ctx context.Context, s State, o collectivesOptions, h record.Header, cases []plan.Case, d plan.Driver) ([]record.Result, error) {
	p := newProgress(s, len(cases), o.quiet)
	for _, r := range (&record.Journal{Header: h, Parts: j.parts}).Record().Results {
		if r.Status != record.Skipped && r.Status != record.Interrupted {
			p.before++
		}
	}
	p.done = p.before
	o.run.EveryRank = keepsSamples(h)
	results, err := plan.Resume(ctx, cases, d, o.run, plan.Log{Parts: j.parts, Append: func(part record.Part) error {
		p.pass(part)
		return j.append(part)
	}}, p.step)
	if closing := j.file.Close(); err == nil {
		err = closing
	}
	return results, err
}

// whole is the record of a sweep's results. Cases of the header that were not in
// the plan are from before a change: they are as the journal has them.
func whole(h record.Header, parts []record.Part, results []record.Result) *record.Record {
	rec := (&record.Journal{Header: h, Parts: parts}).Record()
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
	if err := dir.fs.WriteFile(dir.file("samples.f32"), values.Bytes()); err != nil {
		return err
	}
	return dir.fs.WriteFile(dir.file("samples.json"), index.Bytes())
}

// readJournal reads a journal from its bytes; path is for messages.
func readJournal(path string, text []byte) (*record.Journal, error) {
	j, err := record.ReadJournal(text)
	if err != nil {
		return nil, &codeError{exitRun, fmt.Errorf("%s: %w", path, err), "begin the sweep anew in another folder (--out)"}
	}
	return j, nil
}
