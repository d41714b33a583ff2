package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"zbench/bench/base/exit"
	"zbench/bench/base/folder"
	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/base/stat"
	"zbench/bench/run/plan"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
	"zbench/bench/work/kernel"
)

// Driver controls the open devices.
type Driver interface {
	// Cancel makes runs return soon; other goroutines may call it.
	Cancel()
	Close() error
}

// Kernels holds open devices and their planned measurements.
type Kernels struct {
	Driver Driver
	// Spec is the request with the values that follow from the devices.
	Spec spec.Spec
	// Facts describes the devices; Vendor is the record's Source.Vendor.
	Facts  Facts
	Vendor string
	// Rows are the planned rows; Jobs measure them.
	Rows []record.Kernel
	Jobs []plan.Job
	// More returns rows that follow from measured rows, with their jobs; nil if none can follow.
	More func(*record.Record) ([]record.Kernel, []plan.Job)
}

// Close closes the devices.
func (k *Kernels) Close() error { return k.Driver.Close() }

// Estimate returns the number of cases, and the longest time that their timings may take, as two
// lines. more is the factor by which there are more GPUs than opened ones.
func (k *Kernels) Estimate(more int) string {
	cases := len(slice.Distinct(slice.Map(k.Rows, func(r record.Kernel) string { return r.Job() })))
	e := plan.Estimate{Seconds: plan.Span{High: float64(cases) * k.Spec.Kernels.MaxTime}, Ranks: more * len(k.Facts.Devices)}
	kind := k.Facts.Devices[0].Kind
	text := e.Spent(kind == record.OnLoopback)
	switch kind {
	case record.Checked:
		text = "Their results are checked on the host, not timed: 0 GPU-hours.\n"
	case record.HostMemory:
		text = "They time the host's memory: 0 GPU-hours.\n"
	}
	return plain.Count(cases, "case") + " to run, in two passes each.\n" + text
}

// record returns the record of the kernels before the first result.
func (k *Kernels) record(e *Engine) *record.Record {
	n, nodes := len(k.Facts.Devices), max(1, len(k.Facts.Hosts))
	k.Spec.World = spec.World{Nodes: nodes, GPUsPerNode: n / nodes, GPUsPerProcess: n / nodes}
	times := record.Measured
	switch k.Facts.Devices[0].Kind {
	case record.Checked:
		times = record.Emulated
	case record.OnLoopback:
		times = record.Simulated
	}
	rec := e.record(&k.Spec, k.Facts, times)
	rec.Kernels, rec.Source.Vendor, rec.World.GPU = k.Rows, k.Vendor, k.Facts.Devices[0].Name
	return rec
}

// measure runs the jobs from the start, or from the end of the journal old.
func (k *Kernels) measure(ctx context.Context, e *Engine, u *Setup, dir *folder.Folder, old *record.Journal) (*Outcome, error) {
	stop := context.AfterFunc(ctx, k.Driver.Cancel)
	defer stop()
	entries := &record.Journal{Header: record.Header{Schema: record.JournalSchema, Record: *k.record(e)}}
	if old != nil {
		if err := sameRun(old.Header, entries.Header); err != nil {
			return nil, err
		}
		entries = old
	}
	return u.into(dir, entries, func(j *Journal) (record.End, error) { return k.rounds(ctx, e, j) })
}

// rounds runs the jobs, then the further jobs that follow from their results.
func (k *Kernels) rounds(ctx context.Context, e *Engine, j *Journal) (how record.End, err error) {
	if how, err = e.take(ctx, k.Jobs, j); err != nil || how.Failed != "" || ctx.Err() != nil || k.More == nil {
		return how, err
	}
	first := *j.Log
	if len(first.Rounds) > 0 { // the next round depends only on the results of the first jobs
		first.Parts, first.Rounds = first.Parts[:first.Rounds[0].After], nil
	}
	rows, jobs := k.More(first.Record())
	switch {
	case len(rows) == 0:
		return how, nil
	case len(j.Log.Rounds) == 0:
		err = j.Add(record.AddedRound{Reason: record.Tuned, Kernels: rows, After: len(j.Log.Parts)})
	default:
		err = sameRows(j.Log.Rounds[0].Kernels, rows)
	}
	if err != nil {
		return how, err
	}
	return e.take(ctx, jobs, j)
}

