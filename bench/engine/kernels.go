package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"zbench/bench/exit"
	"zbench/bench/plain"
	"zbench/bench/plan"
	"zbench/bench/record"
	"zbench/bench/spec"
)

// Kernels are open devices, and what is to be measured on them.
type Kernels struct {
	Driver interface {
		// Cancel makes what runs return soon; it may be called from elsewhere.
		Cancel()
		Close() error
	}
	// Spec is the request with what follows from the devices.
	Spec spec.Spec
	// Facts are those of the devices; Vendor is Source.Vendor.
	Facts  Facts
	Vendor string
	// Rows are planned; Jobs measure them.
	Rows []record.Kernel
	Jobs []plan.Job
	// More are rows that follow from what was measured; nil where none do.
	More func(*record.Record) ([]record.Kernel, []plan.Job)
}

// KernelEngine runs hbm and kernels.
type KernelEngine struct {
	Host
	Tool record.Tool
	// Created is the time that the record carries.
	Created time.Time
	// Open opens the devices of a request.
	Open func(context.Context, spec.Spec) (*Kernels, error)
	// Watch begins a round of so many jobs, of which some are done already; nil watches
	// nothing.
	Watch func(total, done int) KernelWatcher
}

// KernelWatcher receives the progress of jobs, one part at a time.
type KernelWatcher interface {
	// First is every finished pass, Last the last one of a job.
	First(record.Part)
	Last(record.Part)
}

// Run measures the request into the folder, or resumes the run of old, and
// leaves the record there. The record is there with an error too, once the run has
// begun; before, the folder is given back.
func (e *KernelEngine) Run(ctx context.Context, want spec.Spec, dir *Folder, old *record.Journal) (*record.Record, error) {
	if old != nil && old.Left() == 0 && (!want.Kernels.Tune || len(old.Rounds) > 0) {
		e.note("The run in %s is complete; its report is rendered again.\n", dir.Path)
		return e.finish(dir, old.Record())
	}
	k, err := e.Open(ctx, want)
	if err == nil && len(want.Kernels.Only) > 0 {
		if err = k.keep(want.Kernels.Only); err != nil {
			err = errors.Join(err, k.Driver.Close())
		}
	}
	if err != nil {
		dir.Abandon()
		return nil, err
	}
	rec, err := e.measure(ctx, k, dir, old)
	if closing := k.Driver.Close(); err == nil && failedKernel(rec) == nil {
		err = closing
	}
	if rec == nil {
		dir.Abandon()
		return nil, err
	}
	if err != nil {
		if !errors.Is(err, ErrGone) { // else the path may be of another run's folder by now
			_, _ = e.finish(dir, rec) // as much as the disk takes; err says what happened
		}
		return rec, err
	}
	return e.finish(dir, rec)
}

func (e *KernelEngine) finish(dir *Folder, rec *record.Record) (*record.Record, error) {
	err := dir.Tidy()
	if err == nil {
		err = dir.WriteRecord(rec)
	}
	return rec, err
}

// record is everything that is known before the first result.
func (e *KernelEngine) record(k *Kernels) *record.Record {
	n := len(k.Facts.Devices)
	k.Spec.World = spec.World{Nodes: 1, GPUsPerNode: n, GPUsPerProcess: n}
	rec := &record.Record{
		Schema: record.Schema, Tool: e.Tool, Created: e.Created, Spec: &k.Spec, Kernels: k.Rows, Warnings: []record.Warning{},
		Source: record.Source{Kind: record.Measured, Backend: k.Spec.Backend, Clock: "monotonic", Driver: k.Facts.KernelDriver, Libraries: k.Facts.Libraries, Vendor: k.Vendor},
		World:  record.World{World: k.Spec.World, Ranks: n, GPU: k.Facts.Devices[0].Name, Devices: k.Facts.Devices},
	}
	switch k.Facts.Devices[0].Kind {
	case record.Checked:
		rec.Simulated, rec.Source.Kind, rec.Source.Clock, rec.Source.Driver = true, record.Emulated, "none", ""
	case record.OnLoopback:
		rec.Simulated, rec.Source.Kind, rec.Source.Clock, rec.Source.Driver = true, record.Simulated, "virtual", ""
	default:
		rec.Source.Environment = e.Environment
	}
	return rec
}

// measure runs the jobs, from the start or from where old ended, and returns the
// record as far as the run went; nil where it has not begun.
func (e *KernelEngine) measure(ctx context.Context, k *Kernels, dir *Folder, old *record.Journal) (*record.Record, error) {
	stop := context.AfterFunc(ctx, k.Driver.Cancel)
	defer stop()
	rec := e.record(k)
	entries := &record.Journal{Header: record.Header{Schema: record.JournalSchema, Record: *rec}}
	if old != nil {
		if err := sameRun(old.Header, entries.Header); err != nil {
			return nil, err
		}
		entries = old
	}
	j, err := NewJournal(dir, entries)
	if err != nil {
		return nil, err
	}
	failed, err := e.rounds(ctx, k, j)
	if closing := j.Close(); err == nil {
		err = closing
	}
	rec = j.Log.Record()
	if failed != "" {
		taken := plan.NewTaken(j.Log.Parts)
		for i, row := range rec.Kernels {
			rec.Kernels[i] = record.CutShortKernel(row, taken.Parts[row.Key], failed)
		}
	}
	return rec, err
}

