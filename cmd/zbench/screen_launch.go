package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"zbench/bench/exit"
	"zbench/bench/unit"
	"zbench/internal/launch"
)

// sizeFlag is a size in bytes: 1G, 256M.
type sizeFlag int64

func (v *sizeFlag) String() string { return unit.Bytes(int64(*v)) }
func (v *sizeFlag) Type() string   { return "bytes" }
func (v *sizeFlag) Set(text string) error {
	n, err := unit.ParseBytes(text)
	if err == nil && n < 4096 {
		err = fmt.Errorf("%d is too small: at least 4096", n)
	}
	*v = sizeFlag(n)
	return err
}

// startOf is one process for each node, which writes into dir.
func (o *nodeScreenOptions) startOf(s State, l launching, dir string) launch.Start {
	args := childArgs(s.Args)
	if i := slices.Index(args, "screen"); i >= 0 {
		args = slices.Insert(args, i+1, "--launch", "env")
	}
	start := launch.Start{
		Method: l.method, Role: l.role, Simulated: simulated(o.backend, s), Nodes: l.want.World.Nodes, Processes: 1,
		Program: s.Executable, Args: append(args, "--out", dir), Hostfile: o.launch.hostfile, Hosts: l.hosts,
		Environ: s.Environ(), Key: fmt.Sprintf("screen/%s/%d", s.Hostname(), s.PID), GPUs: launch.GPUs(s.Getenv),
	}
	for _, text := range o.launch.slurmArgs {
		start.SlurmArgs = append(start.SlurmArgs, strings.Fields(text)...)
	}
	return start
}

// names are the hosts that are to report, as far as the launcher tells them.
func (l launching) names(s State) []string {
	var list []string
	switch l.method {
	case launch.MPI:
		for _, h := range l.hosts {
			list = append(list, h.Name)
		}
	case launch.Slurm:
		list, _ = launch.HostsOf(s.Getenv("SLURM_JOB_NODELIST")) // without, they are counted
	case launch.Auto, launch.Inproc, launch.Local, launch.Env:
	}
	if len(list) != l.want.World.Nodes { // a part of them: which is not known
		return nil
	}
	return list
}

// dryRun prints what would be started.
func (o *nodeScreenOptions) dryRun(s State, l launching) error {
	if !l.starts() {
		_, err := fmt.Fprintf(s.Stdout, "this process screens %d nodes\n", max(o.nodes, 1))
		return err
	}
	lines, err := launch.Command(o.startOf(s, l, "DIR"))
	if err != nil {
		return usage(err, "`zbench screen --help-all` lists the flags")
	}
	for _, line := range lines {
		if _, err := fmt.Fprintln(s.Stdout, line); err != nil {
			return err
		}
	}
	return nil
}

// measurements bounds how many measurements of a node follow each other: memory, a
// collective, and one for each NIC.
const measurements = 12

// startNodes starts a process on each node and waits until all have ended, at most until
// the deadline. How they end is not judged: what they have written is.
func (o *nodeScreenOptions) startNodes(ctx context.Context, s State, l launching, dir string) error {
	shared, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	start := o.startOf(s, l, shared)
	lines, err := launch.Command(start)
	if err != nil {
		return usage(err, "`zbench screen --help-all` lists the flags; --launch inproc screens this node alone")
	}
	f := &children{s: s, ends: make(chan ending, len(lines))}
	for _, line := range lines {
		if err := f.add(Command{Argv: line.Argv, Environ: line.Environ(start.Environ, ""), Interrupts: interruptsOf[l.method]}); err != nil {
			f.kill()
			return exit.With(exit.Run, fmt.Errorf("%s cannot be started: %w", line.Argv[0], err), "--dry-run prints the command")
		}
	}
	limit := time.NewTimer(time.Duration((o.seconds + measurements*o.deadline) * float64(time.Second)))
	defer limit.Stop()
	for left := len(lines); left > 0; left-- {
		select {
		case <-f.ends:
		case <-limit.C:
			f.killed(left)
			s.note(false, "zbench: the nodes have not ended within their deadline; those that reported are compared\n")
			return nil
		case <-ctx.Done():
			f.killed(left)
			return context.Cause(ctx)
		}
	}
	return nil
}
