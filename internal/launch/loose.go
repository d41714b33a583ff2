package launch

import (
	"fmt"
	"strings"
)

// withoutRank is the role where no launcher gives a rank in a world of processes.
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
	for _, name := range []string{"SLURM_PROCID", "SLURM_LOCALID"} { // a batch script has them, too: 0
		if value := env(name); value != "" && (job == nil || value != "0") {
			return Role{}, fmt.Errorf("%s=%s is of a task of Slurm, but SLURM_STEP_NUM_TASKS is not set: how many tasks there are is not known", name, value)
		}
	}
	return role, unexplained(env, &role)
}

// loose are variables of launchers that do not tell enough by themselves: each must
// agree with the launcher that was recognised. number is a number of processes; one
// process needs no launcher.
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

// unexplained is the error of a loose variable that no launcher accounts for, or that
// gives the world another size.
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
			steps := v.name == "WORLD_SIZE" && env("RANK") == ""    // a batch script exports it for its steps
			own := role.InStep && !v.number && err == nil && n == 0 // srun's own, of its only task
			if !single && !steps && !own {
				return fmt.Errorf("%s=%s is a launcher's, but %s: each of that launcher's processes would start a world of its own", v.name, value, role.Text())
			}
		}
	}
	return nil
}
