package launch

import (
	"fmt"
	"slices"
	"strings"

	"zbench/bench/base/slice"
)

// Method is the way in which a run's processes are started.
type Method string

// The methods of --launch.
const (
	// Auto chooses the method that fits the launcher of this process.
	Auto Method = "auto"
	// Inproc runs in this process alone, whatever started it.
	Inproc Method = "inproc"
	// Local starts processes on this node.
	Local Method = "local"
	// Slurm starts processes by srun.
	Slurm Method = "slurm"
	// MPI starts processes by Open MPI's mpirun.
	MPI Method = "mpi"
	// Env means that a launcher started this process as one rank.
	Env Method = "env"
)

// methods are the values of --launch.
var methods = []Method{Auto, Inproc, Local, Slurm, MPI, Env}

// Asked is the user's request about launching.
type Asked struct {
	Method Method
	// Hostfile is true if the user gave a hostfile.
	Hostfile bool
	// Simulated is true if the user named the loopback. A simulation in one process gives
	// the same figures as a simulation in many processes.
	Simulated bool
	// Dry is true if nothing is to be started.
	Dry bool
	// Nodes is the requested number of nodes, for hints.
	Nodes int
}

// Choose returns the method for this process: Inproc, Env, or the way in which it starts other
// processes. `detected` is the error of Detect; it does not matter if the user wants only this
// process.
func Choose(role Role, detected error, a Asked) (Method, error) {
	if !slices.Contains(methods, a.Method) {
		return "", fmt.Errorf("unknown launch method %q: valid are %s", a.Method, MethodNames())
	}
	if a.Method == Inproc {
		return Inproc, nil
	}
	if detected != nil {
		return "", detected
	}
	if a.Method == Auto {
		return auto(role, a), nil
	}
	switch {
	case a.Method == Env && role.Kind == Rank, a.Method == Env && role.InStep:
		if role.Size > 1 {
			return Env, nil
		}
		return Inproc, nil
	case a.Method == Env:
		return "", fmt.Errorf("--launch env cannot be used here: %s", role.Text())
	case role.Several():
		return "", fmt.Errorf("--launch %s cannot be used here: %s; each of these processes would start a world of its own", a.Method, role.Text())
	case a.Method == Slurm && role.Start != Slurm && !a.Dry:
		return "", fmt.Errorf("--launch slurm cannot be used here: there is no Slurm allocation (SLURM_JOB_ID is not set). To get one: %s", salloc(a.Nodes))
	}
	return a.Method, nil
}

// auto chooses the method for a role if the user leaves it open.
func auto(role Role, a Asked) Method {
	switch {
	case role.Several():
		return Env
	case role.Kind == Rank:
		return Inproc
	case a.Hostfile:
		return MPI
	case role.Kind == Parent && !a.Simulated:
		return role.Start
	}
	return Inproc
}

// salloc returns the command that requests an allocation.
func salloc(nodes int) string {
	return fmt.Sprintf("salloc --nodes=%d --exclusive --gpus-per-node=8", max(nodes, 1))
}

// MethodNames lists the values of --launch, separated by commas.
func MethodNames() string {
	return strings.Join(slice.Map(methods, func(m Method) string { return string(m) }), ", ")
}
