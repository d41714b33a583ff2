package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"zbench/bench/engine"
	"zbench/bench/run/plan"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
	"zbench/internal/launch"
)

// dryRun prints what the sweep would start, its number of cases and how long it would take. It does
// not measure, start or write anything.
func (o *sweepOptions) dryRun(ctx context.Context, s State, l launching, old *record.Journal) error {
	if o.format != "" && o.format != "table" {
		return usagef("leave --format out", "--dry-run prints text, not %s", o.format)
	}
	if l.method == launch.Env && l.role.Rank > 0 {
		return nil // rank 0 prints the text
	}
	u, backend, err := o.dryPrepare(s, l, old != nil)
	if err != nil {
		return err
	}
	out, row := newDryRun()
	if err := o.dryLaunch(s, l, u.Spec, row); err != nil {
		return err
	}
	if o.launch.screen {
		row("Screen", "all nodes first, one process on each; those that fail are left out")
	}
	row("Backend", "%s", backend)
	w := u.Spec.World
	row("World", "nodes: %d; GPUs on each: %d; GPUs driven by a process: %d; ranks: %d", w.Nodes, w.GPUsPerNode, w.GPUsPerProcess, w.Size())
	e, err := o.engine(s)
	if err != nil {
		return err
	}
	est, warning, err := e.Estimate(ctx, u, old)
	if err != nil {
		return err
	}
	out.WriteString(dryEstimate(s, u, est, warning))
	_, err = io.WriteString(s.Stdout, out.String())
	return err
}

// dryResume prints what remains of the sweep in a folder. It does not lock the folder.
func (o *sweepOptions) dryResume(ctx context.Context, s State, cmd *cobra.Command, l launching) error {
	old, err := engine.ReadRun(s.FS, o.resume, spec.Collectives)
	if err != nil {
		return err
	}
	want, err := o.joined(cmd, *old.Header.Record.Spec)
	if err != nil {
		return err
	}
	if l.method != launch.Inproc {
		want.World = l.want.World
	}
	l.want = want
	return o.dryRun(ctx, s, l, old)
}

// newDryRun begins the text of a dry run. row adds a line to it.
func newDryRun() (out *strings.Builder, row func(name, format string, args ...any)) {
	out = &strings.Builder{}
	fmt.Fprintln(out, "Dry run: nothing is started, measured or written.")
	return out, func(name, format string, args ...any) {
		fmt.Fprintf(out, "%-12s %s\n", name, fmt.Sprintf(format, args...))
	}
}

// dryPrepare checks the request for the world of the launch method, and returns the name of its
// backend.
func (o *worldRun) dryPrepare(s State, l launching, resumed bool) (*engine.Setup, string, error) {
	want := l.want
	elsewhere := l.method == launch.Slurm || l.method == launch.MPI
	if backend, err := chooseBackend(s, want.Backend); elsewhere && want.Backend == "auto" && (err != nil || backend == "loopback") {
		want.Backend = vendorOf("")
		u, err := engine.PrepareLaunch(want)
		return u, "chosen on the nodes (--backend auto); the estimate is for " + want.Backend, err
	}
	backend, err := o.libraries.choose(s, want.Backend)
	if err != nil {
		return nil, "", err
	}
	want.Backend = backend
	if l.method == launch.Inproc {
		u, err := engine.Prepare(want, resumed)
		return u, backend, err
	}
	u, err := engine.PrepareLaunch(want)
	return u, backend, err
}

// dryMeasurement prints how the processes of a measurement would start, what they would measure,
// and the time if it is known.
func (o *worldRun) dryMeasurement(s State, l launching, want spec.Spec, backend, name, what string, time plan.Span) error {
	out, row := newDryRun()
	if err := o.dryLaunch(s, l, want, row); err != nil {
		return err
	}
	row("Backend", "%s", backend)
	row(name, "%s", what)
	if time.High > 0 {
		out.WriteString(plan.Estimate{Seconds: time, Ranks: want.World.GPUs()}.Spent(backend == "loopback"))
	}
	_, err := io.WriteString(s.Stdout, out.String())
	return err
}

