package launch

import (
	"strconv"
	"strings"
	"time"
)

// readJob returns the role of a process that may start processes in a Slurm job: a batch
// script or the shell of salloc. It returns nil outside a job.
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

// jobNodes returns the name of the variable with the number of nodes of a Slurm job; "" if there is
// none.
func jobNodes(env Getenv) string {
	for _, name := range []string{"SLURM_JOB_NUM_NODES", "SLURM_NNODES"} {
		if env(name) != "" {
			return name
		}
	}
	return ""
}

// JobNodes returns the number of nodes of this process's Slurm job and the variable that gives it.
// n is 0 outside a job, or if the number is unknown.
func JobNodes(env Getenv) (n int, sign string) {
	name := jobNodes(env)
	if env("SLURM_JOB_ID") == "" || name == "" {
		return 0, ""
	}
	return numberOf(name)(env), name + "=" + env(name)
}

// tasksOn returns the number of tasks on a node according to a list of Slurm such as "8(x2),4"; 0
// if the list does not give it.
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

// endVariable has the time when Slurm ends the job, in seconds since 1970. Slurm 22.05
// does not set it.
const endVariable = "SLURM_JOB_END_TIME"

// JobEnd returns the time when Slurm ends the job; ok is false if it is unknown.
func JobEnd(env Getenv) (end time.Time, ok bool) {
	seconds, err := strconv.ParseInt(env(endVariable), 10, 64)
	if err != nil || seconds <= 0 {
		return time.Time{}, false
	}
	return time.Unix(seconds, 0), true
}

// GPUs returns the number of GPUs that Slurm gives this job on a node; 0 if unknown.
func GPUs(env Getenv) int {
	for _, name := range []string{"SLURM_GPUS_ON_NODE", "SLURM_GPUS_PER_NODE"} {
		value := env(name)
		if at := strings.LastIndexByte(value, ':'); at >= 0 { // a type precedes the number, as in "mi300x:8"
			value = value[at+1:]
		}
		if n, err := number(name, value); err == nil && n > 0 {
			return n
		}
	}
	return 0
}
