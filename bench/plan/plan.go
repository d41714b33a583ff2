// Package plan turns what was asked for into cases with stable keys, and runs
// them on a driver. It knows no GPU and no clock: the driver times, the runner
// decides what is launched, how often, and how each case ended.
package plan

import (
	"errors"
	"fmt"

	"zbench/bench/collective"
	"zbench/bench/record"
	"zbench/bench/unit"
)

// Axes are the dimensions of a sweep, in rccl-tests' terms.
type Axes struct {
	Collectives []collective.Collective
	Dtype       collective.Dtype
	// Op is the reduction operator for the collectives that have one.
	Op collective.Op
	// MinBytes to MaxBytes are total sizes, each Factor times the one before.
	MinBytes, MaxBytes int64
	Factor             int
	// InPlace lists the forms to run: false for two buffers, true for one.
	InPlace []bool
	// Ranks is the number of GPUs, spread over Nodes, GPUsPerProcess to a process.
	Ranks, Nodes, GPUsPerProcess int
}

// Case is one point of the sweep.
type Case struct {
	Collective collective.Collective
	Dtype      collective.Dtype
	// Op is the operator's name, empty where the collective has none.
	Op string
	// Requested is the size asked for, Layout what it means for each rank.
	Requested                    int64
	Layout                       collective.Layout
	InPlace                      bool
	Ranks, Nodes, GPUsPerProcess int
	Key                          string
	// Skip is why the case is not run, empty when it is.
	Skip string
	// Extrapolated is true when the model behind a simulated time was fitted
	// elsewhere.
	Extrapolated bool
}

// Validate reports axes that make no sweep; the error says which and what is valid.
func (a Axes) Validate() error {
	switch {
	case len(a.Collectives) == 0:
		return errors.New("no collective given")
	case a.MinBytes < 1:
		return errors.New("the smallest size (-b) must be at least 1 byte")
	case a.MaxBytes < a.MinBytes:
		return fmt.Errorf("the largest size (-e %s) is below the smallest (-b %s)", unit.Bytes(a.MaxBytes), unit.Bytes(a.MinBytes))
	case a.Factor < 2:
		return fmt.Errorf("the step factor (-f) must be at least 2, not %d", a.Factor)
	case a.Ranks < 1:
		return errors.New("there must be at least one rank")
	case len(a.InPlace) == 0:
		return errors.New("neither in place nor out of place is asked for")
	}
	for _, c := range a.Collectives {
		if c.Reduces && a.Dtype.MovedOnly {
			return fmt.Errorf("%s cannot reduce %s: it can only be moved; choose another dtype, or a collective that does not reduce", c.Name, a.Dtype.Name)
		}
	}
	return nil
}

// Cases lists the sweep, collective by collective, sizes upwards, out of place
// before in place. The axes must be valid.
func (a Axes) Cases() []Case {
	var cases []Case
	for _, coll := range a.Collectives {
		for _, inPlace := range a.InPlace {
			if inPlace && coll.InPlace == collective.Never && len(a.InPlace) > 1 {
				continue // asked for with all others, and meaningless
			}
			for size := a.MinBytes; size <= a.MaxBytes; size *= int64(a.Factor) {
				cases = append(cases, a.at(coll, size, inPlace))
				if size > a.MaxBytes/int64(a.Factor) {
					break // the next step would overflow or pass the end
				}
			}
		}
	}
	return cases
}

func (a Axes) at(coll collective.Collective, size int64, inPlace bool) Case {
	op := ""
	if coll.Reduces {
		op = a.Op.Name
	}
	c := Case{
		Collective: coll, Dtype: a.Dtype, Op: op, Requested: size, InPlace: inPlace,
		Layout: coll.Layout(size, a.Ranks, a.Dtype.Size),
		Ranks:  a.Ranks, Nodes: a.Nodes, GPUsPerProcess: a.GPUsPerProcess,
		Key: record.Key(coll.Name, a.Dtype.Name, op, size, a.Ranks, a.GPUsPerProcess, inPlace),
	}
	switch {
	case c.Layout.Bytes == 0:
		c.Skip = fmt.Sprintf("rounds to 0: %s over %d ranks of %s leaves less than 16 bytes or one element a rank", unit.Bytes(size), a.Ranks, a.Dtype.Name)
	case inPlace && coll.InPlace == collective.Never:
		c.Skip = "in place " + coll.Name + " overwrites what it has yet to send"
	}
	return c
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
		Ranks: c.Ranks, Nodes: c.Nodes, GPUsPerProcess: c.GPUsPerProcess, Status: status, Reason: reason,
		Verified:     record.Verified{State: record.NotVerified, Reason: "not run"},
		Extrapolated: c.Extrapolated, Warnings: []record.Warning{},
	}
}
