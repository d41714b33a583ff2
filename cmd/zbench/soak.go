package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"zbench/bench/answers/gate"
	"zbench/bench/answers/judge"
	"zbench/bench/answers/soak"
	"zbench/bench/base/exit"
	"zbench/bench/base/folder"
	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
	"zbench/bench/engine"
	"zbench/bench/run/plan"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
	"zbench/internal/launch"
)

// Names of files in the folder of a soak.
const (
	soakFile    = "soak.json"
	soakJournal = "soak.jsonl"
)

// soakOptions are the options of soak.
type soakOptions struct {
	// run says how the processes start and in which world.
	run                worldRun
	attempts, launches int
	lasts              time.Duration
	vary               []string
	risk               bool
	// header is the first line of the journal. saved are the attempts in it.
	header  soak.Header
	saved   []soak.Attempt
	leftOut []string
}

var soakHelp = listedBy("soak")

const soakLong = `soak looks for data that arrive wrong, above all in the first message on new
connections. An attempt makes new communicators, launches one collective on
them, and checks every element on every rank; more launches follow on the same
connections, each with new data (--launches). The cases take turns in random
order: the collectives in which every rank receives; sizes around changes of
protocol and of chunks; one communicator of all ranks, and one for each GPU
number with a rank on each node, side by side. Independently of them so do the
levels of six factors: data written on the launch's own stream, or on another
one that the launch waits for by an event, without the host; by a kernel, or by
a copy from the host; streams of normal or high priority; a call, or a replayed
graph; nothing beside it, or a matrix product; communicators of unique ids, or
split from one of all ranks without sharing its resources. What the libraries
cannot do is left out by name.

Libraries read variables when a process starts. With --vary, values of
variables take turns, too: each combination in worlds of its own that start
again and again, in random order. --vary NCCL_PROTO alone has the values to
compare, as have NCCL_ALGO, NCCL_GDR_FLUSH_DISABLE, GPU_MAX_HW_QUEUES,
RCCL_GDR_FLUSH_GPU_MEM_NO_RELAXED_ORDERING, RCCL_CHEAP_POST_SEND_FENCE_OFF and
RCCL_GFX9_CHEAP_FENCE_OFF (its older name). What is known to hang is not run
without --risk.

Wrong data are attributed to the sender (of reductions to the ranks that explain
them), with receivers, elements and what stands there: zeros, what a buffer held
before, data from elsewhere, one bit. Arms that are wrong more often than others
beyond chance are named. Where nothing is wrong, the largest rate that is
possible follows from the number of attempts, for this number of hosts only.

What the result relies on is read from the environment: the protocol
(NCCL_PROTO), the GDR flush, GPUDirect (in NCCL_DEBUG_FILE). What is not known
is NOT CHECKED. The exit code is 0 if all is right, 4 if data were wrong, and
6 if a precondition was not checked. --resume continues a soak; --for then
begins again, and --attempts may be more. The processes start as those of
a sweep do.`