// dryLaunch prints how the processes would start.
func (o *worldRun) dryLaunch(s State, l launching, want spec.Spec, row func(name, format string, args ...any)) error {
	switch l.method {
	case launch.Inproc:
		row("Launch", "in this process (inproc)")
		return nil
	case launch.Env:
		row("Launch", "%s", l.role.Text())
		return nil
	default:
	}
	if token := givenToken(s); token != "" {
		if err := launch.CheckToken(token); err != nil {
			return usage(err, "unset it: zbench makes one; or export "+launch.TokenVariable+"=$(zbench token)")
		}
	}
	lines, err := launch.Command(o.startOf(s, l, want))
	if err != nil {
		return usage(err, launchHint(nil))
	}
	processes := want.World.GPUsPerNode / max(want.World.GPUsPerProcess, 1)
	row("Launch", "%s; nodes: %d; processes on each: %d", l.method, want.World.Nodes, processes)
	if l.role.Kind == launch.Alone && l.method == launch.Slurm {
		row("Allocation", "none yet; take one first, as: salloc --nodes=%d --exclusive --gpus-per-node=%d", want.World.Nodes, want.World.GPUsPerNode)
	}
	for _, line := range lines {
		row("Command", "%s", line.String())
	}
	row("Environment", "%s", environmentText(s, lines[0]))
	for _, note := range lines[0].Notes {
		row("Note", "%s", note)
	}
	return nil
}

// startOf returns the processes that a launch method would start.
func (o *worldRun) startOf(s State, l launching, want spec.Spec) launch.Start {
	w := want.World
	start := o.launch.startOf(s, l, cmp.Or(o.command, spec.Collectives), w.Nodes, w.GPUsPerNode/max(w.GPUsPerProcess, 1))
	start.Key = fmt.Sprintf("%s/%d", s.Hostname(), s.PID)
	start.Simulated, start.Taken = want.Backend == "loopback", s.Taken
	switch gpus := launch.GPUs(s.Getenv); {
	case start.Simulated || gpus == 0:
	case want.Kernels != nil: // one process per node
		start.GPUs = gpus
	default:
		start.GPUs = w.GPUsPerNode
	}
	if len(l.excluded) > 0 {
		start.Kept = l.kept
		start.SlurmArgs = append(start.SlurmArgs, "--exclude="+strings.Join(l.excluded, ","))
	}
	return start
}

// environmentText lists the variables that the launch command sets. It hides secrets.
func environmentText(s State, line launch.Line) string {
	var parts []string
	for _, v := range line.Set {
		switch {
		case v.Secret && s.Getenv(v.Name) != "":
			parts = append(parts, v.Name+" kept")
		case v.Secret:
			parts = append(parts, v.Name+" made for the run")
		case !line.Shown(v):
			parts = append(parts, v.Name+"="+v.Value)
		}
	}
	if len(line.Unset) > 0 {
		parts = append(parts, "cleared: "+strings.Join(line.Unset, " "))
	}
	return strings.Join(parts, "; ")
}

// dryEstimate returns the estimated duration, and the end of the job if it is known.
func dryEstimate(s State, u *engine.Setup, est plan.Estimate, warning string) string {
	text := est.Text(u.Machine != nil)
	if u.Machine == nil {
		text += "Sizes that the GPUs have no memory for are counted; the sweep skips them.\n"
	}
	if s.Getenv("SLURM_JOB_ID") == "" {
		return text
	}
	limit := "The end of the job is not known: this Slurm does not set SLURM_JOB_END_TIME.\n"
	if end, ok := launch.JobEnd(s.Getenv); ok {
		left := max(end.Sub(s.Now()), 0).Round(time.Second)
		limit = cmp.Or(warning, fmt.Sprintf("The job ends in %s (SLURM_JOB_END_TIME).", left)) + "\n"
	}
	return text + limit
}
