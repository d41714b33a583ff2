package main

import (
	"path/filepath"
	"slices"
	"strings"

	"zbench/internal/launch"
)

// exclude leaves out the nodes of the job that zbench screen has failed. given tells that
// the number of nodes was asked for.
func (o *launchFlagSet) exclude(s State, l *launching, given bool) error {
	if o.bad == "" {
		return nil
	}
	file := filepath.Join(o.bad, "fail.txt")
	text, err := s.FS.ReadFile(file)
	if err != nil {
		return missingFile(err, file, "zbench screen --out "+o.bad+" makes it")
	}
	bad := strings.Fields(string(text))
	switch {
	case len(bad) == 0 || l.method == launch.Env: // a rank's parent has left them out
		return nil
	case l.method != launch.Slurm:
		return usagef("remove them from the hostfile, or from what starts the processes", "--exclude-bad works with srun alone; %s names %s", file, strings.Join(bad, ", "))
	}
	nodes, err := launch.HostsOf(s.Getenv("SLURM_JOB_NODELIST"))
	if err != nil || len(nodes) == 0 {
		return usagef("give --slurm-args --exclude=NODE,… and --nodes instead", "SLURM_JOB_NODELIST is not set, or not a list of nodes: it is unknown which nodes of the job --exclude-bad leaves out")
	}
	for _, host := range nodes {
		if slices.Contains(bad, host) {
			l.excluded = append(l.excluded, host)
		}
	}
	left := len(nodes) - len(l.excluded)
	w := &l.want.World
	switch {
	case left == 0:
		return usagef("look at "+filepath.Join(o.bad, "screen.json"), "--exclude-bad %s leaves no node of the job", o.bad)
	case given && w.Nodes > left:
		return usagef("give --nodes of at most as many", "--nodes %d: %d of the %d nodes of the job are left after --exclude-bad", w.Nodes, left, len(nodes))
	case !given:
		w.Nodes = left
	}
	if len(l.excluded) > 0 {
		s.note(false, "zbench: leaving out %s: %s\n", strings.Join(l.excluded, ", "), file)
	}
	return nil
}
