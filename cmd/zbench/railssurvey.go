package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"zbench/bench/answers/fleet/evidence"
	"zbench/bench/answers/fleet/rails"
	"zbench/bench/base/option"
	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
	"zbench/bench/engine"
	"zbench/bench/run/plan"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
	"zbench/bench/work/fabric"
)

// messageFlag is the flag for the size of a message.
var messageFlag = specFlag{
	Name: "size", Unit: "bytes", Default: "64M", Meaning: "bytes of a message in each direction",
	Value: option.Bytes(func(s *spec.Spec) *int64 { return &s.Sweep.MinBytes }),
}

// addMeasureFlags adds the flags of zbench's own measurement.
func addMeasureFlags(cmd *cobra.Command, o *railsOptions) {
	o.run.addWorldFlags(cmd, "rails", messageFlag)
	f := cmd.Flags()
	addCountersFlag(f, &o.run.counters)
	f.IntVar(&o.launches, "launches", rails.DefaultLaunches, "timed launches of each round; faults that come and go need at least 4")
	f.IntVar(&o.rounds, "rounds", 0, "least number of rounds between nodes, and of passes over the links of a node: 20 finds faults that come and go")
	f.StringVar(&o.profile, "profile", "", "CSV of what good hardware gives: network or xgmi, rate, source")
	f.StringVar(&o.leaves, "leaves", "", "CSV of leaf switches: node, rail, switch")
}

// measuring returns those flags on the command line that only apply to a measurement.
func measuring(cmd *cobra.Command) []string {
	names := slices.Concat(worldFlags, launchFlags, deadlineFlags, []string{"size", "launches", "rounds", "profile", "leaves"})
	return slice.Where(names, func(name string) bool { return cmd.Flags().Changed(name) })
}

// measure surveys the world, or starts the processes that do this.
func (o *railsOptions) measure(ctx context.Context, s State, cmd *cobra.Command) error {
	if err := o.check(); err != nil {
		return err
	}
	l, err := o.run.place(s, cmd)
	if err != nil {
		return err
	}
	return o.run.take(ctx, s, l, task{
		row: "Survey", dated: true,
		kept:     func(folder string) string { return "the rounds before are judged in " + folder },
		announce: o.announcement,
		prepare:  o.prepare,
		tooLarge: func(c plan.Case) error {
			return usagef("give a smaller --size", "--size %s: %s", unit.Bytes(c.Layout.Bytes), c.Skip)
		},
		measure: o.survey,
	})
}

// check refuses an impossible measurement before anything is opened.
func (o *railsOptions) check() error {
	o.run.want.Sweep.MaxBytes, o.run.want.Sweep.Collectives = o.run.want.Sweep.MinBytes, []string{"send_recv"}
	faults := o.run.want.Faults
	switch i := slices.IndexFunc(faults, fabric.InCollectives); {
	case i >= 0:
		return usagef(railsHelp, "fault %q is one of collectives, not of messages between pairs: `zbench collectives` takes it", faults[i])
	case o.launches < 1 || o.launches > plan.MaxBatch:
		return usagef(railsHelp, "--launches is 1 to %d, not %d", plan.MaxBatch, o.launches)
	case o.rounds < 0 || o.rounds > 1000:
		return usagef(railsHelp, "--rounds is 0 to 1000, not %d", o.rounds)
	}
	return o.run.deadlines.check()
}

// message returns the message that is sent between pairs of ranks in each round.
func (o *railsOptions) message(w spec.World) (plan.Case, error) {
	c, err := rails.CaseOf(w, o.run.want.Sweep.MinBytes)
	if err != nil {
		err = usage(err, "give --nodes, --gpus-per-node or -g; "+railsHelp)
	}
	return c, err
}

// prepare checks the request and resolves the machine, with the times of messages between pairs.
func (o *railsOptions) prepare(s State, e *engine.Engine, want spec.Spec) (*engine.Setup, []plan.Case, error) {
	u, err := e.Prepare(want)
	if err != nil {
		return nil, nil, err
	}
	if err := withPairs(u); err != nil {
		return nil, nil, usage(err, railsHelp)
	}
	c, err := o.message(u.Spec.World)
	if err != nil {
		return nil, nil, err
	}
	if o.others, err = readWitnesses(s, &o.witness); err != nil {
		return nil, nil, err
	}
	return u, []plan.Case{c}, nil
}

