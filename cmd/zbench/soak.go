package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"zbench/bench/engine"
	"zbench/bench/folder"
	"zbench/bench/gate"
	"zbench/bench/plan"
	"zbench/bench/record"
	"zbench/bench/slice"
	"zbench/bench/soak"
	"zbench/bench/spec"
	"zbench/bench/unit"
)

// soakOptions are the options of soak.
type soakOptions struct {
	// run says how the processes start and in which world.
	run                worldRun
	attempts, launches int
	lasts              time.Duration
	leftOut            []string
}

var soakHelp = listedBy("soak")

const soakLong = `soak looks for data that arrive wrong, above all in the first message on new
connections. An attempt makes new communicators, launches one collective on
them, and checks every element on every rank; more launches follow on the same
connections, each with new data (--launches). The arms take turns in random
order: the collectives in which every rank receives; sizes around changes of
protocol and of chunks; one communicator of all ranks, and one for each GPU
number with a rank on each node, side by side; data written by a kernel on the
launch's own stream, or on another one that the launch waits for by an event,
without the host.

Wrong data are attributed to the sender (of reductions to the ranks that explain
them), with receivers, elements and what stands there: zeros, what a buffer held
before, data from elsewhere, one bit. Arms that are wrong more often than others
beyond chance are named. Where nothing is wrong, the largest rate that is
possible follows from the number of attempts, for this number of hosts only.

What the result relies on is read from the environment: the protocol
(NCCL_PROTO), the GDR flush, GPUDirect (in NCCL_DEBUG_FILE). What is not known
is NOT CHECKED. Variables are read when a process starts: run soak once for each
value to compare. The exit code is 0 if all is right, 4 if data were wrong, and
6 if a precondition was not checked. The processes start as those of zbench
collectives do.`

func newSoak(s State) *cobra.Command {
	var o soakOptions
	cmd := &cobra.Command{
		Use: "soak", Short: "Look for wrong data in the first message of new connections", Args: noArgs,
		Long: soakLong,
		Example: `  zbench soak --nodes 2                         ten minutes, in an allocation
  NCCL_PROTO=Simple zbench soak --nodes 16 --for 8h
  zbench soak --nodes 2 --backend loopback --attempts 200 --fault stale_send:node=1,gpu=0,first=1,part=0.35`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.run.start(cmd.Context(), s, func(ctx context.Context) error { return o.soak(ctx, s, cmd) })
		},
	}
	o.run.addWorldFlags(cmd, "soak", specRows([]string{"sizes"})...)
	f := cmd.Flags()
	f.IntVar(&o.attempts, "attempts", 0, "most attempts (default no limit but --for)")
	f.DurationVar(&o.lasts, "for", 10*time.Minute, "no attempt begins after that time")
	f.IntVar(&o.launches, "launches", 2, "verified launches of an attempt, the first message included")
	o.run.addFlags(f, "folder to create for soak.json and report.html (default a new dated one)")
	o.run.addForce(f)
	o.run.counters = "off"
	return cmd
}

// soak makes attempts in the world, or starts the processes that do so.
func (o *soakOptions) soak(ctx context.Context, s State, cmd *cobra.Command) error {
	switch {
	case o.attempts < 0 || o.attempts > 1e9:
		return usagef(soakHelp, "--attempts is 1 to 1000000000, not %d", o.attempts)
	case o.launches < 1 || o.launches > 1000:
		return usagef(soakHelp, "--launches is 1 to 1000, not %d", o.launches)
	case o.lasts <= 0:
		return usagef(soakHelp, "--for is a time such as 10m or 8h, not %s", o.lasts)
	}
	if err := o.run.deadlines.check(); err != nil {
		return err
	}
	sweep := o.run.want.Sweep
	if len(sweep.Sizes) == 0 {
		sweep.Sizes = soak.Sizes
	}
	sweep.Cache, sweep.Collectives = engine.Warm, soak.Names()
	l, err := o.run.place(s, cmd)
	if err != nil {
		return err
	}
	return o.run.take(ctx, s, l, task{
		row: "Soak", dated: true,
		kept:     func(folder string) string { return "the attempts before are judged in " + folder },
		announce: o.announcement,
		prepare:  o.prepare,
		tooLarge: func(c plan.Case) error {
			return usagef("give smaller --sizes", "%s of %s: %s", c.Collective.Name, unit.Bytes(c.Requested), c.Skip)
		},
		measure: o.measure,
	})
}

// arms returns the cases that take turns in a world.
func (o *soakOptions) arms(w spec.World) ([]plan.Case, error) {
	cases, err := soak.Cases(w, o.run.want.Sweep.Sizes)
	if err != nil {
		err = usage(err, "give --nodes, --gpus-per-node or -g, and other --sizes; "+soakHelp)
	}
	return cases, err
}

// announcement says what will be done.
func (o *soakOptions) announcement(w spec.World) (string, error) {
	cases, err := o.arms(w)
	if err != nil {
		return "", err
	}
	text := fmt.Sprintf("nodes: %d; GPUs on each: %d; arms: %d; launches of an attempt: %d; for %s", w.Nodes, w.PerNode(), len(cases), o.launches, o.lasts)
	if o.attempts > 0 {
		text += fmt.Sprintf(" or %s", unit.Count(o.attempts, "attempt"))
	}
	return text, nil
}

