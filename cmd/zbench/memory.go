package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"zbench/bench/engine"
	"zbench/bench/exit"
	"zbench/bench/memory"
	"zbench/bench/plain"
	"zbench/bench/record"
	"zbench/hbm"
	"zbench/internal/native"
	"zbench/report"
)

// memoryOptions are what hbm and kernels share.
type memoryOptions struct {
	backend            string
	device             int
	allGPUs            bool
	precision, maxTime float64
	seed               uint64
	peak               float64
	faults             []string
	out, format        string
	force, quiet       bool
	libraries          libraryOptions
}

func addMemoryFlags(cmd *cobra.Command, o *memoryOptions) {
	f := cmd.Flags()
	f.StringVar(&o.backend, "backend", "auto", "libraries underneath: auto, "+strings.Join(native.Backends(), ", "))
	f.IntVar(&o.device, "device", 0, "index of the GPU")
	f.BoolVar(&o.allGPUs, "all-gpus", false, "all GPUs of this machine at once; outliers are named")
	f.Float64Var(&o.precision, "precision", 0.01, "end a timing when half the 95 % interval is within this part of the median")
	f.Float64Var(&o.maxTime, "max-time", 1, "end a timing after so many seconds")
	f.Uint64Var(&o.seed, "seed", 1, "seed of the data")
	f.Float64Var(&o.peak, "peak", 0, "the memory's peak in GB/s, instead of the published one")
	f.StringArrayVar(&o.faults, "fault", nil, "plant a fault into the loopback: \"store 0 BYTE\" flips a bit of that byte of the output after each launch")
	f.StringVar(&o.out, "out", "", "folder to make and fill (default a new dated one)")
	memoryDocument.flag(f, &o.format)
	f.BoolVar(&o.force, "force", false, "write into a folder that holds files")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "no progress on standard error")
	addLibraryFlags(cmd, &o.libraries)
}

// maxPeak is beyond any memory, in GB/s.
const maxPeak = 1e9

// memoryRun is a run under way.
type memoryRun struct {
	s       State
	o       memoryOptions
	driver  *hbm.Driver
	rec     *memory.Record
	dir     *engine.Folder
	journal engine.AppendFile
	started time.Time
	ctx     context.Context //nolint:containedctx // of one command
	done    int
}

// open checks the options and opens the devices. streams: the loopback is the
// host on the wall clock; else, for the norms, it checks results alone.
func (o memoryOptions) open(ctx context.Context, s State, command, help string, streams bool) (*memoryRun, error) {
	if err := o.check(help); err != nil {
		return nil, err
	}
	backend, err := o.libraries.choose(s, o.backend)
	if err != nil {
		return nil, err
	}
	loopback := backend == "loopback"
	if err := o.checkFaults(loopback); err != nil {
		return nil, err
	}
	cfg := hbm.Config{
		Native: native.Options{Backend: backend, Getenv: s.Getenv}, Seed: o.seed, Warm: hbm.DefaultWarm, Peak: o.peak * 1e9,
		Devices: []int{o.device}, All: o.allGPUs, Host: loopback && streams, Norms: !streams, HostFacts: hostFacts(s),
	}
	if loopback {
		cfg.Native.Machine = hbm.HostMachine(streams, o.faults, cfg.HostFacts)
	}
	cache, err := o.libraries.fill(ctx, s, &cfg.Native)
	if err != nil {
		return nil, err
	}
	m := &memoryRun{s: s, o: o, started: s.Now()}
	if m.driver, err = hbm.Open(cfg); err != nil {
		switch {
		case errors.Is(err, hbm.ErrDevice):
			err = usage(err, help)
		case errors.Is(err, native.ErrMachine) && len(o.faults) > 0:
			err = usage(err, `give --fault "store 0 BYTE"`)
		}
		return nil, err
	}
	if !loopback {
		o.libraries.tell(s, cache)
	}
	if err := m.start(command, backend); err != nil {
		m.close()
		return nil, err
	}
	return m, nil
}

// check refuses options that no run can have, before anything is opened.
func (o memoryOptions) check(help string) error {
	if err := memoryDocument.check(o.format, help); err != nil {
		return err
	}
	rule := o.rule()
	if err := rule.Validate(); err != nil {
		return usage(err, help)
	}
	if rule.MaxTime == 0 {
		return usagef(help, "--max-time must be positive")
	}
	if !(o.peak >= 0 && o.peak <= maxPeak) {
		return usagef("give the published peak, as 5300", "--peak %g: the memory's peak in GB/s is a number from 0 to %g", o.peak, maxPeak)
	}
	if o.allGPUs && o.device != 0 {
		return usagef(help, "give either --device or --all-gpus")
	}
	return nil
}