// rounds runs the jobs, then those that follow from what they gave. failed is the key
// of a row that failed.
func (e *KernelEngine) rounds(ctx context.Context, k *Kernels, j *Journal) (failed string, err error) {
	if failed, err = e.take(ctx, k.Jobs, j); err != nil || failed != "" || ctx.Err() != nil || k.More == nil {
		return failed, err
	}
	first := *j.Log
	if len(first.Rounds) > 0 { // the next round follows from the first jobs alone
		first.Parts, first.Rounds = first.Parts[:first.Rounds[0].After], nil
	}
	rows, jobs := k.More(first.Record())
	switch {
	case len(rows) == 0:
		return "", nil
	case len(j.Log.Rounds) == 0:
		err = j.Add(record.AddedRound{Reason: record.Tuned, Kernels: rows, After: len(j.Log.Parts)})
	default:
		err = sameRows(j.Log.Rounds[0].Kernels, rows)
	}
	if err != nil {
		return "", err
	}
	return e.take(ctx, jobs, j)
}

// take runs what the journal does not have of the jobs.
func (e *KernelEngine) take(ctx context.Context, jobs []plan.Job, j *Journal) (failed string, err error) {
	taken := plan.NewTaken(j.Log.Parts)
	before, ofJob := make([]bool, len(jobs)), map[string]bool{}
	done := 0
	for i, job := range jobs {
		ofJob[job.Keys[0]] = true // one of its rows stands for all
		before[i] = !slices.ContainsFunc(job.Keys, func(key string) bool { return !record.Finished(record.Interrupted, taken.Parts[key]) })
		if before[i] {
			done++
		}
	}
	var w KernelWatcher
	if left := len(jobs) - done; left > 0 {
		e.note("%s to run, in two passes each. From the first pass on each line says about how long the rest takes.\n", plain.Count(left, "case"))
	}
	if e.Watch != nil {
		w = e.Watch(len(jobs), done)
	}
	err = taken.Run(ctx, jobs, func(part record.Part) error {
		if w != nil && ofJob[part.Key] {
			w.First(part)
		}
		return j.Append(part)
	}, func(i int) {
		if parts := taken.Parts[jobs[i].Keys[0]]; w != nil && !before[i] && len(parts) == record.Passes {
			w.Last(parts[record.Passes-1])
		}
	})
	return taken.Failed, err
}

// sameRun refuses to resume on another device or library: what was
// measured before could not be compared with the rest.
func sameRun(old, now record.Header) error {
	list := differences(old, now)
	names := func(h record.Header) string {
		var list []string
		for _, d := range h.Record.World.Devices {
			list = append(list, fmt.Sprintf("%d %s", d.Index, d.Name))
		}
		return strings.Join(list, ", ")
	}
	for _, x := range [][3]string{
		{"devices", names(old), names(now)},
		{"the vendor's products", old.Record.Source.Vendor, now.Record.Source.Vendor},
	} {
		if x[1] != x[2] {
			list = append(list, fmt.Sprintf("%s: was %s, is %s", x[0], x[1], x[2]))
		}
	}
	if len(list) > 0 {
		return exit.Usagef("start another run with --out", "the run was started on another device or library: %s", strings.Join(list, "; "))
	}
	return sameRows(old.Record.Kernels, now.Record.Kernels)
}

// sameRows refuses planned rows that are not those of the journal.
func sameRows(old, now []record.Kernel) error {
	for i := range max(len(old), len(now)) {
		if i < len(old) && i < len(now) {
			a, first := json.Marshal(old[i])
			b, second := json.Marshal(now[i])
			if first == nil && second == nil && string(a) == string(b) {
				continue
			}
		}
		return exit.With(exit.Run, fmt.Errorf("%s is inconsistent: its options give other rows on this machine than it plans, from row %d", JournalFile, i+1), "start another run in another folder (--out)")
	}
	return nil
}

// KernelVerdict is the error of a record of kernels, with its exit code; nil if all rows
// are ok.
func KernelVerdict(rec *record.Record, dir string) error {
	count := map[record.Status]int{}
	for _, k := range rec.Kernels {
		count[k.Status]++
	}
	if i := slices.IndexFunc(rec.Kernels, func(k record.Kernel) bool { return k.Status == record.WrongData }); i >= 0 {
		k := rec.Kernels[i]
		return exit.With(exit.WrongData, fmt.Errorf("wrong data: %s on device %d: %s", k.Case(), k.Device, k.Reason), "do not use its figures; "+k.Verified.Hint())
	}
	if k := failedKernel(rec); k != nil {
		return exit.With(exit.Run, fmt.Errorf("%s failed: %s", k.Case(), k.Reason), "cases before it are saved; to run the rest: "+ResumeCommand(rec, dir))
	}
	if count[record.Interrupted] > 0 {
		return exit.With(exit.Interrupted, fmt.Errorf("interrupted: %d of %d cases finished; they are saved", count[record.OK], len(rec.Kernels)), "resume with: "+ResumeCommand(rec, dir))
	}
	return nil
}

// failedKernel is the first row that failed, nil when none did.
func failedKernel(rec *record.Record) *record.Kernel {
	if rec == nil {
		return nil
	}
	for i := range rec.Kernels {
		if rec.Kernels[i].Status == record.Failed {
			return &rec.Kernels[i]
		}
	}
	return nil
}

// Command is that of a benchmark, behind "zbench ".
func Command(benchmark string) string {
	switch benchmark {
	case "", spec.Collectives:
		return spec.Collectives
	case spec.HBM:
		return spec.HBM
	}
	return "kernels " + benchmark
}
