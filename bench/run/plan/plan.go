// Package plan turns a request into cases with stable keys, and runs them on a driver. It uses no GPU and
// no clock, because the driver measures the times. The runner decides what is launched, how often, and how
// each case ended.
package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
	"zbench/bench/hardware/collective"
	"zbench/bench/hardware/policy"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
)

// Axes are the dimensions of a sweep, in rccl-tests' terms.
type Axes struct {
	Collectives []collective.Collective
	Dtypes      []collective.Dtype
	// Ops are the reduction operators for the collectives that have one.
	Ops []collective.Op
	// MinBytes to MaxBytes are total sizes. Each is Factor times the previous one, or Step bytes
	// larger if Step is set.
	MinBytes, MaxBytes int64
	Factor             int
	Step               int64
	// If Sizes is not empty, it replaces the range from MinBytes to MaxBytes.
	Sizes []int64
	// Calls says how the libraries are called.
	Calls policy.Calls
	// Roots are the roots of Rooted collectives, with spec.EveryRoot for each rank; empty means rank 0.
	Roots []int
	// InPlace lists the forms to run: false for two buffers, true for one.
	InPlace []bool
	World   spec.World
	// Policies are the ways to make communicators and register buffers; an empty list means only
	// the zero Policy.
	Policies []policy.Policy
	// Skew describes how unequally ranks receive in collectives that are Uneven.
	Skew collective.Skew
	// Groups are sizes of sub-communicators of consecutive ranks: all disjoint groups of all nodes
	// run at once. Strides are distances between the ranks of simultaneous groups. Scales are
	// numbers of nodes: only the first nodes run. All are additional to the whole world.
	Groups, Strides, Scales []int
}

// Case is one point of the sweep.
type Case struct {
	Collective collective.Collective
	Dtype      collective.Dtype
	// Op is the operator's name, empty if the collective has none.
	Op string
	// Requested is the requested size. Layout has the resulting buffers of each rank.
	Requested int64
	Layout    collective.Layout
	InPlace   bool
	// Graph is the number of replays of a burst's graph, 0 for no graph.
	Graph int
	// Root is the root of a Rooted collective, as a rank of its communicator.
	Root int `json:",omitempty"`
	// Split defines the communicators. Ranks is the size of one communicator. Nodes is the number of nodes
	// that it spans. Parallel is the number of communicators that run at once.
	Split                        Split
	Ranks, Nodes, GPUsPerProcess int
	Parallel                     int
	// Policy describes how the communicators are made and the buffers registered.
	Policy policy.Policy `json:",omitzero"`
	// Skew describes how unequally the ranks receive; empty for a collective that is not Uneven.
	Skew collective.Skew `json:",omitempty"`
	Key  string
	// ByBlocks is true if the data, too large to check whole, are checked by random blocks.
	ByBlocks bool `json:",omitempty"`
	// Way says how a verified launch runs, if not in the usual way.
	Way Way `json:",omitzero"`
	// Skip is the reason why the case does not run, empty if it runs.
	Skip string
	// Extrapolated is true when parts of the model behind a simulated time have no
	// measurements.
	Extrapolated bool
	// Bracket holds the model's time of a launch and the times at the ends of its bracket; nil if
	// it has none.
	Bracket *record.Bracket
}

// Way says how a verified launch runs. The zero Way is a call after the host has waited for the data.
type Way struct {
	// AtOnce is true if the launch follows the writing of its data without a wait of the host. Wrong
	// elements are then located.
	AtOnce bool `json:",omitempty"`
	// Apart is true if the data are written on another stream, and an event makes the launch wait for
	// them. Copied is true if they are copied from the host instead of written by a kernel.
	Apart, Copied bool `json:",omitempty"`
	// Urgent is true if the launch runs on a stream of high priority. Captured is true if it replays a
	// graph, which the first launch captures.
	Urgent, Captured bool `json:",omitempty"`
	// Beside is computation that runs at the same time; empty for none.
	Beside StepDo `json:",omitempty"`
	// Split is true if the communicators are parts of a communicator of all their ranks.
	Split bool `json:",omitempty"`
}

// Named returns the axes with the collectives, element types and operators of these names. Each name has
// one entry, even if it is given twice.
func (a Axes) Named(dtypes, ops string, collectives ...string) (Axes, error) {
	var err error
	if a.Dtypes, _, err = collective.DtypesByName(dtypes); err != nil {
		return a, err
	}
	if a.Ops, _, err = collective.OpsByName(ops); err != nil {
		return a, err
	}
	for _, name := range collectives {
		c, err := collective.ByName(name)
		if err != nil {
			return a, err
		}
		if !slices.ContainsFunc(a.Collectives, func(o collective.Collective) bool { return o.Name == c.Name }) {
			a.Collectives = append(a.Collectives, c)
		}
	}
	return a, nil
}

// maxSizes is the largest number of sizes of a sweep by steps. A larger number indicates a mistake.
const maxSizes = 10_000

