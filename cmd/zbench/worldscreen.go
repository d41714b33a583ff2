package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"zbench/bench/answers/fleet/nodescreen"
	"zbench/bench/base/exit"
	"zbench/bench/base/finding"
	"zbench/internal/launch"
)

// screenFirst screens all nodes of the job, so that the sweep starts only on nodes that pass. It
// stores the folder of the result in the flags. A job with more nodes than --nodes has spare nodes.
func (o *worldRun) screenFirst(ctx context.Context, s State, cmd *cobra.Command, l launching) error {
	switch {
	case o.launch.bad != "":
		return usagef("omit one of them", "--screen-first and --exclude-bad exclude each other: --screen-first leaves out what it finds itself")
	case l.method == launch.Env:
		return usagef("`zbench screen --out DIR` before the launcher, then --exclude-bad", "%s: --screen-first starts one process for each node, so it is for the zbench that starts the ranks", l.role.Text())
	case l.starts() && simulated(l.want.Backend, s):
		return usagef("leave --launch out", "--screen-first of simulated nodes is for one process")
	case o.launch.dry:
		return nil
	}
	screen, args, err := o.screenOptions(s, cmd, l)
	if err != nil {
		return err
	}
	s.note(o.quiet, "Screening the nodes first (--screen-first)\n")
	of := s
	of.Args = args
	place, err := screen.place(of)
	if err != nil {
		return err
	}
	return screen.screen(ctx, of, place, func(d *nodescreen.Document, r result) error {
		if err := r.keep(of); err != nil {
			return err
		}
		r.before(r.dir)
		o.launch.bad = r.dir.Path
		return o.rest(s, d, r.dir.File("report.html"))
	})
}

// rest prints the result of the screen. It returns an error if too few nodes are left for the
// sweep.
func (o *worldRun) rest(s State, d *nodescreen.Document, page string) error {
	s.note(o.quiet && d.State == finding.Healthy, "zbench: screen: %s\n", d.Verdict())
	for _, n := range d.Standings() {
		if len(n.Findings) > 0 {
			s.note(false, "  %s: %s\n", n.Host, n.Findings[0].Reason())
		}
	}
	switch {
	case d.State == finding.NotChecked:
		return exit.With(exit.Want, fmt.Errorf("the screen of the nodes tells nothing: no node reported"), "`zbench screen` alone shows the launcher's messages; or omit --screen-first")
	case d.State == finding.Faulty && len(d.Fail) == 0:
		return exit.With(exit.Regression, fmt.Errorf("%d of %d nodes reported nothing to the screen, and their names are unknown: they cannot be left out", d.Expected-d.Nodes, d.Expected), "see "+page)
	case len(d.Pass)+len(d.Unclear) == 0:
		return exit.With(exit.Regression, fmt.Errorf("every node fails the screen: none is left for the sweep"), "see "+page)
	}
	return nil
}

// screenOptions returns the options of the screen, and the arguments of its processes. The options
// for places and libraries are those of the sweep.
func (o *worldRun) screenOptions(s State, cmd *cobra.Command, l launching) (*nodeScreenOptions, []string, error) {
	args := []string{"screen", "--backend=" + o.want.Backend}
	for _, name := range append(libraryFlags(), "launch", "hostfile") {
		if f := cmd.Flags().Lookup(name); f != nil && f.Changed {
			args = append(args, "--"+name+"="+f.Value.String())
		}
	}
	for _, text := range o.launch.slurmArgs {
		args = append(args, "--slurm-args="+text)
	}
	if simulated(o.want.Backend, s) {
		args = append(args, fmt.Sprintf("--nodes=%d", l.want.World.Nodes), "--fabric="+l.want.Fabric, fmt.Sprintf("--seed=%d", l.want.Seed))
		for _, text := range l.want.Faults {
			args = append(args, "--fault="+text)
		}
	}
	if o.out != "" {
		args = append(args, "--out="+strings.TrimRight(o.out, "/")+"-screen")
	}
	if o.force {
		args = append(args, "--force")
	}
	options, screen := &nodeScreenOptions{}, &cobra.Command{}
	addNodeScreenFlags(screen, options)
	err := screen.ParseFlags(args[1:])
	options.given = screen.Flags().Changed("nodes")
	options.quiet = o.quiet
	return options, args, err
}
