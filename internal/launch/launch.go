// Package launch decides from the environment what kind of process this is: a process that no
// launcher started, a process inside an allocation that can start the processes of a world, or a
// rank of a world that Slurm, Open MPI or another launcher started. [Detect] reads the environment,
// [Choose] adds the user's request (--launch), and [Command] returns the command line that starts
// the processes. Nothing here touches the host: variables come from a lookup function.
package launch

import (
	"fmt"
	"slices"
	"strings"

	"zbench/bench/base/plain"
)

// Getenv returns the value of an environment variable, "" if it is not set.
type Getenv func(string) string

// Kind is the kind of a process.
type Kind string

// The kinds of process.
const (
	// Alone is a process that no launcher started.
	Alone Kind = "alone"
	// Parent is a process that can start the processes of a world: it is in an allocation,
	// or is the only process of its node.
	Parent Kind = "parent"
	// Rank is one of the processes that a launcher started.
	Rank Kind = "rank"
)

// Role is the kind of a process and its place in the world.
type Role struct {
	Kind Kind
	// By is the launcher, for messages; empty for a process that no launcher started.
	By string
	// Signs are the variables that decided the kind, as NAME=value.
	Signs []string
	// Rank is the number of this process, and Size is the number of processes. One process
	// may drive several GPUs.
	Rank, Size int
	// Local is the number of this process on its node. LocalSize is the number of processes
	// on the node; 0 if unknown.
	Local, LocalSize int
	// Node is the number of this node, −1 if unknown. Nodes is the number of nodes, 0 if unknown.
	Node, Nodes int
	// Agent is a text that is equal for all processes of a node and differs between nodes.
	// It is set if the launcher gives such a text but no number of the node; otherwise it
	// is empty.
	Agent string
	// Leader is the address of the world's first process.
	Leader Leader
	// Start is how a parent starts processes: Slurm or Local.
	Start Method
	// InStep is true if a parent is inside a Slurm step. The steps that it starts then overlap its
	// own step.
	InStep bool
}

// Several reports whether the process is one of two or more ranks.
func (r Role) Several() bool { return r.Kind == Rank && r.Size > 1 }

// OfSlurm reports whether srun or zbench itself started the rank, so that its nodes are the
// nodes that the user requested.
func (r Role) OfSlurm() bool { return r.By == slurmName || r.By == scriptName }

// Text describes the kind of the process, with the variables that decided it.
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

// Detect determines what this process is. The innermost launcher decides: first ZBENCH_* variables,
// then torchrun's, MPI's and Slurm's, because children inherit the variables of outer launchers.
// Outer launchers must agree with the innermost launcher on the number of processes that they
// started for this world. If the variables do not add up to one world, the error names them.
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

// has() reports whether the role was read from the given variable.
func (r Role) has(name string) bool {
	return slices.ContainsFunc(r.Signs, func(s string) bool { return strings.HasPrefix(s, name+"=") })
}

// count returns a number with its noun; 0 is "an unknown number".
func count(n int, noun string) string {
	if n == 0 {
		return "an unknown number of " + plain.Plural(noun)
	}
	return plain.Count(n, noun)
}

// LendsTerminal reports whether the launcher gives its processes a terminal as standard output,
// wherever that output goes in the end. Open MPI does so.
func LendsTerminal(env Getenv) bool { return env("OMPI_COMM_WORLD_RANK") != "" }
