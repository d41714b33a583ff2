package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"zbench/bench/plan"
	"zbench/bench/record"
	"zbench/bench/stat"
	"zbench/internal/native"
)

// kernelOptions are what hbm and the commands of kernels share.
type kernelOptions struct {
	asked       record.Asked
	out, format string
	force       bool
	quiet       bool
	libraries   libraryOptions
	// resume is the folder of a run to go on with.
	resume string
}

// addKernelFlags puts the shared flags on a command whose timings end after so many
// seconds.
func addKernelFlags(cmd *cobra.Command, o *kernelOptions, maxTime float64) {
	f, a := cmd.Flags(), &o.asked
	f.StringVar(&a.Backend, "backend", "auto", "libraries underneath: auto, "+strings.Join(native.Backends(), ", "))
	f.IntVar(&a.Device, "device", 0, "index of the GPU")
	f.Float64Var(&a.Precision, "precision", 0.01, "end a timing when half the 95 % interval is within this part of the median")
	f.Float64Var(&a.MaxTime, "max-time", maxTime, "end a timing after so many seconds")
	f.Uint64Var(&a.Seed, "seed", 1, "seed of the data")
	f.StringVar(&o.out, "out", "", "folder to make and fill (default a new dated one)")
	f.StringVar(&o.format, "format", "table", "form of standard output: "+strings.Join(formatNames(), ", "))
	f.BoolVar(&o.force, "force", false, "write into a folder that holds files")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "no progress on standard error")
	f.StringVar(&o.resume, "resume", "", "go on with the run that this folder holds, with its own options")
	addLibraryFlags(cmd, &o.libraries)
}

// rule is the stopping rule that was asked for.
func (o kernelOptions) rule() stat.Rule {
	r := stat.DefaultRule()
	r.Precision, r.MaxTime, r.MinSamples = o.asked.Precision, o.asked.MaxTime, 20
	return r
}

// kernelBench is what a command of kernels has of its own.
type kernelBench struct {
	// name is the record's benchmark, help where the flags are listed.
	name, help string
	// check refuses options that no run can have, and brings them to one form; what
	// a resumed run may leave out is checked by open.
	check func(*kernelOptions) error
	// open opens the devices and plans the rows; it fills in the options that follow
	// from the devices.
	open func(context.Context, State, *kernelOptions) (*kernelDevices, error)
}

// kernelDevices are devices that are open, and what is to be measured on them.
type kernelDevices struct {
	driver interface {
		Cancel()
		Close() error
		Libraries() []native.Library
	}
	devices []record.Device
	vendor  string
	rows    []record.Kernel
	jobs    []plan.Job
	// more are further rows that follow from what was measured; nil where none do.
	more func(*record.Record) ([]record.Kernel, []plan.Job)
}

// kernelRun is a run under way.
type kernelRun struct {
	s       State
	o       kernelOptions
	bench   kernelBench
	dir     *folder
	journal *journal
	started time.Time
}

// run measures into a new folder, or goes on with the run of an old one.
func (b kernelBench) run(cmd *cobra.Command, s State, o kernelOptions) error {
	ctx, started := cmd.Context(), s.Now()
	if err := checkFormat(o.format); err != nil {
		return err
	}
	err := b.check(&o)
	if err != nil {
		return err
	}
	var old *record.Journal
	if cmd.Flags().Changed("resume") {
		if old, err = b.resumed(cmd, s, &o); err != nil {
			return err
		}
	}
	r := &kernelRun{s: s, o: o, bench: b, started: started}
	if old != nil && old.Left() == 0 && (!o.asked.Tune || len(old.Further) > 0) {
		s.note(o.quiet, "The run in %s is complete; it is drawn again.\n", o.resume)
		r.dir = &folder{fs: s.FS, path: o.resume}
		return r.finish(old.Record())
	}
	if r.o.asked.Backend, err = o.libraries.choose(s, o.asked.Backend); err != nil {
		return err
	}
	d, err := b.open(ctx, s, &r.o)
	if err != nil {
		return err
	}
	rec, err := r.measure(ctx, d, old)
	if closing := d.driver.Close(); err == nil && failedKernel(rec) == nil {
		err = closing
	}
	if err != nil {
		return err
	}
	return r.finish(rec)
}

