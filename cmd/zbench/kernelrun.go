package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"zbench/bench/base/exit"
	"zbench/bench/base/slice"
	"zbench/bench/engine"
	"zbench/bench/run/plan"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
	"zbench/hbm"
	"zbench/internal/launch"
	"zbench/internal/linux"
	"zbench/internal/native"
)

// kernelBench is a family with the flags of its command.
type kernelBench struct {
	hbm.Family
	flags []specFlag
}

// flagsHelp says which help text lists the flags of a benchmark.
func flagsHelp(benchmark string) string { return listedBy(spec.Command(benchmark)) }

// command returns the command of the benchmark.
func (b kernelBench) command(s State) *cobra.Command {
	cmd := &cobra.Command{Use: b.Name, Short: b.Short, Long: b.Long, Example: b.Example, Args: noArgs}
	b.add(cmd, s)
	return cmd
}

// add adds the flags to a command, and makes the command run the benchmark.
func (b kernelBench) add(cmd *cobra.Command, s State) {
	o := worldRun{command: spec.Command(b.Name)}
	o.want = spec.Spec{Schema: spec.Schema, Benchmark: b.Name, Kernels: &spec.Kernels{}}
	addFlags(cmd, &o.want, b.flags)
	addRunFlags(cmd, &o.runOptions)
	if b.Everywhere != nil {
		addLaunchFlags(cmd.Flags(), &o.launch)
		addDeadlineFlags(cmd.Flags(), &o.deadlines)
	} else {
		addDryRun(cmd.Flags(), &o.launch)
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return b.run(cmd, s, &o) }
}

// run measures into a new folder or resumes the run in an existing one. A request for all nodes
// runs in one process per node.
func (b kernelBench) run(cmd *cobra.Command, s State, o *worldRun) error {
	if err := o.gates.read(); err != nil {
		return err
	}
	if err := o.ask(s, cmd); err != nil {
		return err
	}
	want := o.kept(s)
	switch {
	case o.launch.dry && o.resume != "":
		return usagef("leave --resume out", "--dry-run of %s is for a new run", b.Name)
	case b.Everywhere != nil && b.Everywhere(want.Kernels):
		return o.start(cmd.Context(), s, func(ctx context.Context) error { return b.everywhere(ctx, cmd, s, o, want) })
	case want.World.Nodes > 1:
		return usagef(flagsHelp(b.Name), "--nodes needs --peak: other products run on one GPU")
	}
	return b.measure(cmd.Context(), cmd, s, o)
}

// `everywhere` measures all GPUs of all nodes. This process either leads the others, or starts one
// process per node.
func (b kernelBench) everywhere(ctx context.Context, cmd *cobra.Command, s State, o *worldRun, want spec.Spec) error {
	if err := o.deadlines.check(); err != nil {
		return err
	}
	given := o.world == nil && slices.ContainsFunc([]string{"nodes", "spec", "resume"}, cmd.Flags().Changed)
	want.World.GPUsPerNode, want.World.GPUsPerProcess = 1, 1 // a process has all GPUs of its node
	l, err := o.launch.place(s, want, given)
	if err != nil {
		return err
	}
	nodes := l.want.World.Nodes
	simulated := simulated(want.Backend, s)
	switch {
	case o.world != nil && !simulated && nodes != cmp.Or(l.nodesOfRole(), nodes):
		return usagef("start one on each node (srun --ntasks-per-node=1, mpirun --map-by ppr:1:node), or give --launch inproc: then each process measures alone",
			"%s, and %s measures all GPUs of its node by one process", l.role.Text(), b.Name)
	case o.launch.dry:
		o.want.World.Nodes = nodes
		return b.dry(ctx, s, o, l)
	case l.starts():
		return o.startWorld(ctx, s, l, false)
	case l.method == launch.Inproc && nodes > 1 && !simulated:
		return usagef("take an allocation of them (salloc), or give --hostfile; --backend loopback simulates nodes", "--nodes %d: this process has the GPUs of this node alone", nodes)
	}
	l.note(s, o.quiet)
	o.want.World.Nodes = nodes
	return b.measure(ctx, cmd, s, o)
}