// survey runs the rounds in an open world and judges the result.
func (o *railsOptions) survey(ctx context.Context, w *openWorld) (*result, error) {
	s, u, c := w.state, w.setup, w.cases[0]
	if _, can := w.ranks.(rails.Exchanger); !can {
		return nil, errors.New("this driver has no messages between pairs")
	}
	about := w.surveyed(o.launches)
	var err error
	v := rails.Measurement{
		Fleet: rails.Fleet{Nodes: u.Spec.World.Nodes, GPUs: u.Spec.World.GPUsPerNode}, Case: c, Launches: o.launches,
		Plan: rails.Bounds{Seed: u.Spec.Seed, Least: o.rounds, Passes: o.rounds},
	}
	data := rails.Data{}
	if o.profile != "" {
		if data.Profile, err = readTable(s, "profile", o.profile, func(r io.Reader) (*rails.Profile, error) { return rails.ReadProfile(r, about.Bytes) }); err != nil {
			return nil, err
		}
	}
	if about.Leaves = o.others.leaves(about.Nodes, about.GPUs); o.leaves != "" {
		if about.Leaves, err = readTable(s, "leaves", o.leaves, func(r io.Reader) ([][]string, error) { return rails.ReadLeaves(r, about.Nodes, about.GPUs) }); err != nil {
			return nil, err
		}
	}
	v.Fleet.Leaves = about.NumberedLeaves()
	claims, strange, err := o.others.at(about.Nodes, about.GPUs)
	if err != nil {
		return nil, err
	}
	if err := w.allocate(ctx, nil); err != nil {
		return nil, err
	}
	v.Watch = o.watch(s)
	in := evidence.Input{Fleet: v.Fleet, Others: claims}
	counted := o.counted(u, w.ranks, about.Nodes, w.facts.Devices)
	result, unused, failed := counted.rounds(ctx, v, about, &in)
	o.watch(s)(0, rails.Round{})
	if result.Rounds == 0 {
		return nil, failed
	}
	data.Fleet, data.Timings = v.Fleet, result.Timings
	verdict := rails.Judge(data)
	verdict.Unchecked = append(append(verdict.Unchecked, unused...), strange...)
	in.Verdict = verdict
	evidence.Settle(in)
	if failed != nil {
		verdict.Interrupted(fmt.Sprintf("the rest of the rounds: the run ended after %d: %v", result.Rounds, failed))
	}
	if result.Early > 0 {
		verdict.Unchecked = append(verdict.Unchecked, fmt.Sprintf("the host's share: in %d of %d rounds launches began before the host had enqueued all of them", result.Early, result.Rounds))
	}
	about.Rounds, about.NetworkRounds = result.Rounds, result.Network
	doc := rails.OfSurvey(about, result.Timings, verdict)
	r := o.result(s, doc, artifact{"rounds.csv", func(to io.Writer) error { return rails.WriteRounds(to, doc.Survey, result.Timings) }})
	return &r, failed
}

// announcement says what will be measured, and how long the rounds would take on the fabric.
func (o *railsOptions) announcement(w spec.World) (text string, time plan.Span, err error) {
	c, err := o.message(w)
	if err != nil {
		return "", time, err
	}
	within, between := 0, 0
	p := rails.NewPlan(rails.Fleet{Nodes: w.Nodes, GPUs: w.GPUsPerNode}, rails.Bounds{Least: o.rounds, Passes: o.rounds})
	for r, more := p.Next(nil); more; r, more = p.Next(nil) {
		if r.Kind == rails.XGMI {
			within++
		} else {
			between++
		}
	}
	seconds := o.modelled(w, float64(c.Layout.Bytes), float64(within), float64(between))
	return fmt.Sprintf("nodes: %d; GPUs on each: %d; message: %s; rounds: %d within nodes, %d between nodes, and more for suspects",
		w.Nodes, w.GPUsPerNode, unit.Bytes(c.Layout.Bytes), within, between), plan.Span{Low: seconds, High: seconds}, nil
}

// modelled returns the time of these rounds on the fabric, in seconds. It is 0 if the fabric has no such
// world: hardware may have another shape.
func (o *railsOptions) modelled(w spec.World, bytes, within, between float64) (seconds float64) {
	f, err := fabric.ByName(o.run.want.Fabric)
	if err != nil {
		return 0
	}
	m, err := f.Resolve(w, fabric.Conditions{Pairs: true})
	if err != nil {
		return 0
	}
	seconds = within * m.Ways.Link.Time(bytes)
	if m.Ways.Rail != nil {
		seconds += between * m.Ways.Rail.Time(bytes)
	}
	return seconds * float64(o.launches)
}

// surveyed returns what is known about a survey before it runs. launches is the number of launches
// per round.
func (w *openWorld) surveyed(launches int) *rails.Survey {
	u, of := w.setup, w.setup.Spec.World
	a := &rails.Survey{
		Simulated: w.facts.Simulated, Backend: u.Spec.Backend, Faults: u.Spec.Faults, Seed: u.Spec.Seed, GPUs: of.GPUsPerNode,
		Bytes: u.Spec.Sweep.MinBytes, Launches: launches, Nodes: slices.Clone(w.facts.Hosts),
	}
	if u.Machine != nil {
		a.Fabric = u.Spec.Fabric
	}
	if of.Nodes == 1 && !w.facts.Simulated {
		a.Nodes = []string{w.state.Hostname()}
	}
	a.Nodes = engine.NodeNames(a.Nodes, of.Nodes)
	return a
}

// watch returns a function that shows the rounds on a terminal. Round 0 clears the line.
func (o *railsOptions) watch(s State) func(done int, r rails.Round) {
	return func(done int, r rails.Round) {
		switch {
		case o.run.quiet:
		case done == 0:
			s.rewrite("")
		default:
			s.rewrite(fmt.Sprintf("[round %d] %s", done, rails.KindName(r.Kind)))
		}
	}
}