// record is everything that is known before the first result.
func (r *kernelRun) record(d *kernelDevices) (*record.Record, error) {
	when, err := created(r.s)
	if err != nil {
		return nil, err
	}
	rec := &record.Record{
		Schema: record.Schema, Tool: tool(), Created: when, Benchmark: r.bench.name, Asked: &r.o.asked, Kernels: d.rows, Warnings: []record.Warning{},
		Source: record.Source{Kind: record.Measured, Backend: r.o.asked.Backend, Clock: "monotonic", Vendor: d.vendor},
		World:  record.World{Nodes: 1, Ranks: len(d.devices), GPUsPerNode: len(d.devices), GPUsPerProcess: len(d.devices), GPU: d.devices[0].Name, Devices: d.devices},
	}
	switch d.devices[0].Kind {
	case record.Checked:
		rec.Simulated, rec.Source.Kind, rec.Source.Clock = true, record.Emulated, "none"
	case record.OnLoopback:
		rec.Simulated, rec.Source.Kind, rec.Source.Clock = true, record.Simulated, "virtual"
	default:
		rec.Source.Driver = driverVersion(r.s, r.o.asked.Backend)
	}
	for _, l := range d.driver.Libraries() {
		rec.Source.Libraries = append(rec.Source.Libraries, record.Library{Name: l.Name, Version: l.Version, Path: l.Path})
	}
	return rec, nil
}

// measure runs the jobs, from the start or from where old ended, and returns the
// record as far as the run went.
func (r *kernelRun) measure(ctx context.Context, d *kernelDevices, old *record.Journal) (*record.Record, error) {
	stop := context.AfterFunc(ctx, d.driver.Cancel)
	defer stop()
	rec, err := r.record(d)
	if err != nil {
		return nil, err
	}
	entries := &record.Journal{Header: record.Header{Schema: record.JournalSchema, Record: *rec}}
	if old != nil {
		if err := sameRun(old.Header.Record, *rec); err != nil {
			return nil, err
		}
		entries = old
		r.dir = &folder{fs: r.s.FS, path: r.o.resume}
	} else if r.dir, err = newFolder(r.s, r.o.out, r.bench.name, r.o.force); err != nil {
		return nil, err
	}
	if r.journal, err = newJournal(r.dir, entries); err != nil {
		return nil, err
	}
	failed, err := r.rounds(ctx, d)
	err = errors.Join(err, r.journal.file.Close())
	rec = r.journal.log.Record()
	if failed != "" {
		taken := plan.NewTaken(r.journal.log.Parts)
		for i, k := range rec.Kernels {
			rec.Kernels[i] = record.CutShortKernel(k, taken.Parts[k.Key], failed)
		}
	}
	return rec, err
}

// rounds runs the jobs, then those that follow from what they gave. failed is the key
// of a row that failed.
func (r *kernelRun) rounds(ctx context.Context, d *kernelDevices) (failed string, err error) {
	if failed, err = r.take(ctx, d.jobs); err != nil || failed != "" || ctx.Err() != nil || d.more == nil {
		return failed, err
	}
	log := r.journal.log
	first := *log
	first.Further = nil
	rows, jobs := d.more(first.Record())
	if len(rows) == 0 {
		return "", nil
	}
	if len(log.Further) == 0 {
		err = r.journal.add(record.Further{Why: record.Tuned, Kernels: rows, After: len(log.Parts)})
	} else {
		err = sameRows(log.Further[0].Kernels, rows)
	}
	if err != nil {
		return "", err
	}
	return r.take(ctx, jobs)
}

// take runs what the journal does not have of the jobs.
func (r *kernelRun) take(ctx context.Context, jobs []plan.Job) (failed string, err error) {
	taken := plan.NewTaken(r.journal.log.Parts)
	p := newProgress(r.s, len(jobs), r.o.quiet)
	before, first := make([]bool, len(jobs)), map[string]bool{}
	for i, j := range jobs {
		first[j.Keys[0]] = true
		before[i] = !slices.ContainsFunc(j.Keys, func(key string) bool { return !record.Finished(record.Interrupted, taken.Parts[key]) })
		if before[i] {
			p.before++
		}
	}
	p.done = p.before
	err = taken.Run(ctx, jobs, func(part record.Part) error {
		if first[part.Key] {
			p.pass(part)
		}
		return r.journal.append(part)
	}, func(i int) {
		// what its first pass ended was told by then, and the verdict names it
		if parts := taken.Parts[jobs[i].Keys[0]]; !before[i] && len(parts) == record.Passes {
			last := parts[record.Passes-1]
			p.ended(strings.TrimSuffix(last.Key, "@0"), strings.TrimSuffix(string(last.Status)+": "+last.Reason, ": "))
		}
	})
	return taken.Failed, err
}

// finish leaves the record with all that is drawn from it, prints it and gives its
// verdict.
func (r *kernelRun) finish(rec *record.Record) error {
	if r.s.Stderr.IsTTY && !r.o.quiet {
		_, _ = fmt.Fprint(r.s.Stderr.own(), clearLine)
	}
	if err := r.s.FS.RemoveTemporary(r.dir.path); errors.Is(err, fs.ErrNotExist) {
		return r.dir.gone()
	} else if err != nil {
		return err
	}
	if err := r.dir.write("results.json", func(w io.Writer) error { return record.Encode(w, rec) }); err != nil {
		return err
	}
	if err := drawKernels(r.dir, rec); err != nil {
		return err
	}
	if err := writeRun(r.dir, r.s, r.started); err != nil {
		return err
	}
	if err := printKernels(r.s.Stdout, rec, r.o.format); err != nil {
		return err
	}
	r.s.note(r.o.quiet, "Wrote %s (report.html, results.json, results.csv)\n", r.dir.path)
	return kernelVerdict(rec, r.dir.path)
}

