package launch

import (
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
