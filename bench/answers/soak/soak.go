// Package soak looks for data that arrive wrong. An attempt joins fresh communicators, launches a
// collective on them a few times, and verifies every element on every rank after each launch. Attempts of
// all arms take turns in random order. Wrong data are attributed to senders and to arms, and the rate of
// wrong attempts gets an upper bound.
package soak

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
	"zbench/bench/hardware/collective"
	"zbench/bench/run/plan"
	"zbench/bench/run/spec"
)

// Names returns the collectives of the arms, in which every rank receives. A scatter is left out because
// its data take the same paths as a broadcast's. Collectives with uneven messages are left out because even
// messages take the same paths.
func Names() []string {
	all := slice.Where(collective.All(), func(c collective.Collective) bool {
		return c.Result(1, 2, 0).Blocks > 0 && (!c.Rooted || !c.RecvShare) && !c.Uneven
	})
	return slice.Map(all, func(c collective.Collective) string { return c.Name })
}

// Sizes are the default sizes of a collective, in bytes: around the sizes at which libraries change their
// protocol (LL, LL128, Simple), and around a chunk of the Simple protocol, 512 KiB.
var Sizes = []int64{16 << 10, 256 << 10, 2<<20 - 64<<10, 2<<20 + 64<<10, 8 << 20}

// Cases returns the cases of the attempts. Each collective of each size runs on communicators of one GPU
// per node, side by side, and on all ranks. Cases too small for their ranks are left out.
func Cases(w spec.World, sizes []int64) ([]plan.Case, error) {
	a := plan.Axes{Sizes: sizes, MinBytes: 1, MaxBytes: 1, Factor: 2, InPlace: []bool{false}, World: w}
	if w.Nodes > 1 && w.PerNode() > 1 {
		a.Strides = []int{w.PerNode()}
	}
	a, err := a.Named("int32", "sum", Names()...)
	if err == nil {
		err = a.Validate()
	}
	if err == nil && w.Size() < 2 {
		err = fmt.Errorf("%s: nothing is sent", unit.Count(int64(w.Size()), "rank"))
	}
	if err != nil {
		return nil, err
	}
	all := slice.Where(a.Cases(), func(c plan.Case) bool { return c.Skip == "" })
	for i := range all {
		all[i].Way.AtOnce = true
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("every size is too small for %d ranks", w.Size())
	}
	return all, nil
}

// Factor is something that differs between attempts in addition to their cases.
type Factor struct {
	Name string
	// Levels are the names of the two levels. An attempt with the second level is changed by `set`.
	Levels [2]string
	set    func(w *plan.Way)
}

// Changed returns the case at the second level.
func (f Factor) Changed(c plan.Case) plan.Case {
	f.set(&c.Way)
	return c
}

// Factors are all factors: who writes the data, and where; how the collective is launched; what runs
// beside it; how its communicators are made.
func Factors() []Factor {
	return []Factor{
		{"data written on", [2]string{"own stream", "other stream"}, func(w *plan.Way) { w.Apart = true }},
		{"data written by", [2]string{"a kernel", "a copy"}, func(w *plan.Way) { w.Copied = true }},
		{"priority of streams", [2]string{"normal", "high"}, func(w *plan.Way) { w.Urgent = true }},
		{"launched by", [2]string{"a call", "a graph"}, func(w *plan.Way) { w.Captured = true }},
		{"beside it", [2]string{"nothing", "a matrix product"}, func(w *plan.Way) { w.Beside = plan.StepGemm }},
		{"communicators by", [2]string{"an id", "a split"}, func(w *plan.Way) { w.Split = true }},
	}
}

// Possible returns the factors that the libraries can change, and the reasons why others are left out.
func Possible(c plan.Case, unverifiable func(plan.Case) string) (factors []Factor, leftOut []string) {
	for _, f := range Factors() {
		if why := unverifiable(f.Changed(c)); why != "" {
			leftOut = append(leftOut, fmt.Sprintf("%s %s: %s", f.Name, f.Levels[1], why))
			continue
		}
		factors = append(factors, f)
	}
	return factors, leftOut
}

