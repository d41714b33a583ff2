package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"zbench/bench/base/exit"
	"zbench/bench/base/folder"
	"zbench/bench/base/slice"
	"zbench/bench/run/plan"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
)

// ReadFolder reads the journal from the folder of a sweep to resume.
func ReadFolder(files folder.FS, dir string) (*record.Journal, error) {
	path := filepath.Join(dir, JournalFile)
	text, err := files.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, exit.Usagef("give a folder that zbench wrote", "%s does not exist: there is no sweep to resume", path)
	}
	if err != nil {
		return nil, folder.Unreadable(files, path, err, "start a new sweep in another folder (--out)")
	}
	return ReadJournal(path, text)
}

// Continue prepares to resume a run: it locks the run's folder and reads the journal. The journal must
// belong to the benchmark. If the folder is not nil, the caller must close it, even after an error.
func Continue(h folder.Host, path, benchmark string) (*folder.Folder, *record.Journal, error) {
	if _, err := ReadRun(h.FS, path, ""); err != nil {
		return nil, nil, err
	}
	dir, err := folder.Open(h, path)
	if err != nil {
		return nil, nil, err
	}
	old, err := ReadRun(h.FS, path, benchmark) // read again, because from now on no other process writes it
	return dir, old, err
}

// ReadRun reads the journal of a run to resume from its folder. The journal must belong to the benchmark;
// an empty benchmark accepts any journal.
func ReadRun(files folder.FS, path, benchmark string) (*record.Journal, error) {
	if path == "" { // a script's empty variable is no reason to start another run
		return nil, exit.Usagef("give the folder of the run to resume", "--resume is empty")
	}
	old, err := ReadFolder(files, path)
	if err == nil && benchmark != "" && old.Header.Record.Benchmark() != benchmark {
		err = exit.Usagef(old.Header.Record.ResumeCommand(path)+" resumes it", "%s does not hold a run of zbench %s", path, spec.Command(benchmark))
	}
	return old, err
}

// Resume continues the run of a journal according to the request. A complete sweep is extended if the
// bucket size needs more sizes; otherwise Resume returns the journal's outcome.
func (e *Engine) Resume(ctx context.Context, want spec.Spec, old *record.Journal, dir *folder.Folder) (*Outcome, error) {
	u, unfit := prepare(want, true, e.Launched)
	left, err := e.left(u, unfit, old)
	if err != nil {
		return nil, err
	}
	if left {
		return e.run(ctx, u, dir, old)
	}
	what := "sweep"
	if want.Kernels != nil {
		what = "run"
	}
	e.Say("The %s in %s is complete; its report is rendered again.\n", what, dir.Path)
	if u == nil {
		u = &Setup{Spec: want} // this version cannot run the request; it only renders the journal
	}
	out := &Outcome{Setup: u, Journal: old, Record: old.Record()}
	return out, e.finish(dir, out)
}

// Method left reports whether a journal's run has something left to measure. The argument unfit is the
// reason why the request cannot be run. It is returned only if something is left.
func (e *Engine) left(u *Setup, unfit error, old *record.Journal) (bool, error) {
	switch {
	case old.Left() > 0 || e.Force:
		return true, unfit
	case unfit != nil:
		return false, nil
	case u.Spec.Kernels != nil:
		return u.Spec.Kernels.Tune && len(old.Rounds) == 0, nil
	}
	more, err := u.nextRound(old, anyRoom)
	return more != nil, err
}

// continued compares a journal's header with the header of the resuming sweep. If they differ, earlier
// and later cases cannot be compared. Then continued returns an error; with force it keeps the finished
// cases and adds a warning.
func continued(old *record.Journal, now record.Header, force bool) (*record.Journal, error) {
	changes := differences(old.Header, now)
	if len(changes) == 0 {
		header := old.Header
		header.Record.Spec = now.Record.Spec // the requested advice may differ
		return &record.Journal{Header: header, Parts: old.Parts, Rounds: old.Rounds}, nil
	}
	list := strings.Join(changes, "; ")
	if !force {
		return nil, exit.UsageError(fmt.Errorf("the sweep was started with other hardware or libraries: %s", list),
			"start another sweep with --out, or continue with --force: finished cases are kept")
	}
	kept := old.FinishedParts()
	now.Record.Run = old.Header.Record.Run
	planned := map[string]int{}
	for i, r := range now.Record.Results {
		planned[r.Key] = i
	}
	for _, r := range old.Planned() {
		if !slices.ContainsFunc(kept, func(p record.Part) bool { return p.Key == r.Key }) {
			continue
		}
		if i, again := planned[r.Key]; again {
			now.Record.Results[i].Status, now.Record.Results[i].Reason = r.Status, r.Reason // the case has a result, although it would be skipped now
		} else {
			now.Record.Results = append(now.Record.Results, r)
		}
	}
	now.Record.Warnings = append(slices.Clone(old.Header.Record.Warnings), record.Warning{
		Code: "resumed", Message: fmt.Sprintf("the sweep was resumed after a change; %d passes are from before the change: %s", len(kept), list),
		Hint: "do not compare cases from before and after the change",
	})
	return &record.Journal{Header: now, Parts: kept}, nil
}

