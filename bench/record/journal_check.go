package record

import (
	"errors"
	"fmt"
	"slices"

	"zbench/bench/collective"
)

// check refuses a part that does not fit the planned cases.
func (p *Part) check(cases map[string]*planned) error {
	c := cases[p.Key]
	switch {
	case c == nil:
		return fmt.Errorf("the case %q is not planned", p.Key)
	case !slices.Contains([]Status{OK, Failed, WrongData}, p.Status):
		return fmt.Errorf("%s: a pass with status %q", p.Key, p.Status)
	case Finished(c.Status, c.parts):
		return fmt.Errorf("%s: a pass after the case was finished", p.Key)
	case p.Pass != len(c.parts):
		return fmt.Errorf("%s: pass %d instead of pass %d", p.Key, p.Pass, len(c.parts))
	case !c.kernel && p.Kernel != nil:
		return fmt.Errorf("%s: pass %d: samples of a kernel", p.Key, p.Pass)
	case !c.kernel && p.Status == OK && (p.Burst == nil || p.Isolated == nil || len(p.Burst.Mean) == 0):
		return fmt.Errorf("%s: pass %d is ok but has no samples", p.Key, p.Pass)
	case p.Verified != nil && !slices.Contains([]string{VerifiedOK, VerifiedWrong, NotVerified}, p.Verified.State):
		return fmt.Errorf("%s: pass %d: verified as %q", p.Key, p.Pass, p.Verified.State)
	case p.Status == WrongData && !p.Verified.wrong():
		return fmt.Errorf("%s: pass %d: the status is %q, but no element is wrong", p.Key, p.Pass, p.Status)
	case p.Evidence != nil && p.Status != Failed:
		return fmt.Errorf("%s: pass %d ended as %q with evidence of a hang", p.Key, p.Pass, p.Status)
	case p.Status != OK && p.Reason == "":
		return fmt.Errorf("%s: pass %d ended as %q without a reason", p.Key, p.Pass, p.Status)
	}
	if c.kernel {
		if err := p.checkKernel(c); err != nil {
			return fmt.Errorf("%s: pass %d: %w", p.Key, p.Pass, err)
		}
		return nil
	}
	if _, err := collective.ByName(c.Collective); err != nil {
		return err
	}
	if err := errors.Join(p.Verified.check(p.Status), p.Burst.check(), p.Isolated.check(c.Ranks), p.Evidence.check()); err != nil {
		return fmt.Errorf("%s: pass %d: %w", p.Key, p.Pass, err)
	}
	return nil
}

// wrong reports whether elements are wrong, or a check has found more than its bar.
func (v *Verified) wrong() bool {
	return v != nil && (v.Wrong != nil && *v.Wrong > 0 || slices.ContainsFunc(v.Checks, func(c Check) bool { return !c.OK() }))
}

func (b *BurstSamples) check() error {
	switch {
	case b == nil:
		return nil
	case len(b.Mean) != len(b.Max):
		return fmt.Errorf("%d bursts by their mean, %d by their slowest rank", len(b.Mean), len(b.Max))
	case b.Iterations < 1:
		return fmt.Errorf("bursts of %d launches", b.Iterations)
	}
	return seconds(b.Mean, b.Max)
}

func (b *IsolatedSamples) check(ranks int) error {
	switch {
	case b == nil:
		return nil
	case len(b.Max) != len(b.Spread):
		return fmt.Errorf("%d isolated launches with %d spreads", len(b.Max), len(b.Spread))
	case b.Discarded < 0 || b.Discarded > maxCount:
		return fmt.Errorf("%d launches discarded", b.Discarded)
	case b.Repeated < 0 || b.Repeated > maxCount:
		return fmt.Errorf("%d batches repeated", b.Repeated)
	case b.StartedEarly < 0 || b.StartedEarly > len(b.Max)+b.Discarded:
		return fmt.Errorf("%d launches started early, of %d", b.StartedEarly, len(b.Max)+b.Discarded)
	case ranks < 1 || ranks > maxCount || len(b.Ranks)%(4*ranks) != 0:
		return fmt.Errorf("%d bytes are not a whole number of intervals of %d ranks", len(b.Ranks), ranks)
	}
	left := len(b.Max)
	for _, l := range b.Late {
		left -= l.Count
		if l.Rank < 0 || l.Rank >= ranks || l.Count < 1 || left < 0 {
			return fmt.Errorf("rank %d of %d late %d times", l.Rank, ranks, l.Count)
		}
	}
	if len(b.Slow) > 0 && len(b.Slow) != len(b.Groups) {
		return fmt.Errorf("slow launches of %d groups, and times of %d", len(b.Slow), len(b.Groups))
	}
	for _, n := range b.Slow {
		if n < 0 || n > len(b.Max) {
			return fmt.Errorf("%d of %d launches slow", n, len(b.Max))
		}
	}
	return seconds(b.Max, b.Spread, b.Groups, []float64{b.EventFloor})
}

// Beyond these there are no measurements, and sums and quotients of them need not
// be finite: counts, and seconds that are not 0.
const (
	maxCount   = 1 << 30
	minSeconds = 1e-18
	maxSeconds = 1e9
)

// seconds refuses a value that is not a duration.
func seconds(series ...[]float64) error {
	for _, list := range series {
		for i, s := range list {
			if s != 0 && s < minSeconds || s > maxSeconds {
				return fmt.Errorf("sample %d is %g s", i, s)
			}
		}
	}
	return nil
}