// prepare resolves the machine, with communicators of one GPU per node.
func (o *soakOptions) prepare(_ State, e *engine.Engine, want spec.Spec) (*engine.Setup, []plan.Case, error) {
	u, err := e.Prepare(want)
	if err != nil {
		return nil, nil, err
	}
	if w := u.Spec.World; w.Nodes > 1 && w.PerNode() > 1 {
		want.Sweep.Strides = []int{w.PerNode()}
		if u, err = e.Prepare(want); err != nil {
			return nil, nil, err
		}
	}
	cases, err := o.arms(u.Spec.World)
	return u, cases, err
}

// measure makes the attempts in an open world and judges them.
func (o *soakOptions) measure(ctx context.Context, w *openWorld) (*result, error) {
	s, u := w.state, w.setup
	for _, c := range w.cases {
		if why := w.ranks.Unverifiable(c); why != "" {
			o.leftOut = append(o.leftOut, fmt.Sprintf("%s of %s on %s: %s", c.Collective.Name, unit.Bytes(c.Requested), unit.Count(c.Ranks, "rank"), why))
		}
	}
	if w.cases = slice.Where(w.cases, func(c plan.Case) bool { return w.ranks.Unverifiable(c) == "" }); len(w.cases) == 0 {
		return nil, usagef("give smaller --sizes", "no arm can be verified: %s", o.leftOut[0])
	}
	if err := w.allocate(ctx, nil); err != nil {
		return nil, err
	}
	var t soak.Tally
	begin := s.Now()
	passed := func() time.Duration { return s.Now().Sub(begin) }
	err := soak.Soak{
		Cases: w.cases, Seed: u.Spec.Seed, Attempts: o.attempts, Launches: o.launches,
		Enough: func() bool { return passed() >= o.lasts },
		Watch: func(a soak.Attempt) {
			t.Add(a)
			o.watch(s, &t, passed())
		},
	}.Run(ctx, w.ranks)
	if !o.run.quiet {
		s.rewrite("")
	}
	if t.Attempts == 0 {
		return nil, err
	}
	d := o.document(w)
	if !d.Simulated {
		d.Seconds = passed().Seconds()
	}
	d.Judge(&t, w.place())
	r := result{shown: d.Shown(toolVersion())}
	r.after = func(dir *folder.Folder) { s.note(o.run.quiet, "Wrote %s\n", dir.File("report.html")) }
	return &r, err
}

// rated is the number of attempts after which their rate is known.
const rated = 5

// watch prints the rate of attempts once it is known, and shows their number on a terminal.
func (o *soakOptions) watch(s State, t *soak.Tally, passed time.Duration) {
	if o.run.quiet {
		return
	}
	if t.Attempts == rated {
		each := passed.Seconds() / rated
		s.note(false, "%s an attempt: 1,000 attempts take %.2g hours; in %s there are about %s\n", unit.Seconds(each), each*1000/3600, o.lasts, unit.Comma(int(o.lasts.Seconds()/each)))
	}
	s.rewrite(fmt.Sprintf("[attempt %d] %d wrong", t.Attempts, t.Wrong))
}

// document returns what is known about the soak apart from its attempts.
func (o *soakOptions) document(w *openWorld) *soak.Document {
	u := w.setup
	d := &soak.Document{
		Simulated: w.facts.Simulated, Backend: u.Spec.Backend, Faults: u.Spec.Faults, Seed: u.Spec.Seed, Launches: o.launches,
		Nodes: engine.NodeNames(slices.Clone(w.facts.Hosts), u.Spec.World.Nodes), GPUs: u.Spec.World.PerNode(),
		LeftOut: append([]string{}, o.leftOut...), Preconditions: []soak.Precondition{},
	}
	if u.Machine != nil {
		d.Fabric = u.Spec.Fabric
	}
	if f, planted := w.ranks.(interface{ Fired() int }); planted && d.Simulated {
		d.Fired = f.Fired()
	}
	c := soak.Conditions{
		Nodes: len(d.Nodes), RCCL: gate.Library(&record.Record{Source: record.Source{Libraries: w.facts.Libraries}}), Pollara: record.Pollara(w.facts.NICs),
		Env: w.state.Getenv, Log: o.log(w.state),
	}
	d.Environment = c.Variables()
	if !d.Simulated {
		d.Preconditions = c.Preconditions()
	}
	return d
}

// log returns what the library has written into its log file.
func (o *soakOptions) log(s State) string {
	name := s.Getenv("NCCL_DEBUG_FILE")
	if name == "" || strings.Contains(name, "%") {
		return ""
	}
	text, err := s.FS.ReadFile(name)
	if err != nil {
		return "" // then GPUDirect is not checked, and a note says what to set
	}
	return string(text)
}

// place names the node and GPU of a rank, with its rail and NIC if there are several nodes.
func (w *openWorld) place() func(rank int) (gpu, node string) {
	each, nodes := w.setup.Spec.World.PerNode(), engine.NodeNames(slices.Clone(w.facts.Hosts), w.setup.Spec.World.Nodes)
	counters := plan.CountersOf(w.ranks)
	return func(rank int) (gpu, node string) {
		node = nodes[rank/each]
		gpu = fmt.Sprintf("GPU %d of %s (rank %d", rank%each, node, rank)
		if len(nodes) > 1 {
			gpu += fmt.Sprintf(", rail %d", rank%each)
		}
		for _, c := range counters {
			own := c.GPU == rank%each
			if rank < len(w.facts.Devices) {
				own = slices.Contains(c.PCI, w.facts.Devices[rank].PCI)
			}
			if own && c.Node == node {
				gpu += ", NIC " + c.NIC
			}
		}
		return gpu + ")", node
	}
}