// measure runs or resumes the request in this process, which may lead others.
func (b kernelBench) measure(ctx context.Context, cmd *cobra.Command, s State, o *worldRun) error {
	e, err := o.runOptions.engine(s)
	if err != nil {
		return err
	}
	e.OpenKernels = func(ctx context.Context, _ *engine.Setup) (*engine.Kernels, error) {
		if o.world != nil {
			return o.world.openKernels(ctx, s, b, o)
		}
		return b.opened(ctx, s, &o.runOptions, -1)
	}
	e.Watch = func(total, done int) engine.Watcher {
		o.live = newProgress(s, total, done, o.quiet, o.progress)
		return o.live
	}
	if cmd.Flags().Changed("resume") {
		return o.measure(ctx, s, e, func(kept spec.Spec) (spec.Spec, error) {
			want, list, err := unchanged(cmd, kept, false)
			return want, cmp.Or(err, clashes(o.resume, list))
		})
	}
	if b.Fill != nil && o.file == "" {
		s.note(o.quiet, "%s", b.Fill(o.want.Kernels))
	}
	if err := b.checked(&o.want, o.file); err != nil {
		return err
	}
	if o.launch.dry {
		return b.dry(ctx, s, o, launching{method: launch.Inproc, want: o.want})
	}
	return o.measure(ctx, s, e, nil)
}

// dry prints what would be started, the number of cases, and the longest time of their timings. The
// cases follow from the devices, so it opens them. Devices that only other nodes have are left out.
func (b kernelBench) dry(ctx context.Context, s State, o *worldRun, l launching) error {
	if err := b.checked(&o.want, o.file); err != nil {
		return err
	}
	backend, err := o.libraries.choose(s, o.want.Backend)
	if err != nil {
		return err
	}
	o.want.Backend = backend
	out, row := newDryRun()
	if err := o.dryLaunch(s, l, l.want, row); err != nil {
		return err
	}
	nodes := max(1, l.want.World.Nodes)
	row("Backend", "%s", backend)
	row("Nodes", "%d", nodes)
	switch k, err := b.opened(ctx, s, &o.runOptions, -1); {
	case err != nil && l.starts():
		row("Cases", "they follow from the devices of the nodes")
	case err != nil:
		return err
	default:
		defer k.Close()            //nolint:errcheck // nothing was launched that can fail
		if backend == "loopback" { // it has the devices of all nodes
			nodes = 1
		}
		out.WriteString(k.Estimate(nodes))
	}
	_, err = io.WriteString(s.Stdout, out.String())
	return err
}

// checked refuses an invalid request. file is the file with the request, if there is one.
func (b kernelBench) checked(want *spec.Spec, file string) error {
	if err := engine.CheckKernels(want); err != nil {
		return err
	}
	err := b.Check(want.Kernels)
	switch {
	case err == nil:
		return nil
	case file != "":
		err = fmt.Errorf("%s: %w", file, err)
	}
	return usage(err, flagsHelp(b.Name))
}

// opened opens the devices and returns the planned rows. node is the number of this process's node.
// It is −1 if there is only one node.
func (b kernelBench) opened(ctx context.Context, s State, o *runOptions, node int) (*engine.Kernels, error) {
	to := hbm.Opening{
		Spec: &o.want, Native: native.Choice{Backend: o.want.Backend, Getenv: s.Getenv}, Host: hostFacts(s), Rule: engine.KernelRule(o.want.Kernels),
		Sense: linux.Tree{FS: treeFS{s.FS, "/"}}.Sense,
		Say:   func(text string) { o.live.begins(text) }, Help: flagsHelp(b.Name), Node: node,
	}
	cache, err := o.libraries.fill(ctx, s, &to.Native)
	if err != nil {
		return nil, err
	}
	p, err := b.Open(to)
	if o.want.Backend != "loopback" {
		o.libraries.report(s, cache)
	}
	if err != nil {
		return nil, err
	}
	p.Spec, p.Facts.KernelDriver = o.want, driverVersion(s, o.want.Backend)
	return p, nil
}

// nodeKernels holds the kernels of one process among several. It only executes orders to measure
// passes.
type nodeKernels struct {
	plan.Process
	of *engine.Kernels
}

// Take measures a pass of a job. It stops when ctx ends, which happens if another process is lost.
func (n nodeKernels) Take(ctx context.Context, job, pass int) ([]record.Part, bool) {
	if job < 0 || job >= len(n.of.Jobs) {
		return nil, false
	}
	defer context.AfterFunc(ctx, n.of.Driver.Cancel)()
	return n.of.Jobs[job].Take(ctx, pass)
}

