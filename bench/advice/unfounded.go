package advice

import (
	"zbench/bench/recommend"
	"zbench/bench/unit"
)

// unfounded says why the advice cannot tell how much longer a step is with another
// setting; empty where it can.
func (d *Document) unfounded() string {
	a := &d.Answer
	now := a.Default
	if a.Current != nil {
		now = a.Current
	}
	for _, c := range []*recommend.Candidate{a.Best, now} {
		switch {
		case c == nil:
		case c.Unfounded == recommend.BeyondSweep:
			return "most of the time goes to messages larger than the largest size swept, " + d.swept()
		case c.Unfounded == recommend.OneDip:
			return "slow times at one or two sizes of a single run decide it"
		}
	}
	return ""
}

// compares reports whether other settings can be compared with the answer.
func (d *Document) compares() bool {
	return d.Answer.Best == nil || d.Answer.Best.Unfounded == ""
}

// swept is the largest size of the shortest sweep behind the answer.
func (d *Document) swept() string {
	least := d.Answer.Curves[0].MaxBytes
	for _, u := range d.Answer.Curves {
		least = min(least, u.MaxBytes)
	}
	return unit.Bytes(least)
}

// withoutShares is the advice where no percentage can be given, and why not.
func (d *Document) withoutShares(why string) string {
	a := &d.Answer
	if a.Keep {
		return d.kept() + d.also() + ". How much longer a training step is than with the best size is not known: " + why + "."
	}
	named := "the default"
	if a.Current != nil {
		named = "your " + d.Amount(a.Current.Elements)
	}
	return d.set() + d.also() + ". How much longer a training step is with " + named + " is not known: " + why + "."
}

// resampled is what the setting costs at most by 95 % of the resampled curves.
func (d *Document) resampled() float64 {
	if b := d.Answer.Bootstrap; b != nil {
		return b.CostHi
	}
	return 0
}

// Over prints what a setting costs as a share of a step, or a mark where that is not known.
func Over(c *recommend.Candidate, r float64) string {
	if c.Unfounded != "" {
		return unknown
	}
	return "+" + Share(max(0, r))
}

// unknown stands where no percentage can be given.
const unknown = "?"
