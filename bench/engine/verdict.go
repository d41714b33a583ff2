package engine

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"zbench/bench/exit"
	"zbench/bench/record"
	"zbench/bench/unit"
)

// Verdict is the error of a run's record, with its exit code; nil if all cases are ok.
func Verdict(rec *record.Record, dir string) error {
	if rec.OfKernels() {
		return verdictOfKernels(rec, dir)
	}
	count, partly := map[record.Status]int{}, 0
	for _, r := range rec.Results {
		count[r.Status]++
		if r.Status == record.Interrupted && r.Burst != nil {
			partly++
		}
	}
	if err := stopped(rec, dir, " was interrupted: ", (*record.Result).Lost); err != nil {
		return err
	}
	switch {
	case count[record.Interrupted] > 0:
		return exit.With(exit.Interrupted, fmt.Errorf("interrupted: %d of %d cases finished, %d more have 1 of %d passes; all are saved", count[record.OK], len(rec.Results), partly, record.Passes), "resume with: "+rec.ResumeCommand(dir))
	case count[record.WrongData] > 0:
		return exit.With(exit.WrongData, fmt.Errorf("%d cases have wrong data", count[record.WrongData]), "the report names them")
	case count[record.OK] == 0 && count[record.Failed] == 0:
		return exit.With(exit.Run, errors.New("nothing was measured: every case was skipped"), "the table has the reasons; choose other sizes (-b, -e) or fewer ranks")
	}
	return failed(rec, dir)
}

// failed is the first case that failed, or that a lost process interrupted, as an error; nil
// when there is none.
func failed(rec *record.Record, dir string) error {
	if i := slices.IndexFunc(rec.Kernels, func(k record.Kernel) bool { return k.Status == record.Failed }); i >= 0 {
		k := rec.Kernels[i]
		return exit.With(exit.Run, fmt.Errorf("%s failed: %s", k.Case(), k.Reason), "cases before it are saved; to run the rest: "+rec.ResumeCommand(dir))
	}
	return cmp.Or(stopped(rec, dir, " was interrupted: ", (*record.Result).Lost),
		stopped(rec, dir, " failed: ", func(r *record.Result) bool { return r.Status == record.Failed }))
}

// stopped is the first case of a kind as an error.
func stopped(rec *record.Record, dir, how string, kind func(*record.Result) bool) error {
	for i := range rec.Results {
		if r := &rec.Results[i]; kind(r) {
			return exit.With(exit.Run, fmt.Errorf("%s at %s%s%s", r.Collective, unit.Bytes(r.BytesRequested), how, r.Reason), "finished cases are saved; to run the rest: "+rec.ResumeCommand(dir))
		}
	}
	return nil
}

func verdictOfKernels(rec *record.Record, dir string) error {
	count := map[record.Status]int{}
	for _, k := range rec.Kernels {
		count[k.Status]++
	}
	if i := slices.IndexFunc(rec.Kernels, func(k record.Kernel) bool { return k.Status == record.WrongData }); i >= 0 {
		k := rec.Kernels[i]
		return exit.With(exit.WrongData, fmt.Errorf("wrong data: %s on %s: %s", k.Case(), rec.GPU(&k), k.Reason), "do not use its figures; "+k.Verified.Hint())
	}
	if err := failed(rec, dir); err != nil {
		return err
	}
	if count[record.Interrupted] > 0 {
		return exit.With(exit.Interrupted, fmt.Errorf("interrupted: %d of %d cases finished; they are saved", count[record.OK], len(rec.Kernels)), "resume with: "+rec.ResumeCommand(dir))
	}
	return nil
}