// kernelVerdict is the exit code that a record of kernels earns.
func kernelVerdict(rec *record.Record, dir string) error {
	count := map[record.Status]int{}
	for _, k := range rec.Kernels {
		count[k.Status]++
	}
	if i := slices.IndexFunc(rec.Kernels, func(k record.Kernel) bool { return k.Status == record.WrongData }); i >= 0 {
		k := rec.Kernels[i]
		return &codeError{exitWrongData, fmt.Errorf("wrong data: %s on device %d: %s", k.Case(), k.Device, k.Reason), "its figures are not to be trusted; run it again, then look at the memory's error counters"}
	}
	if k := failedKernel(rec); k != nil {
		return &codeError{exitRun, fmt.Errorf("%s failed: %s", k.Case(), k.Reason), "what finished before it is saved; what came after it: " + resumeWith(rec, dir)}
	}
	if count[record.Interrupted] > 0 {
		return &codeError{exitInterrupted, fmt.Errorf("interrupted: %d of %d cases finished; all that was measured is saved", count[record.OK], len(rec.Kernels)), "go on with: " + resumeWith(rec, dir)}
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

// resumed reads the run that o.resume holds and takes its options over. What was
// given anew and differs is an error that names it.
func (b kernelBench) resumed(cmd *cobra.Command, s State, o *kernelOptions) (*record.Journal, error) {
	if o.resume == "" { // a script's empty variable is no reason to begin another
		return nil, usagef("give the folder of the run to go on with", "--resume is empty")
	}
	path := filepath.Join(o.resume, journalFile)
	text, err := s.FS.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, usagef("a folder that zbench "+commandOf(b.name)+" made has one", "%s does not exist: there is nothing to go on with", path)
	}
	if err != nil {
		return nil, unreadable(s, path, err, "begin the run anew in another folder (--out)")
	}
	old, err := readJournal(path, text)
	if err != nil {
		return nil, err
	}
	rec := &old.Header.Record
	if rec.Benchmark != b.name || rec.Asked == nil {
		return nil, usagef(resumeWith(rec, o.resume)+" goes on with it", "%s holds no run of zbench %s", o.resume, commandOf(b.name))
	}
	if clash := clashes(cmd, &o.asked, rec.Asked); len(clash) > 0 {
		return nil, usagef("leave them out: the run goes on with its own options; or begin another one with --out",
			"the run in %s was begun with %s", o.resume, strings.Join(clash, "; "))
	}
	o.asked = *rec.Asked
	return old, nil
}

// sameRun refuses to go on where the run was begun on something else: what was
// measured before could not be compared with the rest.
func sameRun(old, now record.Record) error {
	var list []string
	for _, x := range []struct {
		what     string
		old, now any
	}{
		{"zbench", old.Tool.Version, now.Tool.Version},
		{"backend", old.Source.Backend, now.Source.Backend},
		{"libraries", libraries(old), libraries(now)},
		{"the vendor's products", old.Source.Vendor, now.Source.Vendor},
		{"devices", deviceNames(old), deviceNames(now)},
	} {
		if !reflect.DeepEqual(x.old, x.now) {
			list = append(list, fmt.Sprintf("%s: was %v, is %v", x.what, x.old, x.now))
		}
	}
	if len(list) > 0 {
		return usagef("begin another one with --out", "the run was begun on something else: %s", strings.Join(list, "; "))
	}
	return sameRows(old.Kernels, now.Kernels)
}

func deviceNames(rec record.Record) string {
	var list []string
	for _, d := range rec.World.Devices {
		list = append(list, fmt.Sprintf("%d %s", d.Index, d.Name))
	}
	return strings.Join(list, ", ")
}

// sameRows refuses planned rows that are not those of the journal.
func sameRows(old, now []record.Kernel) error {
	const hint = "begin another run in another folder (--out)"
	if len(old) != len(now) {
		return &codeError{exitRun, fmt.Errorf("%s plans %d rows, and its options make %d", journalFile, len(old), len(now)), hint}
	}
	for i := range old {
		a, err := json.Marshal(old[i])
		if err != nil {
			return err
		}
		if b, err := json.Marshal(now[i]); err != nil || string(a) != string(b) {
			return &codeError{exitRun, fmt.Errorf("%s plans another row %s than its options make on this machine", journalFile, old[i].Key), hint}
		}
	}
	return nil
}
