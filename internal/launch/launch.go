// Package launch decides from the environment what a process is: one without a launcher, one inside
// an allocation that can start the processes of a world, or a rank of a world that Slurm, Open MPI
// or another launcher has started. [Detect] reads the environment, [Choose] adds the user's request
// (--launch), and [Command] returns the command line that starts the processes. Nothing here
// touches the machine: variables come from a lookup function.
package launch

import (
	"fmt"
	"slices"
	"strings"

	"zbench/bench/base/plain"
)

// Getenv looks up an environment variable; an unset one is empty.
type Getenv func(string) string

// Kind is the kind of a process.
type Kind string

// The kinds of process.
const (
	// Alone: no launcher started it.
	Alone Kind = "alone"
	// Parent: it is in an allocation, or is the only process of its node, and can start the
	// processes of a world.
	Parent Kind = "parent"
	// Rank: it is one of the processes that a launcher started.
	Rank Kind = "rank"
)

// Role is the kind of a process and its place in the world.
type Role struct {
	Kind Kind
	// By is the launcher, for messages; empty for a process alone.
	By string
	// Signs are the deciding variables, as NAME=value.
	Signs []string
	// Rank and Size are the process's number and the number of processes. One process may drive
	// several GPUs.
	Rank, Size int
	// Local is the process's number on its node, LocalSize the number of processes there; 0 is
	// unknown.
	Local, LocalSize int
	// Node is the node's number, -1 if unknown, Nodes the number of nodes, 0 if unknown.
	Node, Nodes int
	// Agent is equal for the processes of a node and differs between nodes, if the launcher
	// provides that instead of the node's number; else it is empty.
	Agent string
	// Leader is the address of the world's first process.
	Leader Leader
	// Start is the way in which a parent starts processes: Slurm or Local.
	Start Method
	// InStep is true if a parent is inside a Slurm step: the steps that it starts overlap that one.
	InStep bool
}

// Several is true if the process is one of two or more.
func (r Role) Several() bool { return r.Kind == Rank && r.Size > 1 }

// OfSlurm is true if Slurm's own command or zbench itself started the rank: the nodes are the
// requested ones.
func (r Role) OfSlurm() bool { return r.By == slurmName || r.By == scriptName }

// Text describes the process and the variables that say so.
func (r Role) Text() string {
	signs := strings.Join(r.Signs, ", ")
	switch r.Kind {
	case Rank:
		return fmt.Sprintf("%s started this process as rank %d of %d (%s)", r.By, r.Rank, r.Size, signs)
	case Parent:
		if r.Start == Local {
			return fmt.Sprintf("%s: this process is node %d of %d (%s)", r.By, r.Node, r.Nodes, signs)
		}
		return fmt.Sprintf("this process is in an allocation of %s by %s (%s)", count(r.Nodes, "node"), r.By, signs)
	default:
		return "no launcher has started this process"
	}
}

// Detect determines what this process is. The innermost launcher decides: ZBENCH_* variables, then
// torchrun's, MPI's and Slurm's, because children inherit the variables of outer launchers. Those
// must agree with the innermost one on the number of processes that they started for this world.
// Variables that do not add up to one world are an error that names them.
func Detect(env Getenv) (Role, error) {
	role, err := detect(env)
	if err == nil {
		err = unexplained(env, &role)
	}
	if err != nil {
		return Role{}, err
	}
	return role, nil
}

func detect(env Getenv) (Role, error) {
	var inner *world
	for i := range launchers {
		w, err := launchers[i].read(env)
		if inner == nil && err == nil {
			inner = w
		} else if w != nil && err == nil {
			err = inner.within(w)
		}
		if err != nil {
			return Role{}, err
		}
	}
	if inner != nil {
		return inner.role(env)
	}
	return withoutRank(env)
}

// has reports whether the role was read from a variable.
func (r Role) has(name string) bool {
	return slices.ContainsFunc(r.Signs, func(s string) bool { return strings.HasPrefix(s, name+"=") })
}

// count formats a number with its noun.
func count(n int, noun string) string {
	if n == 0 {
		return "an unknown number of " + plain.Plural(noun)
	}
	return plain.Count(n, noun)
}

// LendsTerminal reports whether the launcher gives its processes a terminal of its own as standard
// output, wherever their output goes. Open MPI does.
func LendsTerminal(env Getenv) bool { return env("OMPI_COMM_WORLD_RANK") != "" }