// start makes the record of a run whose devices are open.
func (m *memoryRun) start(command, backend string) error {
	when, err := created(m.s)
	if err != nil {
		return err
	}
	m.rec = &memory.Record{
		Schema: memory.Schema, Tool: tool(), Command: command, Created: when, Devices: m.driver.Devices(),
		Source: record.Source{Kind: record.Measured, Backend: backend, Clock: "monotonic"}, Warnings: []record.Warning{},
	}
	switch m.rec.Devices[0].Kind {
	case memory.Checked:
		m.rec.Source.Kind, m.rec.Source.Clock = memory.Checked, "none"
	case memory.Simulated:
		m.rec.Source.Kind, m.rec.Source.Clock = record.Simulated, "virtual"
	}
	for _, l := range m.driver.Libraries() {
		m.rec.Source.Libraries = append(m.rec.Source.Libraries, record.Library{Name: l.Name, Version: l.Version, Path: l.Path})
	}
	return nil
}

func (m *memoryRun) close() {
	_ = m.dir.Close()
	_ = m.driver.Close() // what was measured is saved before
}

// begin makes the folder and the journal: a line with what is planned, then a
// line for each result as soon as it is there.
func (m *memoryRun) begin(ctx context.Context) error {
	m.ctx = ctx
	context.AfterFunc(ctx, m.driver.Cancel)
	dir, err := engine.NewFolder(m.s.host(m.o.quiet), m.o.out, m.rec.Command, m.o.force)
	if err != nil {
		return err
	}
	m.dir = dir
	text, err := memory.HeaderLine(m.rec)
	if err != nil {
		return err
	}
	if err := dir.Put(engine.JournalFile, text); err != nil {
		return err
	}
	m.journal, err = m.s.FS.Append(dir.File(engine.JournalFile))
	return err
}

// run measures one case and makes its results durable. After a cancellation it
// does nothing: what was planned stays interrupted.
func (m *memoryRun) run(key string, measure func() ([]memory.Result, error)) error {
	if m.ctx.Err() != nil {
		return nil
	}
	if !m.o.quiet && m.s.Stderr.IsTTY {
		_, _ = fmt.Fprintf(m.s.Stderr.own(), "%s%d  %s", clearLine, m.done+1, plain.Text(key))
	}
	results, err := measure()
	if m.ctx.Err() != nil {
		return nil //nolint:nilerr // the cancellation is the verdict's to tell
	}
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	m.done++
	for _, r := range results {
		line, err := r.Line()
		if err == nil {
			_, err = m.journal.Write(line)
		}
		if err == nil {
			err = m.journal.Sync()
		}
		switch {
		case errors.Is(err, engine.ErrGone):
			return m.dir.Gone()
		case err != nil:
			return exit.With(exit.Run, fmt.Errorf("%s cannot be written: %w", m.dir.File(engine.JournalFile), err), "what was measured before is in it")
		}
		m.keep(r)
	}
	return nil
}

// keep puts a result in its planned place, or behind all.
func (m *memoryRun) keep(r memory.Result) {
	for i := range m.rec.Results {
		if m.rec.Results[i].Key == r.Key && m.rec.Results[i].Device == r.Device {
			m.rec.Results[i] = r
			return
		}
	}
	m.rec.Results = append(m.rec.Results, r)
}

// finish draws the record and gives its verdict.
func (m *memoryRun) finish() error {
	if m.s.Stderr.IsTTY && !m.o.quiet {
		_, _ = fmt.Fprint(m.s.Stderr.own(), clearLine)
	}
	if err := m.journal.Close(); err != nil {
		return err
	}
	m.rec.Warnings = append(m.rec.Warnings, m.rec.Outliers()...)
	if err := m.dir.Write(engine.ResultsFile, func(w io.Writer) error { return memory.Encode(w, m.rec) }); err != nil {
		return err
	}
	if err := drawMemory(m.dir, m.rec, "zbench "+strings.Join(m.s.Args, " ")); err != nil {
		return err
	}
	if err := writeRun(m.dir, m.s, m.started); err != nil {
		return err
	}
	if _, err := memoryDocument.print(m.s, m.o.format, m.rec); err != nil {
		return err
	}
	m.s.note(m.o.quiet, "Wrote %s (report.html, results.json, results.csv)\n", m.dir.Path)
	return memoryVerdict(m.rec)
}

// drawMemory writes what can be made again of a record.
func drawMemory(dir *engine.Folder, rec *memory.Record, command string) error {
	if err := dir.Write("results.csv", func(w io.Writer) error { return memory.WriteCSV(w, rec) }); err != nil {
		return err
	}
	return dir.Write("report.html", func(w io.Writer) error { return report.WriteHTML(w, report.Memory(rec, command)) })
}
