package launch

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// readJob is the role of a process that may start the processes of a Slurm job: a batch
// script, and the shell of salloc. Nil outside a job.
func readJob(env Getenv) (*Role, error) {
	id := env("SLURM_JOB_ID")
	if id == "" {
		return nil, nil
	}
	role := &Role{Kind: Parent, By: "Slurm", Start: Slurm, Signs: []string{"SLURM_JOB_ID=" + id}, Node: -1}
	name := jobNodes(env)
	if name == "" {
		return role, nil
	}
	role.Signs = append(role.Signs, name+"="+env(name))
	var err error
	role.Nodes, err = number(name, env(name))
	return role, err
}

// jobNodes is the variable with the number of nodes of a Slurm job; empty without one.
func jobNodes(env Getenv) string {
	for _, name := range []string{"SLURM_JOB_NUM_NODES", "SLURM_NNODES"} {
		if env(name) != "" {
			return name
		}
	}
	return ""
}

// JobNodes is the number of nodes of the Slurm job that this process is in, and the variable
// that says so; 0 outside a job, or where it is not known.
func JobNodes(env Getenv) (n int, sign string) {
	name := jobNodes(env)
	if env("SLURM_JOB_ID") == "" || name == "" {
		return 0, ""
	}
	return numberOf(name)(env), name + "=" + env(name)
}

// readNode is the role of the only process of each of several nodes: RANK and WORLD_SIZE
// without LOCAL_RANK, as a PyTorchJob gives them to a container (Kubeflow's training
// operator, pkg/controller.v1/pytorch/envvar.go). There WORLD_SIZE is the number of nodes
// times PET_NPROC_PER_NODE. Nil where they are not set.
func readNode(env Getenv) (*Role, error) {
	rank, size := env("RANK"), env("WORLD_SIZE")
	if rank == "" || size == "" || env("LOCAL_RANK") != "" {
		return nil, nil
	}
	role := &Role{Kind: Parent, By: "RANK and WORLD_SIZE are set without LOCAL_RANK", Start: Local, Signs: []string{"RANK=" + rank, "WORLD_SIZE=" + size}}
	var err error
	if role.Node, err = number("RANK", rank); err != nil {
		return nil, err
	}
	if role.Nodes, err = number("WORLD_SIZE", size); err != nil {
		return nil, err
	}
	if n := numberOf("PET_NNODES")(env); n > 0 {
		if role.Nodes%n != 0 {
			return nil, fmt.Errorf("WORLD_SIZE=%s is no multiple of PET_NNODES=%d", size, n)
		}
		role.Nodes, role.LocalSize = n, role.Nodes/n
		role.Signs = append(role.Signs, "PET_NNODES="+env("PET_NNODES"))
	}
	if role.Nodes < 1 || role.Node >= role.Nodes {
		return nil, fmt.Errorf("%s: a rank is from 0 to one less than the number of nodes", strings.Join(role.Signs, ", "))
	}
	host := env("MASTER_ADDR")
	if host == "" && role.Nodes > 1 {
		return nil, fmt.Errorf("%s give node %d of %d, but MASTER_ADDR, the first node's address, is not set", strings.Join(role.Signs, ", "), role.Node, role.Nodes)
	}
	role.Leader = Leader{Host: host, Port: Port(host+"/"+env("MASTER_PORT"), env("SLURM_STEP_RESV_PORTS"))}
	return role, nil
}

// tasksOn is the number of tasks on a node in a list of Slurm's: "8(x2),4". It is 0 where
// the list does not tell.
func tasksOn(list string, node int) int {
	if list == "" || node < 0 {
		return 0
	}
	for part := range strings.SplitSeq(list, ",") {
		tasks, times, repeated := strings.Cut(part, "(x")
		n, err := strconv.Atoi(tasks)
		nodes := 1
		if repeated && err == nil {
			nodes, err = strconv.Atoi(strings.TrimSuffix(times, ")"))
		}
		if err != nil || n < 1 || nodes < 1 {
			return 0
		}
		if node < nodes {
			return n
		}
		node -= nodes
	}
	return 0
}

// FirstHost is the first name of a list of Slurm's: "rack1-n[01-16,20],login" is
// "rack1-n01". An empty list has none.
func FirstHost(list string) (string, error) {
	var name strings.Builder
	for i := 0; i < len(list) && list[i] != ','; i++ {
		if list[i] != '[' {
			name.WriteByte(list[i])
			continue
		}
		numbers, _, closed := strings.Cut(list[i+1:], "]")
		first := numbers
		if at := strings.IndexAny(numbers, ",-"); at >= 0 {
			first = numbers[:at]
		}
		if _, err := strconv.ParseUint(first, 10, 32); err != nil || !closed {
			return "", fmt.Errorf("%q is not a list of nodes of Slurm", list)
		}
		name.WriteString(first)
		i += len(numbers) + 1
	}
	if name.Len() == 0 && list != "" || strings.ContainsAny(name.String(), " ]\t\n/") {
		return "", fmt.Errorf("%q is not a list of nodes of Slurm", list)
	}
	return name.String(), nil
}

// endVariable gives the time at which Slurm ends the job, in seconds since 1970. Slurm
// 22.05 does not set it.
const endVariable = "SLURM_JOB_END_TIME"

// JobEnd is the time at which Slurm ends the job; ok is false where it does not tell.
func JobEnd(env Getenv) (end time.Time, ok bool) {
	seconds, err := strconv.ParseInt(env(endVariable), 10, 64)
	if err != nil || seconds <= 0 {
		return time.Time{}, false
	}
	return time.Unix(seconds, 0), true
}

// GPUs is the number of GPUs that Slurm gives to this job on a node; 0 is unknown.
func GPUs(env Getenv) int {
	for _, name := range []string{"SLURM_GPUS_ON_NODE", "SLURM_GPUS_PER_NODE"} {
		value := env(name)
		if at := strings.LastIndexByte(value, ':'); at >= 0 { // a type before it
			value = value[at+1:]
		}
		if n, err := number(name, value); err == nil && n > 0 {
			return n
		}
	}
	return 0
}

var errNoHosts = errors.New("the hostfile names no host")

// Host is a line of a hostfile.
type Host struct {
	Name string
	// Slots is how many processes may run there; 0 where the file does not tell.
	Slots int
}

// ReadHosts reads a hostfile of Open MPI: a host a line, with slots=N, and comments
// from # on.
func ReadHosts(text string) ([]Host, error) {
	var hosts []Host
	for i, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		h := Host{Name: words[0]}
		if strings.ContainsRune(h.Name, '=') {
			return nil, fmt.Errorf("line %d: %q is no host", i+1, h.Name)
		}
		for _, w := range words[1:] {
			value, ok := strings.CutPrefix(w, "slots=")
			if !ok {
				continue
			}
			var err error
			if h.Slots, err = number("slots", value); err != nil {
				return nil, fmt.Errorf("line %d: %w", i+1, err)
			}
		}
		hosts = append(hosts, h)
	}
	if len(hosts) == 0 {
		return nil, errNoHosts
	}
	return hosts, nil
}
