package launch

import (
	"fmt"
	"strings"
)

// withoutRank returns the role of a process whose environment gives no rank in a world.
func withoutRank(env Getenv) (Role, error) {
	job, err := readJob(env)
	if err != nil {
		return Role{}, err
	}
	node, err := readNode(env)
	switch {
	case err != nil:
		return Role{}, err
	case job != nil && node != nil:
		return Role{}, fmt.Errorf("%s describe node %d of %d, and %s a Slurm job of %s: these are two launchers",
			strings.Join(node.Signs, " and "), node.Node, node.Nodes, strings.Join(job.Signs, ", "), count(job.Nodes, "node"))
	}
	role := Role{Kind: Alone}
	switch {
	case job != nil:
		role = *job
	case node != nil:
		role = *node
	}
	for _, name := range []string{"SLURM_PROCID", "SLURM_LOCALID"} { // a batch script has these variables too, with value 0
		if value := env(name); value != "" && (job == nil || value != "0") {
			return Role{}, fmt.Errorf("%s=%s is of a task of Slurm, but SLURM_STEP_NUM_TASKS is not set: how many tasks there are is not known", name, value)
		}
	}
	return role, nil
}

// The variables in `loose` do not identify a launcher by themselves. Each must agree with the
// launcher that was recognised. number marks a variable that is a number of processes; 1 process
// needs no launcher.
var loose = []struct {
	name   string
	number bool
}{
	{"WORLD_SIZE", true},
	{"RANK", false},
	{"LOCAL_RANK", false},
	{"PMI_SIZE", true},
	{"PMI_RANK", false},
	{"PMIX_RANK", false},
	{"MV2_COMM_WORLD_SIZE", true},
	{"MV2_COMM_WORLD_RANK", false},
	{"FLUX_JOB_SIZE", true},
	{"FLUX_TASK_RANK", false},
	{"PALS_SIZE", true},
	{"PALS_RANKID", false},
	{"JSM_NAMESPACE_SIZE", true},
	{"JSM_NAMESPACE_RANK", false},
}

// unexplained() returns an error if a loose variable belongs to no recognised launcher, or gives
// the world another size.
func unexplained(env Getenv, role *Role) error {
	for _, v := range loose {
		value := env(v.name)
		if value == "" || role.has(v.name) {
			continue
		}
		n, err := number(v.name, value)
		single := v.number && err == nil && n <= 1
		switch role.Kind {
		case Alone:
			if !single {
				return fmt.Errorf("%s=%s is a launcher's, but no launcher's other variables are set: this process's rank, the number of processes and the rank on this node are not known together",
					v.name, value)
			}
		case Rank:
			if v.number && !single && (err != nil || n != role.Size) {
				return fmt.Errorf("%s=%s, but %s", v.name, value, role.Text())
			}
		case Parent:
			steps := v.name == "WORLD_SIZE" && env("RANK") == ""    // a batch script exports WORLD_SIZE for its steps
			own := role.InStep && !v.number && err == nil && n == 0 // srun set the variable for the only task of this step
			if !single && !steps && !own {
				return fmt.Errorf("%s=%s is a launcher's, but %s: each of that launcher's processes would start a world of its own", v.name, value, role.Text())
			}
		}
	}
	return nil
}

// readNode returns the role of a process that is the only one on its node, in a run on several
// nodes. Such a process has RANK and WORLD_SIZE without LOCAL_RANK, as in a PyTorchJob's
// container (Kubeflow's training operator, pkg/controller.v1/pytorch/envvar.go). There
// WORLD_SIZE is the number of nodes times PET_NPROC_PER_NODE. readNode returns nil if the
// variables are not set.
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
	role.Leader = Leader{Host: host, Port: Port(host+"/"+env("MASTER_PORT"), env("SLURM_STEP_RESV_PORTS"), nil)}
	return role, nil
}