func newSoak(s State) *cobra.Command {
	var o soakOptions
	cmd := &cobra.Command{
		Use: "soak", Short: "Look for wrong data in the first message of new connections", Args: noArgs,
		Long: soakLong,
		Example: `  zbench soak --nodes 2                         ten minutes, in an allocation
  zbench soak --nodes 16 --for 8h --vary NCCL_PROTO=Simple,LL128 --vary NCCL_GDR_FLUSH_DISABLE
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
	f.StringArrayVar(&o.vary, "vary", nil, "NAME=A,B…: values of a variable that take turns, an empty one is not set; repeated")
	f.BoolVar(&o.risk, "risk", false, "run settings, too, with which RCCL is known to hang")
	o.run.addFlags(f, "folder to create for soak.json and report.html (default a new dated one)")
	f.StringVar(&o.run.resume, "resume", "", "continue the soak in this folder with its own options")
	o.run.addForce(f)
	o.run.counters = "off"
	return cmd
}

// soak either makes attempts in the world, starts the processes that make them, or runs one world
// per environment.
func (o *soakOptions) soak(ctx context.Context, s State, cmd *cobra.Command) error {
	if err := o.ask(s, cmd); err != nil {
		return err
	}
	sweep := o.run.want.Sweep
	if len(sweep.Sizes) == 0 {
		sweep.Sizes = soak.Sizes
	}
	sweep.Cache, sweep.Collectives = spec.Warm, soak.Names()
	l, err := o.run.place(s, cmd)
	switch {
	case err != nil:
		return err
	case len(o.header.Vary) > 0:
		return o.environments(ctx, s, cmd, l)
	}
	return o.run.take(ctx, s, l, task{
		row: "Soak", dated: true, kept: soakAgain,
		announce: o.announcement,
		prepare:  o.prepare,
		tooLarge: func(c plan.Case) error {
			return usagef("give smaller --sizes", "%s of %s: %s", c.Collective.Name, unit.Bytes(c.Requested), c.Skip)
		},
		measure: o.measure,
	})
}

// soakAgain says that the attempts of a soak that ended early remain valid, and how to continue.
func soakAgain(folder string) string {
	return "the attempts before stand; " + plain.Typed("zbench", "soak", "--resume", folder) + " continues"
}

// ask reads the request of the folder that is resumed, and refuses a request that cannot run.
func (o *soakOptions) ask(s State, cmd *cobra.Command) (err error) {
	changed := cmd.Flags().Changed
	if changed("resume") {
		if o.header, o.saved, err = readSoak(s, o.run.resume); err != nil {
			return err
		}
		want, list, err := unchanged(cmd, o.header.Spec, false)
		if err = cmp.Or(err, clashes(o.run.resume, list)); err != nil {
			return err
		}
		o.run.want, o.launches = want, o.header.Launches
		if !changed("attempts") {
			o.attempts = o.header.Attempts
		}
		if !changed("for") {
			o.lasts = duration(o.header.Seconds)
		}
	} else if o.header.Vary, err = soak.ReadVary(o.vary); err != nil {
		return usage(fmt.Errorf("--vary: %w", err), "--vary NCCL_ALGO=Ring,Tree; "+soakHelp)
	}
	switch {
	case o.attempts < 0 || o.attempts > 1e9:
		return usagef(soakHelp, "--attempts is 1 to 1000000000, not %d", o.attempts)
	case o.launches < 1 || o.launches > 1000:
		return usagef(soakHelp, "--launches is 1 to 1000, not %d", o.launches)
	case o.lasts <= 0:
		return usagef(soakHelp, "--for is a time such as 10m or 8h, not %s", o.lasts)
	}
	return o.run.deadlines.check()
}

// readSoak reads the journal in a folder.
func readSoak(s State, path string) (soak.Header, []soak.Attempt, error) {
	return readJournal(s, "soak", path, soakJournal, soak.ReadJournal)
}

// journal writes the attempts so far and opens the journal for more.
func (o *soakOptions) journal(dir *folder.Folder, want spec.Spec, simulated bool) (*folder.Journal[soak.Attempt], error) {
	h := &o.header
	h.Schema, h.Spec, h.Attempts, h.Launches, h.Seconds = soak.JournalSchema, want, o.attempts, o.launches, o.lasts.Seconds()
	return openJournal(dir, "soak", soakJournal, h, &h.Run, simulated, o.saved)
}

// arms returns the cases that are run by turns in a world.
func (o *soakOptions) arms(w spec.World) ([]plan.Case, error) {
	cases, err := soak.Cases(w, o.run.want.Sweep.Sizes)
	if err != nil {
		err = usage(err, "give --nodes, --gpus-per-node or -g, and other --sizes; "+soakHelp)
	}
	return cases, err
}

// announcement describes the attempts that will be made.
func (o *soakOptions) announcement(w spec.World) (text string, time plan.Span, err error) {
	cases, err := o.arms(w)
	if err != nil {
		return "", time, err
	}
	text = fmt.Sprintf("nodes: %d; GPUs on each: %d; cases: %d, with %d factors of two levels each; launches of an attempt: %d; for %s", w.Nodes, w.PerNode(), len(cases), len(soak.Factors()), o.launches, o.lasts)
	if o.attempts > 0 {
		text += fmt.Sprintf(" or %s", unit.Count(o.attempts, "attempt"))
	}
	return text, plan.Span{High: o.lasts.Seconds()}, nil
}

// prepare resolves the machine. It adds communicators of one GPU per node.
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
	factors, leftOut := soak.Possible(w.cases[0], w.ranks.Unverifiable)
	o.leftOut = append(o.leftOut, leftOut...)
	if err := o.hangs(w); err != nil {
		return nil, err
	}
	if err := w.allocate(ctx, plan.StepGemm.Bytes); err != nil {
		return nil, err
	}
	j, err := o.journal(w.dir, o.run.want, w.facts.Simulated)
	if err != nil {
		return nil, err
	}
	defer j.Close() //nolint:errcheck // each attempt is on disk already
	var t soak.Tally
	begin := s.Now()
	passed := func() time.Duration { return s.Now().Sub(begin) }
	fired := func() int { return 0 }
	if f, planted := w.ranks.(interface{ Fired() int }); planted && w.facts.Simulated {
		fired = f.Fired
	}
	err = soak.Soak{
		Cases: w.cases, Factors: factors, Seed: u.Spec.Seed, Attempts: o.attempts, Launches: o.launches, Saved: o.saved, Fired: fired,
		Enough: func() bool { return passed() >= o.lasts },
		Watch: func(a soak.Attempt) error {
			t.Add(a)
			if t.Attempts <= len(o.saved) {
				return nil
			}
			o.watch(s, &t, passed())
			return j.Append(a)
		},
	}.Run(ctx, w.ranks)
	if !o.run.quiet {
		s.rewrite("")
	}
	if t.Attempts == 0 {
		return nil, err
	}
	d := o.document(w)
	d.Complete = err == nil
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
	if t.Attempts == rated+len(o.saved) {
		each := passed.Seconds() / rated
		s.note(false, "%s an attempt: 1,000 attempts take %.2g hours; in %s there are about %s\n", unit.Seconds(each), each*1000/3600, o.lasts, unit.Comma(int(o.lasts.Seconds()/each)))
	}
	s.rewrite(fmt.Sprintf("[attempt %d] %d wrong", t.Attempts, t.Wrong))
}

// document returns the document of the soak without the results of its attempts.
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
	known := w.known()
	c := soak.Conditions{Nodes: known.Nodes, RCCL: known.RCCL, Pollara: known.Pollara, Env: known.Env, Log: string(w.state.libraryLog())}
	d.Environment = c.Variables()
	if !d.Simulated {
		d.Preconditions = c.Preconditions()
	}
	return d
}

// known returns the facts on which known issues depend.
func (w *openWorld) known() judge.IssueFacts {
	f := judge.IssueFacts{
		Nodes: w.setup.Spec.World.Nodes, GPUs: w.setup.Spec.World.PerNode(), Env: w.state.Getenv, Pollara: record.Pollara(w.facts.NICs),
		RCCL: gate.Library(&record.Record{Source: record.Source{Libraries: w.facts.Libraries}}),
	}
	if len(w.facts.Devices) > 0 {
		f.GPU = w.facts.Devices[0].Name
	}
	return f
}

// hangs refuses settings that are known to hang, unless --risk is given.
func (o *soakOptions) hangs(w *openWorld) error {
	hang := slice.Where(judge.IssuesOf(w.known()), func(k judge.KnownIssue) bool { return k.Risk == judge.Hangs })
	if len(hang) == 0 || o.risk {
		return nil
	}
	return exit.With(exit.Want, fmt.Errorf("NOT CHECKED: known to hang: %s: %s (%s)", hang[0].What, hang[0].Cost, hang[0].Source), hang[0].Next+"; --risk runs it all the same")
}

// place returns a function that names the node and the GPU of a rank. With several nodes it also
// names the rail and the NIC.
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

// environments makes attempts in one world per environment, by turns.
func (o *soakOptions) environments(ctx context.Context, s State, cmd *cobra.Command, l launching) error {
	if l.role.Several() && l.method == launch.Env {
		return usagef("start it once, in the allocation; it starts the worlds itself", "--vary, but this process is one of several of a launcher (%s)", l.role.Text())
	}
	started := s.Now()
	u, backend, err := o.run.dryPrepare(s, l, false)
	if err != nil {
		return err
	}
	text, time, err := o.announcement(u.Spec.World)
	if err != nil {
		return err
	}
	if text += fmt.Sprintf("; environments: %d", len(soak.Environments(o.header.Vary))); o.run.launch.dry {
		return o.run.dryMeasurement(s, l, u.Spec, backend, "Soak", text, time)
	}
	s.note(o.run.quiet, "%s\n", text)
	dir, err := o.run.open(s.host(o.run.quiet))
	if err != nil {
		return err
	}
	defer dir.Close() //nolint:errcheck // the next run replaces a lock that remains
	o.run.want.World = u.Spec.World
	j, err := o.journal(dir, o.run.want, false)
	if err != nil {
		return err
	}
	defer j.Close() //nolint:errcheck // nothing is appended
	cases, err := o.arms(u.Spec.World)
	if err != nil {
		return err
	}
	worlds, ended := o.turns(ctx, s, dir, commonArgs(cmd), 4*len(cases))
	d := soak.Gather(worlds)
	switch {
	case ended != nil:
		ended = exit.With(exit.Interrupted, ended, soakAgain(dir.Path))
	case d == nil:
		ended = exit.With(exit.Run, errors.New("no environment could be measured"), "the lines above say why")
	}
	if d == nil {
		return ended
	}
	d.Complete = d.Complete && ended == nil
	return s.deliver(o.run.brief(), result{
		shown: d.Shown(toolVersion()), dir: dir, started: started, verdict: ended,
		after: func(dir *folder.Folder) { s.note(o.run.quiet, "Wrote %s\n", dir.File("report.html")) },
	})
}

// `turns` runs the worlds of a soak one after the other. Each environment has equally many turns.
// An environment that failed is not run again. The error is the reason why the soak ended early.
func (o *soakOptions) turns(ctx context.Context, s State, dir *folder.Folder, common []string, arms int) (worlds []soak.World, _ error) {
	all := soak.Environments(o.header.Vary)
	turn, begun, failed, made := soak.Turns(o.run.want.Seed, len(all)), s.Now(), map[int]bool{}, 0
	most, each := arms, o.lasts/time.Duration(2*len(all)) // every environment gets two turns
	if o.attempts > 0 {
		most = min(most, max(1, o.attempts/len(all)))
	}
	for n := 1; len(failed) < len(all) && (o.attempts == 0 || made < o.attempts); n++ {
		left, i := o.lasts-s.Now().Sub(begun), turn()
		if left <= 0 {
			break
		}
		if failed[i] {
			continue
		}
		child := soakOptions{attempts: most, launches: o.launches, lasts: min(left, each), risk: o.risk}
		child.run.want, child.run.deadlines = o.run.want.Clone(), o.run.deadlines
		child.run.want.Seed += uint64(n) //nolint:gosec // the number is small
		if o.attempts > 0 {
			child.attempts = min(most, o.attempts-made)
		}
		w := soak.World{Environment: all[i]}
		err := child.world(ctx, s, dir.File(filepath.Join("worlds", fmt.Sprintf("%03d", n))), common, &w)
		worlds, made = append(worlds, w), made+len(w.Attempts)
		if err != nil {
			return worlds, err
		}
		s.note(o.run.quiet, "%s: %s%s\n", w.Environment, unit.Count(len(w.Attempts), "attempt"), map[bool]string{true: "; it is left out: " + w.Failed}[w.Failed != ""])
		if w.Failed != "" {
			failed[i] = true
		}
	}
	return worlds, nil
}

// world runs a child process in a folder of its own, or uses the result that an earlier child left
// there. An error ends the soak.
func (o *soakOptions) world(ctx context.Context, s State, path string, common []string, w *soak.World) error {
	if _, err := s.FS.Stat(filepath.Join(path, soakJournal)); errors.Is(err, fs.ErrNotExist) {
		dir, err := folder.New(s.host(true), path, "soak", true)
		if err != nil {
			return err
		}
		j, err := o.journal(dir, o.run.want, false)
		if err == nil {
			err = j.Close()
		}
		if err = errors.Join(err, dir.Close()); err != nil {
			return err
		}
	}
	take := func() (err error) {
		if text, missing := s.FS.ReadFile(filepath.Join(path, soakFile)); missing == nil {
			w.Document = &soak.Document{}
			err = json.Unmarshal(text, w.Document)
		}
		if err == nil {
			_, w.Attempts, err = readSoak(s, path)
		}
		return err
	}
	if err := take(); err != nil || w.Document != nil && w.Document.Complete {
		return err
	}
	args := slices.Concat([]string{"soak", "--resume", path, "--quiet"}, common)
	if o.risk {
		args = append(args, "--risk")
	}
	code, how, tail, ended := ownChild{
		args: args, environ: w.Environment.Over(s.Environ()), limit: o.lasts + o.run.deadlines.join + 2*o.run.deadlines.longest(),
		kept: evidenceBytes, what: "a world of " + w.Environment.String(), timer: newTimer,
	}.run(ctx, s)
	if err := take(); err != nil || ended != nil {
		return cmp.Or(ended, err)
	}
	if w.Document == nil || !w.Document.Complete {
		lines := tail.lines(evidenceLines)
		if i := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, "zbench: ") }); i > 0 {
			lines = lines[i:]
		}
		w.Failed = strings.Join(append([]string{cmp.Or(failure(code, how), "it ended early")}, lines[:min(len(lines), 2)]...), ": ")
	}
	return nil
}
