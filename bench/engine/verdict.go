package engine

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"zbench/bench/answers/judge"
	"zbench/bench/base/exit"
	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
	"zbench/bench/run/record"
)

// Verdict returns the error of a run's record, with the exit code of its findings and the next
// step; nil if it has no fault.
func Verdict(rec *record.Record, dir string) error {
	code := exit.Of(judge.State(rec), judge.Of(rec))
	switch code {
	case exit.Interrupted:
		return exit.With(code, interrupted(rec), "resume with: "+rec.ResumeCommand(dir))
	case exit.WrongData:
		return wrong(rec)
	case exit.Run:
		if err := failed(rec, dir); err != nil {
			return err
		}
		return exit.With(code, errors.New("nothing was measured: no case ended ok"), "the table has the reasons; choose other sizes (-b, -e) or fewer ranks")
	}
	return exit.Quiet(code)
}

// interrupted says how much of a run is finished.
func interrupted(rec *record.Record) error {
	count, partly := map[record.Status]int{}, 0
	for _, c := range rec.Cases() {
		count[c.Status]++
	}
	for _, r := range rec.Results {
		if r.Status == record.Interrupted && r.Burst != nil {
			partly++
		}
	}
	head, counts := record.Unfinished(count[record.OK], partly, len(rec.Results)+len(rec.Kernels))
	if counts == "" {
		return errors.New(head)
	}
	return fmt.Errorf("%s: %s; all are saved", head, counts)
}

// wrong describes the wrong data and the next step.
func wrong(rec *record.Record) error {
	if i := slices.IndexFunc(rec.Kernels, func(k record.Kernel) bool { return k.LeftWrong() }); i >= 0 {
		k := &rec.Kernels[i]
		return exit.With(exit.WrongData, fmt.Errorf("wrong data: %s on %s: %s", k.Job(), rec.GPU(k), k.Reason), "do not use its figures; "+k.Verified.Hint())
	}
	n := slice.Count(rec.Results, func(r record.Result) bool { return r.Status == record.WrongData })
	return exit.With(exit.WrongData, fmt.Errorf("%d cases have wrong data", n), "the report names them")
}

// failed returns the first case that failed or lost a process, as an error; nil if there is none.
func failed(rec *record.Record, dir string) error {
	if i := slices.IndexFunc(rec.Kernels, func(k record.Kernel) bool { return k.Status == record.Failed }); i >= 0 {
		k := rec.Kernels[i]
		return exit.With(exit.Run, fmt.Errorf("%s failed: %s", k.Job(), k.Reason), "cases before it are saved; to run the rest: "+rec.ResumeCommand(dir))
	}
	return cmp.Or(stopped(rec, dir, " was interrupted: ", (*record.Result).Lost),
		stopped(rec, dir, " failed: ", func(r *record.Result) bool { return r.Status == record.Failed }))
}

// stopped returns the first case of a kind as an error.
func stopped(rec *record.Record, dir, how string, kind func(*record.Result) bool) error {
	for i := range rec.Results {
		if r := &rec.Results[i]; kind(r) {
			return exit.With(exit.Run, fmt.Errorf("%s at %s%s%s", r.Collective, unit.Bytes(r.BytesRequested), how, r.Reason), "finished cases are saved; to run the rest: "+rec.ResumeCommand(dir))
		}
	}
	return nil
}