// Close closes the devices.
func (n nodeKernels) Close() error { return n.of.Close() }

// openKernels opens the kernels of all processes, one per node, as a single run.
func (w *world) openKernels(ctx context.Context, s State, b kernelBench, o *worldRun) (*engine.Kernels, error) {
	own, err := b.opened(ctx, s, &o.runOptions, 0)
	if err != nil {
		return nil, err
	}
	if err = w.joinKernels(ctx, s, own, o); err != nil {
		return nil, errors.Join(err, own.Close())
	}
	return own, nil
}

func (w *world) joinKernels(ctx context.Context, s State, own *engine.Kernels, o *worldRun) error {
	with := &opening{Backend: own.Spec.Backend, World: o.want.World, Deadlines: o.deadlines.deadlines(), Kernels: &own.Spec}
	with.World.GPUsPerNode, with.World.GPUsPerProcess = 1, 1 // one process per node, numbered in order
	if err := w.gather(ctx, with); err != nil {
		return err
	}
	jobs := *own // Join adds the jobs of the other processes to this copy
	g, end := w.group(ctx, nodeKernels{of: &jobs}, with, len(own.Facts.Devices))
	own.Driver = led{own.Driver, end}
	others, err := introductions[engine.Hello](w, g)
	if err != nil {
		return exit.With(exit.CodeOf(err), err, "fix the cause, and repeat the command")
	}
	all := append([]engine.Hello{own.Hello(with.Backend, tool(), 0, s.Hostname(), s.PID)}, others...)
	return own.Join(all, func(job, pass int) ([][]record.Part, error) {
		return g.Take(job, pass, float64(len(jobs.Jobs[job].Keys))*(own.Spec.Kernels.MaxTime+rowSeconds))
	})
}

// rowSeconds is the longest time, in seconds, that a row takes besides its timing: warm-up and
// checks.
const rowSeconds = 120.0

// openNode opens the kernels of a follower, as the leader's welcome requests.
func (o *worldRun) openNode(ctx context.Context, s State, role launch.Role, with *opening) (followed, json.RawMessage, error) {
	b := benchOf(with.Kernels.Benchmark)
	if b == nil {
		return nil, nil, fmt.Errorf("the leader's welcome: no kernel %q", with.Kernels.Benchmark)
	}
	s.Stderr = Stream{Writer: io.Discard} // the leader shows its own progress
	o.want = *with.Kernels
	own, err := b.opened(ctx, s, &o.runOptions, role.Rank)
	if err != nil {
		return nil, nil, err
	}
	text, err := json.Marshal(own.Hello(with.Backend, tool(), role.Rank, s.Hostname(), s.PID))
	return nodeKernels{of: own}, text, err
}

// led is the driver of the leader. Closing it ends the followers, too.
type led struct {
	engine.Driver
	end func()
}

func (d led) Close() error {
	d.end()
	return d.Driver.Close()
}

// flagsOf returns the flags of a benchmark's request. It returns none if this version does not know
// the benchmark.
func flagsOf(benchmark string) []specFlag {
	if b := benchOf(benchmark); b != nil {
		return b.flags
	}
	if benchmark != "" && benchmark != spec.Collectives {
		return nil
	}
	return specFlags
}

// kernelBenches has hbm, gemm and all kernels.
var kernelBenches = benches()

func benches() []kernelBench {
	return slice.Map(hbm.Families(), func(f hbm.Family) kernelBench { return kernelBench{Family: f, flags: familyFlags(f.Family)} })
}

// benchOf returns hbm, gemm or a kernel by name, or nil for collectives.
func benchOf(name string) *kernelBench {
	if i := slices.IndexFunc(kernelBenches, func(b kernelBench) bool { return b.Name == name }); i >= 0 {
		return &kernelBenches[i]
	}
	return nil
}

// trainingKernels returns the benchmarks of "zbench kernels", which have no command of their own.
func trainingKernels() []kernelBench {
	return slices.DeleteFunc(slices.Clone(kernelBenches), func(b kernelBench) bool { return spec.Command(b.Name) == b.Name })
}

// kernelNames lists the subcommands of "zbench kernels".
func kernelNames() []string {
	return slice.Map(trainingKernels(), func(b kernelBench) string { return b.Name })
}