// Validate reports invalid axes; the error states the valid values.
func (a Axes) Validate() error {
	switch {
	case len(a.Collectives) == 0:
		return errors.New("no collective given")
	case len(a.Sizes) > 0 && slices.Min(a.Sizes) < 1:
		return errors.New("a size (--sizes) must be at least 1 byte")
	case a.MinBytes < 1:
		return errors.New("the smallest size (-b) must be at least 1 byte")
	case a.MaxBytes < a.MinBytes:
		return fmt.Errorf("the largest size (-e %s) is below the smallest (-b %s)", unit.Bytes(a.MaxBytes), unit.Bytes(a.MinBytes))
	case a.Step == 0 && a.Factor < 2:
		return fmt.Errorf("the step factor (-f) must be at least 2, not %d", a.Factor)
	case a.Step < 0 || a.Step > 0 && (a.MaxBytes-a.MinBytes)/a.Step >= maxSizes:
		return fmt.Errorf("steps of %s (-i) from %s to %s are more than %d sizes: choose a larger step", unit.Bytes(a.Step), unit.Bytes(a.MinBytes), unit.Bytes(a.MaxBytes), maxSizes)
	case a.Calls.GraphLaunches < 0 || a.Calls.GraphLaunches > MaxLaunches:
		return fmt.Errorf("a graph (-G) is replayed 0 to %d times, not %d", MaxLaunches, a.Calls.GraphLaunches)
	case len(a.Roots) > 0 && (slices.Min(a.Roots) < spec.EveryRoot || slices.Max(a.Roots) >= a.World.Size()):
		return fmt.Errorf("a root (-r) must be a rank from 0 to %d, not %v", a.World.Size()-1, a.Roots)
	case a.World.Size() < 1:
		return errors.New("there must be at least one rank")
	case len(a.InPlace) == 0:
		return errors.New("--place selects neither in place nor out of place")
	case len(a.Dtypes) == 0:
		return errors.New("no element type (-d) given")
	}
	for _, c := range a.Collectives {
		if c.Reduces && !slices.ContainsFunc(a.Dtypes, func(d collective.Dtype) bool { return !d.MovedOnly }) {
			return fmt.Errorf("%s cannot reduce %s; choose another dtype, or a collective that does not reduce", c.Name, a.Dtypes[0].Name)
		}
	}
	if err := a.Calls.CheckCalls(a.Policies); err != nil {
		return err
	}
	return a.World.CheckSplits(a.Groups, a.Strides, a.Scales)
}

// Cases lists the sweep: the whole world first, then groups, strides and scales. Within each of these four
// parts the order is by policy, collective, element type, operator, out of place before in place, ascending
// size. The axes must be valid.
func (a Axes) Cases() []Case {
	var cases []Case
	for _, s := range a.splits() {
		for _, p := range a.policies() {
			cases = append(cases, a.ofSplit(s, p)...)
		}
	}
	return cases
}

func (a Axes) policies() []policy.Policy {
	if len(a.Policies) == 0 {
		return []policy.Policy{{}}
	}
	return a.Policies
}

func (a Axes) ofSplit(s Split, p policy.Policy) []Case {
	var cases []Case
	ranks, _, _ := a.of(s)
	for _, k := range a.kinds(ranks) {
		for _, inPlace := range a.InPlace {
			if inPlace && k.InPlace == collective.Never && len(a.InPlace) > 1 {
				continue // the collective has no such form
			}
			for _, size := range a.sizes() {
				cases = append(cases, a.at(s, p, k, size, inPlace))
			}
		}
	}
	return cases
}

// kind is a collective with an element type, with an operator if the collective reduces, and with its
// root.
type kind struct {
	collective.Collective
	dtype collective.Dtype
	op    string
	root  int
}

// kinds lists the kinds of a communicator.
func (a Axes) kinds(ranks int) []kind {
	var out []kind
	for _, c := range a.Collectives {
		ops := a.Ops
		if !c.Reduces {
			ops = []collective.Op{{}}
		}
		for _, d := range a.Dtypes {
			for _, o := range ops {
				for _, root := range a.rootsOf(c, ranks) {
					out = append(out, kind{c, d, o.Name, root})
				}
			}
		}
	}
	return out
}

// rootsOf lists the roots of a collective in a communicator, each once.
func (a Axes) rootsOf(c collective.Collective, ranks int) []int {
	switch {
	case !c.Rooted || len(a.Roots) == 0:
		return []int{0}
	case slices.Contains(a.Roots, spec.EveryRoot):
		return slice.Numbers(ranks)
	}
	return slice.Distinct(a.Roots)
}

