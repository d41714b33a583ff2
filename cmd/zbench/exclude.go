package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"zbench/bench/exit"
	"zbench/bench/plain"
	"zbench/internal/launch"
	"zbench/internal/rendezvous"
)

// exclude leaves out the nodes that zbench screen has failed. given tells that the number of
// nodes was asked for.
func (o *launchFlagSet) exclude(s State, l *launching, given bool) error {
	if o.bad == "" {
		return nil
	}
	file := filepath.Join(o.bad, "fail.txt")
	text, err := s.FS.ReadFile(file)
	if err != nil {
		return missingFile(err, file, plain.Typed("zbench", "screen", "--out", o.bad)+" makes it")
	}
	bad := strings.Fields(string(text))
	switch {
	case len(bad) == 0:
		return nil
	case l.method == launch.Env: // the leader checks where they are
		o.refused = refusedHosts{bad, file}
		return nil
	case l.method == launch.Inproc && simulated(l.want.Backend, s):
		return o.excludeSimulated(s, l, bad)
	case l.method == launch.Inproc || l.method == launch.Local:
		return refusedHosts{bad, file}.check([]string{s.Hostname()}, "take another node, or omit --exclude-bad")
	}
	nodes, err := l.nodesToStart(s)
	if err != nil {
		return err
	}
	for _, host := range nodes {
		if listed(bad, host.Name) {
			l.excluded = append(l.excluded, host.Name)
		} else {
			l.kept = append(l.kept, host)
		}
	}
	return o.without(s, l, len(nodes), given)
}

// nodesToStart are the hosts on which the launcher would start processes.
func (l *launching) nodesToStart(s State) ([]launch.Host, error) {
	if len(l.hosts) > 0 {
		return l.hosts, nil
	}
	names, err := launch.HostsOf(s.Getenv("SLURM_JOB_NODELIST"))
	if err != nil || len(names) == 0 {
		return nil, usagef("give --slurm-args --exclude=NODE,… and --nodes instead", "SLURM_JOB_NODELIST is not set, or not a list of nodes: it is unknown which nodes of the job --exclude-bad leaves out")
	}
	var hosts []launch.Host
	for _, name := range names {
		hosts = append(hosts, launch.Host{Name: name})
	}
	return hosts, nil
}

// without resolves the number of nodes after l.excluded of all are left out.
func (o *launchFlagSet) without(s State, l *launching, all int, given bool) error {
	file := filepath.Join(o.bad, "fail.txt")
	left := all - len(l.excluded)
	w := &l.want.World
	switch {
	case left == 0:
		return usagef("look at "+filepath.Join(o.bad, "report.html"), "--exclude-bad %s leaves no node", o.bad)
	case given && w.Nodes > left:
		return usagef("give --nodes of at most as many", "--nodes %d: %d of %d nodes are left after --exclude-bad", w.Nodes, left, all)
	case !given:
		w.Nodes = left
	}
	if len(l.excluded) > 0 {
		s.note(false, "zbench: leaving out %s: %s\n", strings.Join(l.excluded, ", "), file)
	} else {
		s.note(false, "zbench: no node of %s takes part\n", file)
	}
	return nil
}

// excludeSimulated leaves nodes out of a simulated world: those behind them move up, and
// their faults with them.
func (o *launchFlagSet) excludeSimulated(s State, l *launching, bad []string) error {
	all, moved := l.want.World.Nodes, map[int]int{}
	for node := range all {
		name := fmt.Sprintf("node%d", node)
		if slices.Contains(bad, name) {
			l.excluded = append(l.excluded, name)
		} else {
			moved[node] = node - len(l.excluded)
		}
	}
	var faults []string
	for _, text := range l.want.Faults {
		at := nodeKey.FindStringSubmatch(text)
		if at == nil {
			faults = append(faults, text)
			continue
		}
		node, err := strconv.Atoi(at[1])
		to, ok := moved[node]
		switch {
		case err != nil || node >= all: // the fabric refuses it
			faults = append(faults, text)
		case ok:
			faults = append(faults, strings.Replace(text, at[0], fmt.Sprint("node=", to), 1))
		}
	}
	l.want.Faults = faults
	return o.without(s, l, all, false)
}

// refusedHosts are nodes that must not take part, and the file that says so.
type refusedHosts struct {
	bad  []string
	file string
}

// check refuses a world that has one of them.
func (r refusedHosts) check(hosts []string, next string) error {
	var found []string
	for _, host := range hosts {
		if listed(r.bad, host) && !slices.Contains(found, host) {
			found = append(found, host)
		}
	}
	if len(found) == 0 {
		return nil
	}
	return exit.UsageError(errors.New(strings.Join(found, ", ")+": "+r.file+" names it as a node to leave out"), next)
}

// checkWorld refuses the world of a launcher's processes if one of them is on such a node.
func (r refusedHosts) checkWorld(all []rendezvous.Hello) error {
	var hosts []string
	for _, h := range all {
		hosts = append(hosts, h.Host)
	}
	return r.check(hosts, "zbench did not start these processes: remove the node from what did, as mpirun --host or --hostfile, or srun --exclude")
}

// listed tells whether a list has the host, with or without its domain.
func listed(list []string, host string) bool {
	short := func(name string) string { name, _, _ = strings.Cut(name, "."); return name }
	return slices.ContainsFunc(list, func(bad string) bool {
		return bad == host || (!strings.Contains(bad, ".") || !strings.Contains(host, ".")) && short(bad) == short(host)
	})
}