// take runs the jobs that the journal lacks.
func (e *Engine) take(ctx context.Context, jobs []plan.Job, j *Journal) (how record.End, err error) {
	taken := plan.NewTaken(j.Log.Parts)
	before, ofJob := make([]bool, len(jobs)), map[string]bool{}
	done := 0
	for i, job := range jobs {
		ofJob[job.Keys[0]] = true // the passes of the first row show the job's progress
		before[i] = !slices.ContainsFunc(job.Keys, func(key string) bool { return !record.Finished(record.Interrupted, taken.Parts[key]) })
		if before[i] {
			done++
		}
	}
	if left := len(jobs) - done; left > 0 {
		e.Say("%s to run, in two passes each.\n", plain.Count(left, "case"))
	}
	w := e.Watch(len(jobs), done)
	err = taken.Run(ctx, jobs, func(part record.Part) error {
		if ofJob[part.Key] {
			w.First(part)
		}
		return j.Append(part)
	}, func(i int) {
		if parts := taken.Parts[jobs[i].Keys[0]]; !before[i] && len(parts) == record.Passes {
			w.Last(parts[record.Passes-1])
		}
	})
	return taken.End, err
}

// sameRun refuses to resume on another device or library, because earlier measurements could not be
// compared with the rest.
func sameRun(old, now record.Header) error {
	list := differences(old, now)
	names := func(h record.Header) string {
		return strings.Join(slice.Map(h.Record.World.Devices, func(d record.Device) string { return fmt.Sprintf("%d %s", d.Index, d.Name) }), ", ")
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

// sameRows refuses planned rows that differ from the rows of the journal.
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

// keep keeps the jobs that measure at least one row with these keys. It drops all other jobs and their
// rows.
func (k *Kernels) keep(keys []string) error {
	kept := map[string]bool{}
	k.Jobs = slices.DeleteFunc(k.Jobs, func(j plan.Job) bool {
		wanted := slices.ContainsFunc(j.Keys, func(key string) bool { return slices.Contains(keys, key) })
		for _, key := range j.Keys {
			kept[key] = wanted
		}
		return !wanted
	})
	k.Rows = slices.DeleteFunc(k.Rows, func(r record.Kernel) bool { return !kept[r.Key] })
	k.More = nil // further rows depend on the results of all rows
	if len(k.Jobs) == 0 {
		return exit.With(exit.Usage, fmt.Errorf("none of the rows that the request names is there: %s", keys[0]), "a request for other devices or another size has other rows")
	}
	return nil
}

// giga is the unit of --peak. MaxPeak is larger than the bandwidth of any memory, in bytes per second.
const (
	giga    = 1e9
	MaxPeak = 1e18
)

// KernelRule is the stopping rule of a request of hbm or a kernel.
func KernelRule(k *spec.Kernels) stat.Rule {
	r := stat.DefaultRule()
	r.Precision, r.MaxTime, r.MinSamples = k.Precision, k.MaxTime, 20
	return r
}

// CheckKernels refuses an invalid request of hbm or a kernel. The driver checks the kernels' names
// and sizes.
func CheckKernels(want *spec.Spec) error {
	k, help := want.Kernels, "zbench "+spec.Command(want.Benchmark)+" --help-all lists the flags"
	rule := KernelRule(k)
	if err := rule.Validate(); err != nil {
		return exit.UsageError(err, help)
	}
	switch {
	case rule.MaxTime == 0:
		return exit.Usagef(help, "--max-time must be positive")
	case !(k.Peak <= MaxPeak):
		return exit.Usagef("give the published peak, for example 5300", "--peak is %g: the memory's peak in GB/s must be a number from 0 to %g", k.Peak/giga, MaxPeak/giga)
	case k.AllGPUs && k.Device != 0:
		return exit.Usagef(help, "give either --device or --all-gpus")
	}
	if lacks := kernel.Of(want.Benchmark).Lacks; lacks != nil && lacks(k) != "" {
		return exit.Usagef(help, "%s", lacks(k))
	}
	return nil
}