// Soak describes the soak to run.
type Soak struct {
	Cases   []plan.Case
	Factors []Factor
	// Seed is the seed for the order of the arms.
	Seed uint64
	// Attempts is the largest number of attempts; 0 is no limit. Launches is the number of verified
	// launches per attempt, the first message included.
	Attempts, Launches int
	// Saved are the attempts from a journal; they are not repeated.
	Saved []Attempt
	// Enough returns true to end the soak before the next attempt.
	Enough func() bool
	// Fired returns the number of times that planted faults have changed data so far.
	Fired func() int
	// Watch is called after each attempt, saved attempts included. An error ends the soak.
	Watch func(Attempt) error
}

// Attempt is the result of one attempt: a line of the journal.
type Attempt struct {
	// Number of the attempt, from 0.
	Number int `json:"number"`
	// Arms are the attempt's level of each factor.
	Arms []Setting `json:"arms"`
	// Wrong holds the number of wrong elements of each launch. The first message comes first.
	Wrong []int64 `json:"wrong"`
	// Parts are the located wrong elements of all launches.
	Parts []plan.WrongPart `json:"parts,omitempty"`
	// Fired is the number of times that planted faults changed data.
	Fired int `json:"fired,omitempty"`
}

// First reports whether the first message was wrong.
func (a *Attempt) First() bool { return len(a.Wrong) > 0 && a.Wrong[0] > 0 }

// Any reports whether any launch was wrong.
func (a *Attempt) Any() bool {
	return slices.ContainsFunc(a.Wrong, func(n int64) bool { return n > 0 })
}

// Turns returns a function that yields one number per call: the numbers 0 to n-1 in random order. After the
// last number, the function begins again in a new order.
func Turns(seed uint64, n int) func() int {
	random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // an order, not a secret
	var order []int
	return func() int {
		if len(order) == 0 {
			order = random.Perm(n)
		}
		first := order[0]
		order = order[1:]
		return first
	}
}

// drawn returns a function that yields the case of the next attempt with its level of each factor. The
// cases and the levels of each factor take turns independently of each other.
func (s Soak) drawn() func() (plan.Case, []Setting) {
	which, turns := Turns(s.Seed, len(s.Cases)), []func() int{}
	for i, f := range s.Factors {
		turns = append(turns, Turns(s.Seed+uint64(i+1)<<32, len(f.Levels))) //nolint:gosec // a few factors
	}
	return func() (plan.Case, []Setting) {
		c := s.Cases[which()]
		arms := levels(c)
		for i, f := range s.Factors {
			level := turns[i]()
			if arms = append(arms, Setting{f.Name, f.Levels[level]}); level > 0 {
				c = f.Changed(c)
			}
		}
		return c, arms
	}
}

// Run makes attempts until Attempts or Enough ends them. It calls Watch only for complete attempts.
func (s Soak) Run(ctx context.Context, p plan.Process) error {
	next := s.drawn()
	for number := 0; s.Attempts == 0 || number < s.Attempts; number++ {
		saved := number < len(s.Saved)
		if !saved && s.Enough() {
			return nil
		}
		c, arms := next()
		a := Attempt{Number: number, Arms: arms}
		before := s.Fired()
		var err error
		switch {
		case !saved:
			err = s.attempt(ctx, p, c, &a)
			a.Fired = s.Fired() - before
		case slices.Equal(s.Saved[number].Arms, a.Arms):
			a = s.Saved[number]
		default:
			err = fmt.Errorf("the journal has another arm (%v): it is of another version of zbench, or another machine", s.Saved[number].Arms)
		}
		if err == nil {
			err = s.Watch(a)
		}
		if err != nil {
			return fmt.Errorf("attempt %d (%s): %w", number+1, c.Key, err)
		}
	}
	return nil
}

func (s Soak) attempt(ctx context.Context, p plan.Process, c plan.Case, a *Attempt) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	ids, err := p.IDs(c.Comms())
	if err == nil {
		err = p.Join(ctx, c.Comms(), ids)
	}
	if err == nil {
		err = p.Begin(c, a.Number)
	}
	if err != nil {
		return err
	}
	if why := p.Unverifiable(c); why != "" {
		return fmt.Errorf("the data cannot be verified: %s", why)
	}
	for i := range s.Launches {
		v, err := p.Verify(ctx, c, a.Number*s.Launches+i)
		if err != nil {
			return err
		}
		if v.Blocks > 0 {
			return fmt.Errorf("only blocks of the data were verified: give smaller --sizes")
		}
		a.Wrong = append(a.Wrong, v.Wrong)
		a.Parts = append(a.Parts, v.Located...)
	}
	return nil
}
