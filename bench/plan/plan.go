// Package plan turns what was asked for into cases with stable keys, and runs
// them on a driver. It knows no GPU and no clock: the driver times, the runner
// decides what is launched, how often, and how each case ended.
package plan

import (
	"errors"
	"fmt"

	"zbench/bench/collective"
	"zbench/bench/record"
	"zbench/bench/spec"
	"zbench/bench/unit"
)

// Axes are the dimensions of a sweep, in rccl-tests' terms.
type Axes struct {
	Collectives []collective.Collective
	Dtype       collective.Dtype
	// Op is the reduction operator for the collectives that have one.
	Op collective.Op
	// MinBytes to MaxBytes are total sizes, each Factor times the one before, or
	// with a Step that many bytes more.
	MinBytes, MaxBytes int64
	Factor             int
	Step               int64
	// Graph is how often a burst's launches, captured into a graph, are replayed;
	// 0 launches them one by one.
	Graph int
	// InPlace lists the forms to run: false for two buffers, true for one.
	InPlace []bool
	World   spec.World
	// Groups are sizes of sub-communicators: all disjoint groups of all nodes run
	// at once. Strides are too, but of ranks so far apart. Scales are numbers of
	// nodes: the first so many run, the others wait. All come beside the whole
	// world.
	Groups, Strides, Scales []int
}

// Case is one point of the sweep.
type Case struct {
	Collective collective.Collective
	Dtype      collective.Dtype
	// Op is the operator's name, empty where the collective has none.
	Op string
	// Requested is the size asked for, Layout what it means for each rank.
	Requested int64
	Layout    collective.Layout
	InPlace   bool
	// Graph is how often a burst's graph is replayed, 0 for no graph.
	Graph int
	// Split says which communicators run. Ranks is the size of one of them, Nodes
	// the nodes it spans, Parallel how many run at once.
	Split                        Split
	Ranks, Nodes, GPUsPerProcess int
	Parallel                     int
	Key                          string
	// Skip is why the case is not run, empty when it is.
	Skip string
	// Extrapolated is true when parts of the model behind a simulated time have no
	// measurements.
	Extrapolated bool
}

// maxSizes is the most sizes of a sweep by steps: more is a mistake in the step.
const maxSizes = 10_000

// Validate reports axes that make no sweep; the error says which and what is valid.
func (a Axes) Validate() error {
	switch {
	case len(a.Collectives) == 0:
		return errors.New("no collective given")
	case a.MinBytes < 1:
		return errors.New("the smallest size (-b) must be at least 1 byte")
	case a.MaxBytes < a.MinBytes:
		return fmt.Errorf("the largest size (-e %s) is below the smallest (-b %s)", unit.Bytes(a.MaxBytes), unit.Bytes(a.MinBytes))
	case a.Step == 0 && a.Factor < 2:
		return fmt.Errorf("the step factor (-f) must be at least 2, not %d", a.Factor)
	case a.Step < 0 || a.Step > 0 && (a.MaxBytes-a.MinBytes)/a.Step >= maxSizes:
		return fmt.Errorf("steps of %s (-i) from %s to %s are more than %d sizes: choose a larger step", unit.Bytes(a.Step), unit.Bytes(a.MinBytes), unit.Bytes(a.MaxBytes), maxSizes)
	case a.Graph < 0 || a.Graph > MaxLaunches:
		return fmt.Errorf("a graph (-G) is replayed 0 to %d times, not %d", MaxLaunches, a.Graph)
	case a.World.Size() < 1:
		return errors.New("there must be at least one rank")
	case len(a.InPlace) == 0:
		return errors.New("--place selects neither in place nor out of place")
	}
	for _, c := range a.Collectives {
		if c.Reduces && a.Dtype.MovedOnly {
			return fmt.Errorf("%s cannot reduce %s: it can only be moved; choose another dtype, or a collective that does not reduce", c.Name, a.Dtype.Name)
		}
	}
	return a.validateSplits()
}

// Cases lists the sweep: the whole world first, then groups, strides and scales; in each,
// collective by collective, sizes upwards, out of place before in place. The axes
// must be valid.
func (a Axes) Cases() []Case {
	var cases []Case
	for _, s := range a.splits() {
		cases = append(cases, a.ofSplit(s)...)
	}
	return cases
}