// countedDriver is the driver of a survey that also reads the counters of the nodes' NICs.
type countedDriver struct {
	rails.Exchanger
	// simulated are the counters of the loopback's NICs; nil on hardware.
	simulated *fabric.Counters
	// read returns the current counters; nil if no node has counters.
	read func() []record.NICCounters
	// nodes are the names of the nodes. devices are the GPUs of all ranks; nil if simulated.
	nodes   []string
	devices []record.Device
	// numbered is true if the GPUs are simulated and have no PCI address. The number of a GPU then
	// determines its NIC in the simulated topology.
	numbered bool
	// `without` is the reason why no counters are read, if this is known in advance.
	without string
}

// counted adds counters to an open driver. They come from /sys, from the folder that --counters
// names, or from the simulation.
func (o *railsOptions) counted(u *engine.Setup, d engine.Ranks, nodes []string, devices []record.Device) *countedDriver {
	c := &countedDriver{Exchanger: d.(rails.Exchanger), nodes: nodes, devices: devices, numbered: u.Machine != nil} //nolint:forcetypeassert // the caller has checked the type
	c.read = func() []record.NICCounters { return plan.CountersOf(d) }
	switch {
	case o.run.counters == "off":
		c.read, c.without = func() []record.NICCounters { return nil }, "--counters off"
	case u.Machine == nil:
	case o.run.counters != "auto":
		c.read = func() []record.NICCounters { return simulatedNodes(plan.CountersOf(d), nodes) }
	default:
		if c.simulated = u.Machine.Counters(); c.simulated == nil {
			c.without = "the simulated machine has no NICs"
			break
		}
		c.read = func() []record.NICCounters { return c.simulated.Read(nodes) }
	}
	return c
}

// simulatedNodes replaces the node names in counters that a process of the loopback has read.
func simulatedNodes(all []record.NICCounters, nodes []string) []record.NICCounters {
	out := make([]record.NICCounters, 0, len(all))
	for _, c := range all {
		for i, name := range nodes {
			if c.Node == fmt.Sprint("n", i) {
				c.Node = name
				break
			}
		}
		out = append(out, c)
	}
	return out
}

// Exchange also counts the bytes of a simulated exchange.
func (c *countedDriver) Exchange(ctx context.Context, e plan.Exchange) ([]float64, error) {
	seconds, err := c.Exchanger.Exchange(ctx, e)
	if err == nil && c.simulated != nil {
		for rank, to := range e.To {
			if to >= 0 {
				c.simulated.Move(rank, to, uint64(e.Warmup+e.Launches)*uint64(e.Case.Layout.Bytes)) //nolint:gosec // both are positive
			}
		}
	}
	return seconds, err
}

// rounds runs the rounds of the plan, and then the rings that show which NICs each GPU uses. It
// adds the counts of the NICs to the survey and to the evidence. If no GPU's NIC could be
// identified, unused has the reasons. failed is the error that ended the rounds early.
func (c *countedDriver) rounds(ctx context.Context, v rails.Measurement, about *rails.Survey, in *evidence.Input) (result rails.Rounds, unused []string, failed error) {
	const what = "the rails that the GPUs really use: "
	before := c.read()
	if result, failed = v.Run(ctx, c); result.Rounds == 0 {
		return result, nil, failed
	}
	if len(before) > 0 {
		about.Counters = record.RoseNICs(before, c.read())
		in.NICs = byPlace(about.Counters, about.Nodes)
	}
	switch {
	case v.Fleet.Nodes < 2: // no bytes leave the node
	case c.without != "":
		unused = []string{what + c.without}
	case len(before) == 0:
		unused = []string{what + "no node has counters of NICs that can be read (/sys/class/infiniband)"}
	case failed != nil:
		unused = []string{what + "the run ended before their rings"}
	default:
		var rings []rails.Ring
		rings, failed = v.CountRings(ctx, c, result.Rounds, c.read)
		for _, r := range rings {
			about.ActualRails = append(about.ActualRails, rails.ActualRails(c.nodes, r, c.expects(r.GPU, v.Fleet))...)
		}
		in.Actual = about.ActualRails
	}
	return result, unused, failed
}

// expects returns a function that reports whether a NIC belongs to the rail of one of the job's
// GPUs. It compares the PCI parents that the NIC and the GPU have in common. It uses the PCI
// address of the rank's GPU, because the number of a GPU in the job may differ from its number on
// the node.
func (c *countedDriver) expects(gpu int, f rails.Fleet) func(node int, n record.NICCounters) bool {
	return func(node int, n record.NICCounters) bool {
		if c.numbered || len(c.devices) != f.Nodes*f.GPUs {
			return c.numbered && n.GPU == gpu
		}
		own := c.devices[node*f.GPUs+gpu].PCI
		return own != "" && slices.ContainsFunc(n.PCI, func(pci string) bool { return strings.EqualFold(pci, own) })
	}
}