// sizes lists the total sizes in ascending order, without overflow.
func (a Axes) sizes() []int64 {
	if len(a.Sizes) > 0 {
		return slices.Compact(slices.Sorted(slices.Values(a.Sizes)))
	}
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

func (a Axes) at(s Split, p policy.Policy, k kind, size int64, inPlace bool) Case {
	ranks, nodes, parallel := a.of(s)
	c := Case{
		Collective: k.Collective, Dtype: k.dtype, Op: k.op, Root: k.root, Requested: size, InPlace: inPlace, Graph: a.Calls.GraphLaunches,
		Layout: k.Layout(size, ranks, k.dtype.Size), Split: s, Parallel: parallel, Policy: p,
		Ranks: ranks, Nodes: nodes, GPUsPerProcess: a.World.GPUsPerProcess,
		Key: record.Key(k.Name, k.dtype.Name, k.op, size, ranks, a.World.GPUsPerProcess, inPlace),
	}
	if parallel > 1 {
		c.Key += fmt.Sprintf("/x%d", parallel)
	}
	if s.Stride > 0 {
		c.Key += fmt.Sprintf("/s%d", s.Stride)
	}
	c.Key += a.Calls.Key()
	if a.World.RanksPerGPU > 1 {
		c.Key += fmt.Sprintf("/k%d", a.World.RanksPerGPU)
	}
	if k.root > 0 {
		c.Key += fmt.Sprintf("/r%d", k.root)
	}
	if p.Register != "" {
		c.Key += "/" + p.Register
	}
	if p.CTA != "" {
		c.Key += "/cta-" + p.CTA
	}
	if k.Uneven {
		c.skewed(a.Skew)
	}
	switch {
	case c.Skip != "":
	case k.root >= ranks:
		c.Skip = fmt.Sprintf("root %d (-r) is not among the %d ranks of the communicator", k.root, ranks)
	case c.Layout.Bytes == 0:
		c.Skip = fmt.Sprintf("rounds to 0: %s over %d ranks of %s leaves less than 16 bytes or one element per rank", unit.Bytes(size), ranks, k.dtype.Name)
	case k.Reduces && k.dtype.MovedOnly:
		c.Skip = k.Name + " cannot reduce " + k.dtype.Name
	case inPlace && k.InPlace == collective.Never:
		c.Skip = "in place " + k.Name + " would overwrite data before they are sent"
	}
	return c
}

// skewed divides each rank's data unequally. Every receive buffer has room for what the rank with the
// largest share receives.
func (c *Case) skewed(s collective.Skew) {
	c.Skew = s
	counts := c.Counts()
	if counts == nil {
		c.Skip = fmt.Sprintf("the file of weights (--skew) has not as many as the %d ranks", c.Ranks)
		return
	}
	c.Layout.RecvBytes = slices.Max(counts) * int64(c.Ranks*c.Dtype.Size)
	if name := s.String(); name != "" {
		c.Key += "/" + strings.ReplaceAll(name, " ", "-")
	}
}

// Counts returns the elements that each rank receives from every rank, for an Uneven collective.
func (c Case) Counts() []int64 {
	return c.Skew.Counts(c.Layout.Bytes/int64(c.Dtype.Size), c.Ranks, c.Dtype.Size)
}

// SendPlaces returns the start in the send buffer of each rank's data, in elements, and the end of
// the last; nil for a collective that is not Uneven.
func (c Case) SendPlaces() []int64 {
	if !c.Collective.Uneven {
		return nil
	}
	at := []int64{0}
	for i, n := range c.Counts() {
		at = append(at, at[i]+n)
	}
	return at
}

// setup returns the words that distinguish the case from the same case with another policy, root or
// skew.
func (c Case) setup() string {
	root := ""
	if c.Root > 0 {
		root = fmt.Sprint("root ", c.Root)
	}
	names := slices.DeleteFunc([]string{c.Policy.String(), root, c.Skew.String()}, func(s string) bool { return s == "" })
	return strings.Join(names, ", ")
}

// Like returns the case of another size on the curve of a result of this sweep; false if the axes
// have no such curve.
func (a Axes) Like(r record.Result, bytes int64) (Case, bool) {
	for _, s := range a.splits() {
		ranks, _, _ := a.of(s)
		for _, k := range a.kinds(ranks) {
			for _, p := range a.policies() {
				if k.Name == r.Collective && a.at(s, p, k, r.BytesRequested, r.InPlace).Key == r.Key {
					return a.at(s, p, k, bytes, r.InPlace), true
				}
			}
		}
	}
	return Case{}, false
}

// Planned returns the case's result before anything has run: skipped if the case will not run, otherwise
// interrupted, which is right if the sweep ends before the case.
func (c Case) Planned() record.Result {
	status, reason := record.Interrupted, "stopped before this case was finished"
	if c.Skip != "" {
		status, reason = record.Skipped, c.Skip
	}
	return record.Result{
		Case: record.Case{Key: c.Key, Status: status, Reason: reason, Verified: record.Verified{State: record.NotVerified, Reason: "not run"}, Warnings: []record.Warning{}}, Collective: c.Collective.Name, Dtype: c.Dtype.Name, Op: c.Op, InPlace: c.InPlace,
		BytesRequested: c.Requested, Bytes: c.Layout.Bytes, Count: c.Layout.Count,
		Ranks: c.Ranks, Nodes: c.Nodes, GPUsPerProcess: c.GPUsPerProcess, Groups: c.Parallel, Stride: c.Split.Stride, Setup: c.setup(),
		Extrapolated: c.Extrapolated, Bracket: c.Bracket,
	}
}
