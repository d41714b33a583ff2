package record

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"zbench/bench/base/stat"
)

// statuses lists every Status.
var statuses = []Status{OK, Skipped, Failed, Interrupted, WrongData}

// Statuses returns all ways in which a case can end. The caller may change the slice.
func Statuses() []Status { return slices.Clone(statuses) }

// maxYear is the last year that RFC 3339 can write.
const maxYear = 9999

// check refuses values that JSON can hold but a record cannot, because they would cause wrong
// figures later.
func (rec *Record) check() error {
	if err := rec.CheckNames(); err != nil {
		return err
	}
	if y := rec.Created.UTC().Year(); y < 0 || y > maxYear {
		return fmt.Errorf("created: year %d", y)
	}
	switch kind := rec.Source.Kind; {
	case (kind == Simulated || kind == Emulated) && !rec.Simulated, kind == Measured && rec.Simulated:
		return fmt.Errorf("\"simulated\" is %t, but source.kind is %q", rec.Simulated, kind)
	}
	switch {
	case len(rec.Kernels) > 0 && (!rec.OfKernels() || len(rec.Results) > 0):
		return errors.New("kernels beside results of collectives, or without a spec of kernels")
	case rec.Spec != nil && !rec.Spec.Fits():
		return fmt.Errorf("the spec has neither a sweep nor kernels as the benchmark %q takes", rec.Spec.Benchmark)
	case rec.SequenceSeconds != nil && !(*rec.SequenceSeconds > 0):
		return fmt.Errorf("sequences of %g s", *rec.SequenceSeconds)
	}
	for i := range rec.Kernels {
		if err := rec.Kernels[i].check(); err != nil {
			return fmt.Errorf("kernels[%d] (%s): %w", i, rec.Kernels[i].Key, err)
		}
	}
	for i := range rec.Results {
		if err := rec.Results[i].check(); err != nil {
			return fmt.Errorf("results[%d] (%s): %w", i, rec.Results[i].Key, err)
		}
	}
	return nil
}

func (c *Case) check() error {
	if !slices.Contains(statuses, c.Status) {
		return fmt.Errorf("status %q: valid are %q", c.Status, statuses)
	}
	return c.Verified.check(c.Status)
}

func (r *Result) check() error {
	if err := r.Case.check(); err != nil {
		return err
	}
	if r.Bytes < 0 || r.BytesRequested < 0 || r.Count < 0 {
		return fmt.Errorf("a negative size: bytes %d, requested %d, count %d", r.Bytes, r.BytesRequested, r.Count)
	}
	if r.Ranks < 0 || r.Nodes < 0 || r.GPUsPerProcess < 0 || r.Stride < 0 {
		return fmt.Errorf("a negative world: %d ranks, %d nodes, %d GPUs per process, stride %d", r.Ranks, r.Nodes, r.GPUsPerProcess, r.Stride)
	}
	if err := cmp.Or(checkRates(r.AlgBW, r.BusBW), r.Evidence.check()); err != nil {
		return err
	}
	if err := r.Burst.check(); err != nil {
		return fmt.Errorf("burst: %w", err)
	}
	if err := r.Isolated.check(); err != nil {
		return fmt.Errorf("isolated: %w", err)
	}
	return nil
}

// check refuses a verification that is inconsistent in itself or with the status. A log
// can report wrong data without a count, and a result can lack a verification.
func (v *Verified) check(beside Status) error {
	if v == nil {
		return nil
	}
	wrong := int64(0)
	if v.Wrong != nil {
		wrong = *v.Wrong
	}
	switch {
	case wrong < 0:
		return fmt.Errorf("%d wrong elements", wrong)
	case v.State != VerifiedWrong && wrong > 0:
		return fmt.Errorf("verified as %q with %d wrong elements", v.State, wrong)
	case v.State == VerifiedWrong && beside == OK:
		return fmt.Errorf("verified as %q, and the status is %q", v.State, beside)
	}
	return nil
}

func checkRates(alg, bus *float64) error {
	for name, bw := range map[string]*float64{"algbw": alg, "busbw": bus} {
		if bw != nil && *bw < 0 {
			return fmt.Errorf("%s is negative: %g", name, *bw)
		}
	}
	return nil
}

func (t *Timing) check() error {
	if t == nil {
		return nil
	}
	if err := checkRates(t.AlgBW, t.BusBW); err != nil {
		return err
	}
	if i := t.Rounding; i != nil && (i.Lo < 0 || i.Hi < i.Lo) {
		return fmt.Errorf("rounding must be an interval, not %g to %g", i.Lo, i.Hi)
	}
	for _, s := range []*stat.Summary{t.MeanOfRanks, t.MaxOfRanks, t.Spread} {
		if err := checkSummary(s); err != nil {
			return err
		}
	}
	return nil
}
