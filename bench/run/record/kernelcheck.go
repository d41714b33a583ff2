package record

import (
	"errors"
	"fmt"
	"math"

	"zbench/bench/base/stat"
)

// check refuses an invalid row, so that later code can rely on it.
func (k *Kernel) check() error {
	if err := k.Case.check(); err != nil {
		return err
	}
	s := k.Shape
	switch {
	case k.Moved < 0 || k.WorkingSet < 0 || s.Array < 0 || s.Rows < 0 || s.Cols < 0 || s.Batch < 0 || s.Measured < 0 || s.Depth < 0 || s.Count < 0 || k.Config.Choice < 0 || k.Config.Workspace < 0 || k.Verified.Elements < 0:
		return errors.New("a negative size")
	case s.Batch > 0 && (s.Rows < 1 || s.Cols < 1) || s.Measured > s.Batch:
		return fmt.Errorf("invalid batch of matrices: %d of %d, %d x %d", s.Measured, s.Batch, s.Rows, s.Cols)
	case !finite(k.Effective) || !finite(k.Executed):
		return fmt.Errorf("%g and %g operations", k.Effective, k.Executed)
	case k.Timing == nil && k.Metrics != (Metrics{}):
		return errors.New("metrics without a timing")
	}
	for _, m := range KernelMetrics {
		if v := m.Of(&k.Metrics); v != nil && !(*v > 0 && finite(*v)) {
			return fmt.Errorf("%s of %g", m.Name, *v)
		}
	}
	return k.Timing.check()
}

func finite(v float64) bool { return v >= 0 && !math.IsInf(v, 0) }

func (t *KernelTiming) check() error {
	switch {
	case t == nil:
		return nil
	case t.Seconds == nil:
		return errors.New("a timing without times")
	case t.Launches < 1:
		return fmt.Errorf("batches of %d launches", t.Launches)
	case t.Launch != nil && !finite(*t.Launch):
		return fmt.Errorf("a launch of %g s", *t.Launch)
	}
	for _, c := range t.Conditions {
		if err := c.check(); err != nil {
			return err
		}
	}
	return checkSummary(t.Seconds)
}

// checkSummary refuses an invalid summary of times.
func checkSummary(s *stat.Summary) error {
	if s != nil && (s.N < 1 || s.Min < 0 || s.Median < s.Min || s.Max < s.Median) {
		return fmt.Errorf("invalid summary of times: n %d, min %g, median %g, max %g", s.N, s.Min, s.Median, s.Max)
	}
	return nil
}
