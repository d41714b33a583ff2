package main

import (
	"strconv"

	"zbench/internal/launch"
)

// realNodes holds the nodes of the world against those on which a launcher has placed the
// processes. A simulation has nodes of its own.
func (l *launching) realNodes(s State, given bool) error {
	if l.method != launch.Env || l.want.Backend == "loopback" {
		return nil
	}
	has, w := l.nodesOfRole(), l.want.World
	switch job, sign := launch.JobNodes(s.Getenv); {
	case has > 0 && w.Nodes != has:
		return usagef("give --nodes and --gpus-per-node as the launcher placed the processes, or leave them out; --backend loopback simulates other nodes",
			"%s on %d nodes, but --nodes %d --gpus-per-node %d are asked for: on hardware the nodes are the launcher's", l.role.Text(), has, w.Nodes, w.GPUsPerNode)
	case s.Getenv(launch.ControlVariable) != "": // zbench has started them, on the nodes that are not left out
	case has > 0 && has < job && !given && !l.role.OfSlurm():
		return usagef("let the launcher use all nodes of the job (mpirun --map-by ppr:N:node, torchrun --nnodes), or say that fewer are meant: --nodes "+strconv.Itoa(has),
			"%s on %d nodes, but the job of Slurm has %d (%s): the others would take no part", l.role.Text(), has, job, sign)
	}
	return nil
}