// differences lists the changes between the start of a sweep and now.
func differences(old, now record.Header) []string {
	var list []string
	differ := func(what string, a, b any) {
		if !reflect.DeepEqual(a, b) {
			list = append(list, fmt.Sprintf("%s: was %v, is %v", what, a, b))
		}
	}
	a, b := old.Record, now.Record
	differ("zbench", a.Tool.Version, b.Tool.Version)
	differ("backend", a.Source.Backend, b.Source.Backend)
	differ("ranks", a.World.Ranks, b.World.Ranks)
	differ("nodes", a.World.Nodes, b.World.Nodes)
	differ("GPUs per node", a.World.GPUsPerNode, b.World.GPUsPerNode)
	differ("GPUs per process", a.World.GPUsPerProcess, b.World.GPUsPerProcess)
	differ("ranks per GPU", a.World.RanksPerGPU, b.World.RanksPerGPU)
	differ("GPU", a.World.GPU, b.World.GPU)
	differ("fabric", a.Spec.Fabric, b.Spec.Fabric)
	differ("faults", strings.Join(a.Spec.Faults, ", "), strings.Join(b.Spec.Faults, ", "))
	differ("seed", a.Spec.Seed, b.Spec.Seed)
	differ("libraries", libraries(a), libraries(b))
	if len(list) == 0 {
		differ("the fabric's constants (SHA-256 of the machine file)", old.Machine, now.Machine)
	}
	return list
}

func libraries(rec record.Record) string {
	return strings.Join(slice.Map(rec.Source.Libraries, func(l record.Library) string { return strings.TrimSpace(l.Name + " " + l.Version) }), ", ")
}

// follow skips the cases that the journal's header skips, even if they would fit into the memory now: the
// journal refuses passes of skipped cases.
func follow(cases []plan.Case, h record.Header) {
	skip := map[string]string{}
	for _, r := range h.Record.Results {
		if r.Status == record.Skipped {
			skip[r.Key] = r.Reason
		}
	}
	for i := range cases {
		if reason, ok := skip[cases[i].Key]; ok {
			cases[i].Skip = reason
		}
	}
}

// resumable refuses a journal whose cases differ from the cases of its request, before anything is
// written. A journal with parts of other cases could not be read again.
func (u *Setup) resumable(entries *record.Journal, cases []plan.Case) error {
	err := u.agree(entries, cases)
	if err == nil {
		var text []byte
		if text, err = entries.Text(); err == nil {
			_, err = record.ReadJournal(text)
		}
	}
	if err != nil {
		return exit.With(exit.Run, fmt.Errorf("%s is inconsistent: %w", JournalFile, err), "start a new sweep in another folder (--out)")
	}
	return nil
}

// agree compares a journal's cases with the cases of the sweep's request. The journal decides which cases
// fit into the memory. A finished case that the request does not produce is valid, because it may come
// from before a change of the request.
func (u *Setup) agree(entries *record.Journal, cases []plan.Case) error {
	made := map[string]record.Result{}
	for _, c := range cases {
		made[c.Key] = c.Planned()
	}
	for _, f := range entries.Rounds {
		r, err := u.replayRound(f)
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
			return fmt.Errorf("it plans the case %s, which its options do not produce", r.Key)
		case ok && !reflect.DeepEqual(m, r):
			return fmt.Errorf("the case %s that it plans differs from the one that its options produce", r.Key)
		}
	}
	for _, c := range cases {
		if _, missing := made[c.Key]; missing {
			return fmt.Errorf("its options produce the case %s, which it does not plan", c.Key)
		}
	}
	return nil
}