func (a Axes) ofSplit(s Split) []Case {
	var cases []Case
	for _, coll := range a.Collectives {
		for _, inPlace := range a.InPlace {
			if inPlace && coll.InPlace == collective.Never && len(a.InPlace) > 1 {
				continue // asked for with all others, and meaningless
			}
			for _, size := range a.sizes() {
				cases = append(cases, a.at(s, coll, size, inPlace))
			}
		}
	}
	return cases
}

// sizes lists the total sizes, upwards. None overflows.
func (a Axes) sizes() []int64 {
	var all []int64
	for size := a.MinBytes; ; {
		all = append(all, size)
		switch {
		case a.Step > 0 && size <= a.MaxBytes-a.Step:
			size += a.Step
		case a.Step == 0 && size <= a.MaxBytes/int64(a.Factor):
			size *= int64(a.Factor)
		default:
			return all
		}
	}
}

func (a Axes) at(s Split, coll collective.Collective, size int64, inPlace bool) Case {
	op := ""
	if coll.Reduces {
		op = a.Op.Name
	}
	ranks, nodes, parallel := a.of(s)
	c := Case{
		Collective: coll, Dtype: a.Dtype, Op: op, Requested: size, InPlace: inPlace, Graph: a.Graph,
		Layout: coll.Layout(size, ranks, a.Dtype.Size), Split: s, Parallel: parallel,
		Ranks: ranks, Nodes: nodes, GPUsPerProcess: a.World.GPUsPerProcess,
		Key: record.Key(coll.Name, a.Dtype.Name, op, size, ranks, a.World.GPUsPerProcess, inPlace),
	}
	if parallel > 1 {
		c.Key += fmt.Sprintf("/x%d", parallel)
	}
	if s.Stride > 0 {
		c.Key += fmt.Sprintf("/s%d", s.Stride)
	}
	if a.Graph > 0 {
		c.Key += fmt.Sprintf("/G%d", a.Graph)
	}
	if a.World.RanksPerGPU > 1 {
		c.Key += fmt.Sprintf("/k%d", a.World.RanksPerGPU)
	}
	switch {
	case c.Layout.Bytes == 0:
		c.Skip = fmt.Sprintf("rounds to 0: %s over %d ranks of %s leaves less than 16 bytes or one element a rank", unit.Bytes(size), ranks, a.Dtype.Name)
	case inPlace && coll.InPlace == collective.Never:
		c.Skip = "in place " + coll.Name + " would overwrite data before they are sent"
	}
	return c
}

// Like is the case of another size on the curve that a result of this sweep is of;
// false where the axes have no such curve.
func (a Axes) Like(r record.Result, bytes int64) (Case, bool) {
	coll, err := collective.ByName(r.Collective)
	if err != nil {
		return Case{}, false
	}
	for _, s := range a.splits() {
		if a.at(s, coll, r.BytesRequested, r.InPlace).Key == r.Key {
			return a.at(s, coll, bytes, r.InPlace), true
		}
	}
	return Case{}, false
}

// Planned is the case's record before anything has run: skipped where it will
// not be run, else interrupted, which it is should the sweep end here.
func (c Case) Planned() record.Result {
	status, reason := record.Interrupted, "stopped before this case was finished"
	if c.Skip != "" {
		status, reason = record.Skipped, c.Skip
	}
	return record.Result{
		Key: c.Key, Collective: c.Collective.Name, Dtype: c.Dtype.Name, Op: c.Op, InPlace: c.InPlace,
		BytesRequested: c.Requested, Bytes: c.Layout.Bytes, Count: c.Layout.Count,
		Ranks: c.Ranks, Nodes: c.Nodes, GPUsPerProcess: c.GPUsPerProcess, Groups: c.Parallel, Stride: c.Split.Stride, Status: status, Reason: reason,
		Verified:     record.Verified{State: record.NotVerified, Reason: "not run"},
		Extrapolated: c.Extrapolated, Warnings: []record.Warning{},
	}
}
